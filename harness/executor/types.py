"""What the executor reads off xDSL types and attributes."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    DenseArrayBase,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    UnitAttr,
)
from xdsl.ir import Attribute, Operation

from harness.errors import UnsupportedOp
from harness.executor.clocks import RELAXED, Ordering
from harness.ir import attribute, keyword
from harness.ir.enums import MEMORY_SCOPE, MEMORY_SEMANTIC
from harness.semantics.types import Signature


def extents(type_: Attribute) -> tuple[int, ...]:
    """The shape of a tensor type; () for scalars."""
    return tuple(type_.get_shape()) if isinstance(type_, TensorType) else ()


def is_tensor(type_: Attribute) -> bool:
    return isinstance(type_, TensorType)


def element(type_: Attribute) -> str:
    """The element type's name as `harness.semantics.types` knows it; "ptr" for pointers."""
    inner = type_.get_element_type() if isinstance(type_, TensorType) else type_
    if isinstance(inner, IntegerType):
        return f"i{inner.width.data}"
    if isinstance(inner, IndexType):
        return "index"
    if isinstance(inner, AnyFloat):
        return inner.name.removeprefix("builtin.") if inner.name else str(inner)
    if inner.name == "tt.ptr":
        return "ptr"
    return inner.name


def pointee(type_: Attribute) -> Attribute:
    """What a pointer (or the elements of a tensor of pointers) points to."""
    inner = type_.get_element_type() if isinstance(type_, TensorType) else type_
    return inner.pointee  # type: ignore[attr-defined]


def python_value(value: Attribute | None) -> Any:
    """An attribute as a plain Python value; None stays None. Raises UnsupportedOp for other kinds."""
    if value is None:
        return None
    if isinstance(value, IntegerAttr):
        return value.value.data
    if isinstance(value, (StringAttr, FloatAttr)):
        return value.data if isinstance(value, StringAttr) else value.value.data
    if isinstance(value, UnitAttr):
        return True
    if isinstance(value, DenseArrayBase):
        return tuple(value.get_values())
    if isinstance(value, ArrayAttr):
        return tuple(python_value(item) for item in value.data)
    if isinstance(value, SymbolRefAttr):
        return value.root_reference.data
    raise UnsupportedOp(f"unsupported attribute {value}")


def get(op: Operation, name: str, default: Any = None) -> Any:
    """The op's attribute `name` as a Python value."""
    value = python_value(attribute(op, name))
    return default if value is None else value


def signature(op: Operation, **attributes: Any) -> Signature:
    """The op as `harness.semantics` wants to see it."""
    return Signature(
        op.name,
        tuple(element(operand.type) for operand in op.operands),
        tuple(element(result.type) for result in op.results),
        attributes,
    )


def ordering_of(op: Operation) -> Ordering:
    """What an atomic op orders between programs, by its `sem` and `scope`; reductions through descriptors are relaxed.

    One program is what PTX calls a cta: a scope of cta reaches no other program, gpu and sys reach them all.
    """
    sem, scope = keyword(op, "sem", MEMORY_SEMANTIC), keyword(op, "scope", MEMORY_SCOPE)
    if sem is None or scope == "cta":
        return RELAXED
    return Ordering(sem in ("acquire", "acq_rel"), sem in ("release", "acq_rel"))
