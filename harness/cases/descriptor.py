"""A host-side tensor descriptor as an argument: a buffer, and the block in which the kernel reads or writes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.cases.buffer import Buffer
from harness.errors import CaseError

PADDINGS = ("zero", "nan")
# What `triton.tools.tensor_descriptor.TensorDescriptor` asserts, and copy engines need.
_MOST_AXES = 5
_ALIGNMENT = 16


@dataclass(frozen=True, eq=False)
class Descriptor:
    """`buffer` passed as Triton's `TensorDescriptor`, with the buffer's own shape and strides.

    The buffer has the argument's name and is a buffer like any other: filled, guarded, compared, given to the
    reference. The same Buffer may be another argument too.

    block_shape  elements of one block, a power of two along each axis
    padding      what a load reads outside the tensor: "zero", or "nan" for floats

    Raises CaseError for what no descriptor can describe: the address, and the stride of every axis but the last,
    must be multiples of 16 bytes, and the last stride one element.
    """

    buffer: Buffer
    block_shape: tuple[int, ...]
    padding: str = "zero"

    def __init__(self, buffer: Buffer, block_shape: Sequence[int], padding: str = "zero") -> None:
        if not isinstance(buffer, Buffer):
            raise CaseError(f"a descriptor describes a Buffer, not {buffer!r}")
        block_shape = tuple(block_shape)
        _check_layout(buffer)
        _check_block(buffer, block_shape)
        _check_padding(buffer, padding)
        for name, value in (("buffer", buffer), ("block_shape", block_shape), ("padding", padding)):
            object.__setattr__(self, name, value)


def buffer_of(value: Any) -> Buffer | None:
    """The buffer an argument brings by itself; None for a plain value and for a list."""
    if isinstance(value, Descriptor):
        return value.buffer
    return value if isinstance(value, Buffer) else None


def _check_layout(buffer: Buffer) -> None:
    shape, strides, size = buffer.shape, buffer.strides, buffer.dtype.itemsize
    if not 1 <= len(shape) <= _MOST_AXES or 0 in shape:
        raise CaseError(f"a descriptor needs 1 to {_MOST_AXES} axes, none of them empty, not {shape}")
    if strides[-1] != 1 or any(stride * size % _ALIGNMENT for stride in strides[:-1]):
        what = f"strides {strides} of {buffer.dtype} cannot be described"
        raise CaseError(what, hint=f"the last must be 1, the others multiples of {_ALIGNMENT} bytes")
    if buffer.alignment < _ALIGNMENT or _bytes_into_base(buffer) % _ALIGNMENT:
        raise CaseError(f"the first element of a described buffer must lie at a multiple of {_ALIGNMENT} bytes")


def _bytes_into_base(buffer: Buffer) -> int:
    """From element 0 of the buffer it is a view of, which is the one that `alignment` speaks of."""
    root = buffer.base or buffer
    return buffer.offset * buffer.dtype.itemsize - root.offset * root.dtype.itemsize


def _check_block(buffer: Buffer, block_shape: tuple[int, ...]) -> None:
    if len(block_shape) != len(buffer.shape):
        raise CaseError(f"block_shape {block_shape} does not match shape {buffer.shape}")
    if any(not isinstance(n, int) or n < 1 or n & (n - 1) for n in block_shape):
        raise CaseError(f"block_shape {block_shape} must be powers of two")


def _check_padding(buffer: Buffer, padding: str) -> None:
    if padding not in PADDINGS:
        raise CaseError(f"padding {padding!r} is unknown", hint=f"one of: {', '.join(PADDINGS)}")
    if padding == "nan" and not buffer.dtype.is_float:
        raise CaseError(f"padding 'nan' needs a float buffer, not {buffer.dtype}")
