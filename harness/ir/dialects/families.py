"""Formats that many ops share. Operand names are taken from the op's definition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from xdsl.ir import Operation
from xdsl.irdl import IRDLOperation

from harness.ir.codecs import Codec
from harness.ir.syntax import Rule, Syntax


def same_type(op_type: type[IRDLOperation], flags: str = "", codecs: Mapping[str, Codec] | None = None) -> Syntax:
    """`op a, b : type` where operands and results are all of the one type that is printed."""
    definition = op_type.get_irdl_definition()
    operands = [name for name, _ in definition.operands]
    result = definition.results[0][0]
    listed = " `,` ".join(f"${name}" for name in operands)
    format_ = f"{listed} {flags} attr-dict `:` type(${result})"
    return Syntax(op_type, format_, {name: Rule(result) for name in operands}, codecs or {})


def conversion(
    op_type: type[IRDLOperation], between: str = "to", flags: str = "", codecs: Mapping[str, Codec] | None = None
) -> Syntax:
    """`op a : from to into`"""
    definition = op_type.get_irdl_definition()
    source, result = definition.operands[0][0], definition.results[0][0]
    format_ = f"${source} {flags} attr-dict `:` type(${source}) `{between}` type(${result})"
    return Syntax(op_type, format_, codecs=codecs or {})


def by_name(ops: Iterable[type[Operation]]) -> dict[str, type[IRDLOperation]]:
    """Op definitions by their names without the dialect; the first one of a name counts."""
    found: dict[str, type[IRDLOperation]] = {}
    for op in ops:
        if issubclass(op, IRDLOperation):
            found.setdefault(op.name.split(".", 1)[1], op)
    return found
