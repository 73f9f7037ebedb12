"""An access as rows and windows: which axes are irregular, which are strided alike for every row, and the
NumPy views that read and write them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.executor.bounds import AccessType, typed
from harness.executor.memory import Allocation
from harness.executor.native import gather
from harness.executor.strided import even_spacing, overlapping
from harness.executor.values import Affine, Both, Box
from harness.semantics.types import Array

_MOST_GROUPS = 32  # more distinct mask bounds than this in one batch: gather instead


@dataclass
class Rows:
    """Rows of one window shape: `chosen` positions (None for all), their byte `starts`, window bounds."""

    chosen: Array | slice | None
    starts: Array
    lower: tuple[int, ...]
    upper: tuple[int, ...]


@dataclass
class Split:
    index_axes: tuple[int, ...]
    window_axes: tuple[int, ...]
    row_shape: tuple[int, ...]  # (P|1, extents of index axes)
    groups: list[Rows]
    valid: Array | None  # of row_shape; None means all rows take part
    window: tuple[int, ...]  # extents of window axes (1 where nothing varies)
    strides: tuple[int, ...]  # bytes, of window axes


def _regularised(offset: Affine) -> Affine:
    """An Affine whose irregular rest turns out to be evenly spaced along one axis gets a stride instead."""
    rest = offset.rest
    if rest is None:
        return offset
    varying = [axis for axis in range(1, rest.ndim) if rest.shape[axis] > 1]
    if len(varying) > 1:
        return offset
    if not varying:
        return offset.replaced(base=offset.base + rest.reshape(rest.shape[0]), rest=None)
    axis = varying[0]
    lines = rest.reshape(rest.shape[0], -1)
    step = int(lines[0, 1] - lines[0, 0])
    if (lines[:, -1] - lines[:, 0] != step * (lines.shape[1] - 1)).any():
        return offset
    if not (lines[:, 1:] - lines[:, :-1] == step).all():
        return offset
    strides = list(offset.strides)
    strides[axis - 1] += step
    return offset.replaced(base=offset.base + lines[:, 0], strides=tuple(strides), rest=None)


def split_access(
    offset: Affine, mask: Both | Box | Array | None, extents: tuple[int, ...], like: Array | None = None
) -> Split:
    """`like` is an array whose varying axes (programs included) the rows and windows must cover."""
    offset = _regularised(offset)
    rank = len(extents)
    irregular = np.zeros(rank, np.bool_)
    if offset.rest is not None:
        irregular |= np.array([offset.rest.shape[axis + 1] > 1 for axis in range(rank)], np.bool_)
    box = mask if isinstance(mask, Box) else mask.box if isinstance(mask, Both) else None
    array_mask = mask if isinstance(mask, np.ndarray) else mask.bits if isinstance(mask, Both) else None
    if array_mask is not None:
        irregular |= np.array([array_mask.shape[axis + 1] > 1 for axis in range(rank)], np.bool_)
    if box is not None and irregular.any():
        # Bounds that differ between programs, or bound an irregular axis, join the mask.
        for axis in set(box.lower) | set(box.upper):
            bounds = [b[axis] for b in (box.lower, box.upper) if axis in b]
            irregular[axis] |= any(bound.size > 1 for bound in bounds)
        array_mask, box = _box_to_mask(box, irregular, array_mask)
    index_axes = tuple(axis for axis in range(rank) if irregular[axis])
    window_axes = tuple(axis for axis in range(rank) if not irregular[axis])
    return _rows(offset, array_mask, box, extents, index_axes, window_axes, like)


def _box_to_mask(box: Box, irregular: Array, mask: Array | None) -> tuple[Array | None, Box]:
    inner = Box(
        box.extents,
        {axis: bound for axis, bound in box.lower.items() if irregular[axis]},
        {axis: bound for axis, bound in box.upper.items() if irregular[axis]},
    )
    outer = Box(
        box.extents,
        {axis: bound for axis, bound in box.lower.items() if not irregular[axis]},
        {axis: bound for axis, bound in box.upper.items() if not irregular[axis]},
    )
    if not inner.lower and not inner.upper:
        return mask, outer
    bits = inner.array()
    return (bits if mask is None else mask & bits), outer


def _rows(
    offset: Affine,
    mask: Array | None,
    box: Box | None,
    extents: tuple[int, ...],
    index_axes: tuple[int, ...],
    window_axes: tuple[int, ...],
    like: Array | None,
) -> Split:
    partial = Affine(
        offset.base,
        tuple(offset.strides[axis] if axis in index_axes else 0 for axis in range(len(extents))),
        extents,
        0,
        0,
        offset.rest,
    )
    starts = partial.array() if index_axes or offset.rest is not None else offset.base
    starts = _without_axes(starts, window_axes) if starts.ndim > 1 else starts
    valid = None if mask is None else _without_axes(mask, window_axes)
    bounded = set() if box is None else set(box.lower) | set(box.upper)
    covered = set() if like is None else {axis for axis in range(len(extents)) if like.shape[axis + 1] > 1}
    # An axis along which neither the address nor the mask varies is read once.
    varying = bounded | covered | {axis for axis, stride in enumerate(offset.strides) if stride}
    window = tuple(extents[axis] if axis in varying else 1 for axis in window_axes)
    strides = tuple(offset.strides[axis] for axis in window_axes)
    row_shape = starts.shape if valid is None else np.broadcast_shapes(starts.shape, valid.shape)
    if like is not None and like.shape[0] > row_shape[0]:
        row_shape = (like.shape[0], *row_shape[1:])
    if box is None or not bounded:
        lower, upper = (0,) * len(window), window
        groups = [Rows(None, np.broadcast_to(starts, row_shape).reshape(-1), lower, upper)]
        return Split(index_axes, window_axes, row_shape, groups, valid, window, strides)
    programs = max(row_shape[0], *(bound.size for bounds in (box.lower, box.upper) for bound in bounds.values()))
    row_shape = (programs, *row_shape[1:])
    flat = np.broadcast_to(starts, row_shape).reshape(-1)
    groups = _grouped(flat, box, window_axes, window)
    return Split(index_axes, window_axes, row_shape, groups, valid, window, strides)


def _without_axes(values: Array, axes: tuple[int, ...]) -> Array:
    return values.reshape(tuple(n for axis, n in enumerate(values.shape) if axis - 1 not in axes))


def _grouped(starts: Array, box: Box, window_axes: tuple[int, ...], window: tuple[int, ...]) -> list[Rows]:
    """Rows sorted into groups that share their window. Bounds differ between rows only without index axes."""
    lower = [box.lower.get(axis) for axis in window_axes]
    upper = [box.upper.get(axis) for axis in window_axes]
    if all(bound is None or bound.size == 1 for bound in (*lower, *upper)):
        low = tuple(0 if bound is None else int(bound[0]) for bound in lower)
        high = tuple(n if bound is None else int(bound[0]) for bound, n in zip(upper, window, strict=True))
        return [Rows(None, starts, low, high)]
    key = np.zeros(starts.size, np.int64)
    for bound, extent in zip((*lower, *upper), (*window, *window), strict=True):
        if bound is not None:
            key = key * (extent + 1) + bound
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    groups = []
    for number, row in enumerate(first):
        chosen = _as_slice(np.flatnonzero(inverse == number))
        low = tuple(0 if bound is None else int(_at(bound, row)) for bound in lower)
        high = tuple(n if bound is None else int(_at(bound, row)) for bound, n in zip(upper, window, strict=True))
        groups.append(Rows(chosen, starts[chosen], low, high))
    return groups


def _at(bound: Array, row: int) -> int:
    return bound[0] if bound.size == 1 else bound[row]


def _as_slice(positions: Array) -> Array | slice:
    if positions.size == 1:
        return slice(int(positions[0]), int(positions[0]) + 1)
    step = int(positions[1] - positions[0])
    if (np.diff(positions) == step).all():
        return slice(int(positions[0]), int(positions[-1]) + 1, step)
    return positions


def too_many_groups(mask: Both | Box) -> bool:
    """Whether a box's bounds differ so much between programs that sorting them into groups would not pay."""
    box = mask.box if isinstance(mask, Both) else mask
    bounds = [bound for side in (box.lower, box.upper) for bound in side.values() if bound.size > _MOST_GROUPS]
    return any(np.unique(bound).size > _MOST_GROUPS for bound in bounds)


