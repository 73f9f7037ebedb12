"""Dense constants of which every element is the same."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    TensorType,
)
from xdsl.ir import Attribute


def splat_bytes(value: Attribute | None) -> bytes | None:
    """The bytes of the one element, little-endian; None where elements differ or there is no dense constant."""
    if not isinstance(value, DenseIntOrFPElementsAttr):
        return None
    data, size = value.data.data, value.type.element_type.compile_time_size
    first = data[:size]
    return first if first and data == first * (len(data) // size) else None


def splat_integer(value: Attribute | None) -> int | None:
    """The one element of integer type."""
    data = splat_bytes(value)
    if data is None or not isinstance(_element(value), (IntegerType, IndexType)):
        return None
    return int.from_bytes(data, "little", signed=True)


def splat_attribute(value: Attribute | None) -> IntegerAttr | FloatAttr | None:
    """The one element as the value of a scalar arith.constant."""
    data, element = splat_bytes(value), _element(value)
    if data is None:
        return None
    if isinstance(element, AnyFloat):
        return FloatAttr(next(iter(element.iter_unpack(data))), element)
    assert isinstance(element, (IntegerType, IndexType))
    number = int.from_bytes(data, "little", signed=True)
    return IntegerAttr(number & 1 if element == IntegerType(1) else number, element)


def _element(value: Attribute | None) -> Attribute | None:
    if not isinstance(value, DenseIntOrFPElementsAttr):
        return None
    return cast("TensorType[Attribute]", value.type).element_type
