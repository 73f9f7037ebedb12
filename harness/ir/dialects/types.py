"""Rules for types that assembly formats leave out."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType, i1
from xdsl.ir import Attribute

from harness.ir.dialects.tt_types import PointerType


def with_element(shaped: Attribute, element: Attribute) -> Attribute:
    """A tensor of the same shape and encoding with another element type; a scalar gives the element itself."""
    if isinstance(shaped, TensorType):
        return TensorType(element, shaped.get_shape(), shaped.encoding)
    return element


def element_of(type_: Attribute) -> Attribute:
    return type_.element_type if isinstance(type_, TensorType) else type_


def boolean_like(type_: Attribute) -> Attribute:
    """i1 in the shape of the type."""
    return with_element(type_, i1)


def pointee(type_: Attribute) -> Attribute:
    """What a load through this pointer (or tensor of pointers) gives."""
    pointer = element_of(type_)
    if not isinstance(pointer, PointerType):
        raise ValueError(f"{type_} is not a pointer")
    return with_element(type_, pointer.pointee)


def boolean_like_pointee(type_: Attribute) -> Attribute:
    """The mask of a load or store through this pointer."""
    return boolean_like(pointee(type_))


def base_of_block_pointer(type_: Attribute) -> Attribute:
    """`!tt.ptr<tensor<8x8xf16>>` is made from an `!tt.ptr<f16>`."""
    if not isinstance(type_, PointerType):
        raise ValueError(f"{type_} is not a block pointer")
    return PointerType(element_of(type_.pointee), type_.address_space)
