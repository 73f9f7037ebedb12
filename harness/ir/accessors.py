"""Looking at an op without knowing where xDSL keeps what."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import IntegerAttr, IntegerType, UnregisteredOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation

from harness.ir.enums import Enum


def operation_name(op: Operation) -> str:
    """The op's full name (`tt.load`), also of a placeholder for an op that has no definition here."""
    return op.op_name.data if isinstance(op, UnregisteredOp) else op.name


def attribute(op: Operation, name: str) -> Attribute | None:
    """The attribute of that name in the op's definition, whether written out or left at its default.

    None where the op has no such attribute, or an optional one is absent.
    """
    value = op.properties.get(name)
    if value is None:
        value = op.attributes.get(name)
    if value is None and isinstance(op, IRDLOperation):
        definition = op.get_irdl_definition().properties.get(name)
        value = getattr(definition, "default_value", None)
    return value


def keyword(op: Operation, name: str, enum: Enum) -> str | None:
    """The keyword of an enum attribute: `keyword(op, "sem", MEMORY_SEMANTIC)` is "acq_rel"."""
    value = attribute(op, name)
    if value is None:
        return None
    return enum.keywords[cast("IntegerAttr[IntegerType]", value).value.data]


def operand(op: Operation, name: str) -> SSAValue | None:
    """The operand of that name in the op's definition; None where an optional one is absent."""
    return getattr(op, name)
