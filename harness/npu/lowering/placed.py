"""Reading and writing the placement of a value: the encoding of its tensor type."""

from __future__ import annotations

import functools

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from harness.executor.types import element
from harness.ir.dialects.npu_types import Lanes, Uniform
from harness.npu.lowering.layouts import Placement
from harness.semantics import numpy_dtype


def is_tile(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType)


def shape_of(value: SSAValue) -> tuple[int, ...]:
    """The extents of a tile."""
    # Quicker than a cache: a type's hash goes through all that it is made of.
    return tuple(extent.data for extent in value.type.shape.data)  # pyright: ignore[reportAttributeAccessIssue]


def width_of(type_: Attribute) -> int:
    """Bytes of one element in a scratchpad: i1 takes one, a pointer eight. Raises UnsupportedOp for an unknown type."""
    return numpy_dtype(element(type_)).itemsize


def placement_of(value: SSAValue) -> Placement:
    """The lane axis that a placed tile's type says; None: uniform."""
    encoding = value.type.encoding  # pyright: ignore[reportAttributeAccessIssue]
    return encoding.axis.data if isinstance(encoding, Lanes) else None


@functools.lru_cache(maxsize=4096)
def placed_type(type_: Attribute, placement: Placement) -> TensorType:
    """The tensor type with that placement as its encoding."""
    assert isinstance(type_, TensorType)
    encoding = Uniform() if placement is None else Lanes(placement)
    return TensorType(type_.element_type, type_.get_shape(), encoding)


def place(value: SSAValue, placement: Placement) -> None:
    """Gives a tile its placement, in place: every use sees the new type."""
    value._type = placed_type(value.type, placement)  # pyright: ignore[reportPrivateUsage]


def place_constant(operation: Operation) -> None:
    """Makes the literal of a placed arith.constant say the type of its result."""
    value = operation.properties.get("value")
    if isinstance(value, DenseIntOrFPElementsAttr):
        type_ = operation.results[0].type
        operation.properties["value"] = DenseIntOrFPElementsAttr(type_, value.data)  # pyright: ignore[reportArgumentType]