class Windows:
    """The rows of one group as one NumPy array over an allocation's bytes.

    `view` is the strided array itself when rows are evenly spaced, shape (*counts, *window). Other rows go through
    native code where that is wanted and there are enough, else through every possible window as an array
    (positions, *window), of which `index` names the rows.
    """

    def __init__(
        self,
        allocation: Allocation,
        dtype: np.dtype[Any],
        starts: Array,
        shape: tuple[int, ...],
        strides: tuple[int, ...],
        native: bool,
    ) -> None:
        spacing = even_spacing(starts)
        self.allocation, self.dtype, self.starts, self.strides = allocation, dtype, starts, strides
        self.index: Array | None = None
        self.rows = starts.size
        self.shape = shape
        self.native = native and gather.worth_it((self.rows, *shape))
        self.even = spacing is not None
        if spacing is not None:
            counts, steps = spacing
            self.counts = counts
            self.view = np.ndarray(
                (*counts, *shape), dtype, buffer=allocation.bytes, offset=int(starts[0]), strides=(*steps, *strides)
            )
            return
        self.counts = (self.rows,)
        if self.native:
            return
        below = sum(min(0, stride * (n - 1)) for n, stride in zip(shape, strides, strict=True))
        above = sum(max(0, stride * (n - 1)) for n, stride in zip(shape, strides, strict=True))
        skip = -allocation.address % dtype.itemsize
        count = (allocation.bytes.size - skip - (above - below) - dtype.itemsize) // dtype.itemsize + 1
        self.index = (starts + below - skip) // dtype.itemsize
        self.view = np.ndarray(
            (count, *shape), dtype, buffer=allocation.bytes, offset=skip - below, strides=(dtype.itemsize, *strides)
        )

    def read(self) -> Array:
        """A fresh array (rows, *window)."""
        result = np.empty((self.rows, *self.shape), self.dtype)
        self.read_into(result)
        return result

    def read_into(self, target: Array, valid: Array | None = None, fill: Array | None = None) -> None:
        """Fills `target` (rows, *window), of any strides; rows that are not `valid` with `fill`, or zero."""
        if self.native and not self.even:
            gather.read_rows(self.allocation.bytes, self.starts, valid, target, self.strides, fill)
            return
        self._copy_into(target)
        if valid is not None:
            target[~valid] = 0 if fill is None else fill.reshape(-1)[0]

    def _copy_into(self, target: Array) -> None:
        if self.even and len(self.counts) < 2:
            np.copyto(target, self.view)
            return
        if self.even:
            target[...] = self.view.reshape(target.shape)
            return
        assert self.index is not None
        if self.shape:
            target[...] = self.view[self.index]
        elif target.flags.c_contiguous:
            self.view.take(self.index, out=target, mode="clip")
        else:
            target[...] = self.view.take(self.index)

    def write(self, values: Array, valid: Array | None = None) -> None:
        """Writes (rows|1, *window) where rows are `valid`; of rows that overlap, the last one wins."""
        if self.native and not self.even:
            self._write_natively(values, valid)
            return
        if valid is not None:
            chosen = np.flatnonzero(valid)
            some = Windows(self.allocation, self.dtype, self.starts[chosen], self.shape, self.strides, self.native)
            some.write(values if values.shape[0] == 1 else values[chosen])
            return
        one_row = self.view.shape[1:] if self.index is not None else ()
        if values.size > 1 and (
            overlapping(self.view.shape, self.view.strides, self.view.itemsize)
            if self.index is None
            else overlapping(one_row, self.view.strides[1:], self.view.itemsize)
        ):
            self._write_in_order(values)
            return
        if self.index is not None:
            self.view[self.index] = values
            return
        if values.shape[0] == 1:
            self.view[...] = values.reshape(values.shape[1:])
            return
        self.view[...] = values if len(self.counts) == 1 else values.reshape(*self.counts, *values.shape[1:])

    def _write_natively(self, values: Array, valid: Array | None = None) -> None:
        everything = np.broadcast_to(values, (self.rows, *self.shape))
        gather.write_rows(self.allocation.bytes, self.starts, valid, everything, self.strides)

    def add(self, values: Array, valid: Array | None) -> None:
        """Adds (rows, *window) where rows are `valid`, in order."""
        gather.add_rows(self.allocation.bytes, self.starts, valid, values, self.strides)

    def _write_in_order(self, values: Array) -> None:
        """Element by element: NumPy goes over the axes of a strided array in an order of its own."""
        if self.native:
            self._write_natively(values)
            return
        memory, skip = typed(self.allocation, self.view.dtype)
        index = self.starts.reshape(-1, *(1,) * len(self.shape)) - skip
        for axis, (extent, stride) in enumerate(zip(self.shape, self.strides, strict=True)):
            column = [1] * index.ndim
            column[axis + 1] = extent
            index = index + (np.arange(extent, dtype=np.int64) * stride).reshape(column)
        memory[index.reshape(-1) // self.view.itemsize] = np.broadcast_to(values, index.shape).reshape(-1)


# --- where loads go --------------------------------------------------------------------------------------------------


def room(
    rows: tuple[int, ...], window: tuple[int, ...], access: AccessType, context: Any, columns: bool = False
) -> Array:
    """An array (*rows, *window) to load into. `columns`: slices of K, whose neighbours do not adjoin in memory, that
    a product is going to put side by side."""
    if not columns:
        return context.pool.empty((*rows, *window), access.dtype)
    slices = context.strip(access).next(window[0], rows, access.dtype)
    return slices.transpose(*range(1, slices.ndim), 0)


def ordered(values: Array, axes: Sequence[int]) -> Array:
    """(P, axes of the tensor in the order of `axes`) back in the tensor's own order."""
    if all(axis == number for number, axis in enumerate(axes)):
        return values
    inverse = sorted(range(len(axes)), key=axes.__getitem__)
    return values.transpose(0, *(axis + 1 for axis in inverse))


def fill_outside(target: Array, padding: Array | None, lower: tuple[int, ...], upper: tuple[int, ...]) -> None:
    """Fills what lies outside the window, axis by axis, without touching the inside."""
    inner: list[slice] = [slice(None)]
    for axis, (low, high) in enumerate(zip(lower, upper, strict=True)):
        for part in (slice(0, low), slice(high, target.shape[axis + 1])):
            if part.start < part.stop:
                region = (*inner, part)
                target[region] = 0 if padding is None else _part(padding, region)
        inner.append(slice(low, high))


def _part(padding: Array, region: tuple[slice, ...]) -> Array:
    """The part of a padding (axes of extent 1 are broadcast) that fills `region` of the target."""
    picks = tuple(slice(None) if padding.shape[axis] == 1 else part for axis, part in enumerate(region))
    return padding[picks]
