"""Which ops exist and how each is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache

from xdsl.context import Context
from xdsl.ir import Dialect, Operation
from xdsl.irdl import IRDLOperation

from harness.ir.memo import Memo
from harness.ir.syntax import OpSyntax


@dataclass(frozen=True)
class DialectSyntax:
    """A dialect and the syntax of its ops, by op class. An op of the dialect with no syntax here is read and
    printed by xDSL's own code (and in generic syntax always can be). `old_name`: what older releases call it."""

    dialect: Dialect
    syntaxes: Mapping[type[Operation], OpSyntax] = field(default_factory=dict)
    old_name: str = ""


class Registry:
    """The ops of several dialects by name. Nothing changes once it is built, but `memo`, which no one can tell."""

    def __init__(self, dialects: list[DialectSyntax]) -> None:
        self.operations: dict[str, tuple[type[Operation], OpSyntax | None]] = {}
        self.memo = Memo()
        self._context = Context(allow_unregistered=True)
        self._properties: dict[type[Operation], frozenset[str]] = {}
        for entry in dialects:
            self._context.load_dialect(entry.dialect)
            for op_type in entry.dialect.operations:
                self.operations[op_type.name] = (op_type, entry.syntaxes.get(op_type))
                if entry.old_name:
                    name = op_type.name.removeprefix(entry.dialect.name)
                    self.operations[f"{entry.old_name}{name}"] = self.operations[op_type.name]

    def context(self) -> Context:
        """xDSL's context. One for all modules: an attribute of a dialect that is not defined here is equal to
        another only within one context."""
        return self._context

    def syntax(self, op: Operation) -> OpSyntax | None:
        entry = self.operations.get(op.name)
        return None if entry is None else entry[1]

    def property_names(self, op_type: type[Operation]) -> frozenset[str]:
        if op_type not in self._properties:
            known = issubclass(op_type, IRDLOperation)
            self._properties[op_type] = frozenset(op_type.get_irdl_definition().properties if known else ())
        return self._properties[op_type]


@cache
def registry() -> Registry:
    """Every dialect that Triton's front end and TTIR passes print. Built at the first use, then shared."""
    from harness.ir.dialects import ALL

    return Registry([build() for build in ALL])
