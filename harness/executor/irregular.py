"""The common gather, done with as little as possible around the native loop: rows that start anywhere, all of one
window, under masks that are one box for all programs, an array over the rows, or both."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.executor.bounds import AccessType
from harness.executor.native import gather
from harness.executor.rows import fill_outside, ordered, room
from harness.executor.values import Affine, Both, Box, Pointer
from harness.semantics.types import Array


def load(
    pointer: Pointer, mask: Any, other: Array | None, access: AccessType, context: Any, terms: int | None
) -> Array | None:
    """The elements as `access.load` has them, or None where it is not that simple, or not in bounds."""
    offset, allocation = pointer.offset, pointer.allocation
    if not context.options.native or not isinstance(offset, Affine) or allocation is None:
        return None
    if other is not None and other.size > 1:
        return None
    box, bits = _parts(mask)
    starts, shift = _starts(offset)
    index, inner = _axes(starts, bits, len(access.extents))
    bounds = _bounds(box, offset, inner)
    if bounds is None or any(offset.strides[axis] for axis in index):
        return None
    lower, upper, window = bounds
    strides = [offset.strides[axis] for axis in inner]
    shift += sum(low * stride for low, stride in zip(lower, strides, strict=True))
    inside = [high - low for low, high in zip(lower, upper, strict=True)]
    rows = np.broadcast_shapes(*(_without(part, inner) for part in (starts, bits) if part is not None))
    starts, valid = _flat(starts, inner, rows), None if bits is None else _flat(bits, inner, rows)
    if not gather.worth_it((starts.size, *inside)):
        return None
    if not _within(gather.span(starts, valid), shift, inside, strides, pointer, access.dtype.itemsize):
        return None
    columns = bool(index) and inner == [terms] and strides[0] != access.dtype.itemsize
    result = room(rows, window, access, context, columns)
    target = result.reshape(starts.size, *window)
    fill_outside(target, None if other is None else other.reshape((1,) * target.ndim), lower, upper)
    part = target[(slice(None), *map(slice, lower, upper))]
    gather.read_rows(allocation.bytes, starts, valid, part, strides, other, shift)
    return ordered(result, [*index, *inner])


def _parts(mask: Any) -> tuple[Box | None, Array | None]:
    if isinstance(mask, Both):
        return mask.box, mask.bits
    return (None, mask) if isinstance(mask, np.ndarray) else (mask, None)


def _starts(offset: Affine) -> tuple[Array, int]:
    """(starts of the rows, a number to add to each of them)."""
    column = offset.base.reshape(-1, *(1,) * len(offset.extents))
    if offset.rest is None:
        return column, 0
    if offset.base.size == 1:
        return offset.rest, int(offset.base[0])
    return column + offset.rest, 0


def _axes(starts: Array, bits: Array | None, rank: int) -> tuple[list[int], list[int]]:
    """The axes along which starts or bits vary, and the others."""
    index, inner = [], []
    for axis in range(rank):
        varies = starts.shape[axis + 1] > 1 or (bits is not None and bits.shape[axis + 1] > 1)
        (index if varies else inner).append(axis)
    return index, inner


def _bounds(
    box: Box | None, offset: Affine, inner: list[int]
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]] | None:
    """(lower, upper, extents) of the window, or None where it differs between rows or is empty."""
    lower, upper, window = [], [], []
    sides = ({}, {}) if box is None else (box.lower, box.upper)
    if any(axis not in inner or bound.size > 1 for side in sides for axis, bound in side.items()):
        return None
    for axis in inner:
        low, high = (side.get(axis) for side in sides)
        moves = offset.strides[axis] or low is not None or high is not None
        window.append(offset.extents[axis] if moves else 1)
        lower.append(0 if low is None else int(low[0]))
        upper.append(window[-1] if high is None else int(high[0]))
        if upper[-1] <= lower[-1]:
            return None
    return tuple(lower), tuple(upper), tuple(window)


def _without(values: Array, axes: list[int]) -> tuple[int, ...]:
    return tuple(extent for axis, extent in enumerate(values.shape) if axis - 1 not in axes)


def _flat(values: Array, inner: list[int], rows: tuple[int, ...]) -> Array:
    return np.broadcast_to(values.reshape(_without(values, inner)), rows).reshape(-1)


def _within(
    span: tuple[int, int, int], shift: int, window: list[int], strides: list[int], pointer: Pointer, itemsize: int
) -> bool:
    """Whether all elements of all rows are inside the allocation, and aligned."""
    allocation = pointer.allocation
    assert allocation is not None
    least, greatest, bits = span
    if least > greatest:
        return False
    reaches = [stride * (extent - 1) for stride, extent in zip(strides, window, strict=True)]
    first = least + shift + sum(reach for reach in reaches if reach < 0)
    last = greatest + shift + sum(reach for reach in reaches if reach > 0) + itemsize
    crooked = any(stride % itemsize for stride, reach in zip(strides, reaches, strict=True) if reach)
    # The bits of all starts together say only of multiples that they are.
    crooked |= bool(bits % itemsize or (shift + allocation.address) % itemsize)
    return first >= 0 and last <= allocation.bytes.size and not crooked
