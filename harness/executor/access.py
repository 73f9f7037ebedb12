"""Loads and stores of whole batches: strided copies where addresses are affine, gathers where they are not.

An access is split into *index axes*, along which addresses are irregular or the mask is arbitrary, and
*window axes*, along which every row reads the same strided window. Rows whose starts are evenly spaced
too are one strided copy for the whole batch.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.cases.location import SourceLocation
from harness.errors import IllegalAccess, Misaligned, OutOfBounds
from harness.executor.memory import Allocation
from harness.executor.strided import Window, even_spacing, overlapping, window
from harness.executor.products import Shared, distinct
from harness.executor.values import Affine, Box, Pointer, affine_from_rest, dense, narrowed
from harness.semantics.types import Array

NOWHERE = Allocation("nothing", np.zeros(0, np.uint8), 0)  # what an access of no lane at all goes to
_MOST_GROUPS = 32  # more distinct mask bounds than this in one batch: gather instead


@dataclass(frozen=True)
class AccessType:
    """What an access op knows before it runs."""

    verb: str  # "load", "store", "atomic"
    dtype: np.dtype[Any]
    extents: tuple[int, ...]
    where: SourceLocation | None


@dataclass
class _Rows:
    """Rows of one window shape: `chosen` positions (None for all), their byte `starts`, window bounds."""

    chosen: Array | slice | None
    starts: Array
    lower: tuple[int, ...]
    upper: tuple[int, ...]


@dataclass
class _Split:
    index_axes: tuple[int, ...]
    window_axes: tuple[int, ...]
    row_shape: tuple[int, ...]  # (P|1, extents of index axes)
    groups: list[_Rows]
    valid: Array | None  # of row_shape; None means all rows take part
    window: tuple[int, ...]  # extents of window axes (1 where nothing varies)
    strides: tuple[int, ...]  # bytes, of window axes


def resolve(pointer: Pointer, mask: Any, memory: Any, access: AccessType, context: Any) -> Pointer:
    """A pointer without provenance (made from integers) with the one allocation that all its lanes hit.

    Raises IllegalAccess when a lane points into no allocation, or lanes point into several.
    """
    if pointer.allocation is not None:
        return pointer
    addresses = dense(pointer.offset)
    lanes, inside = _lanes(addresses, None if mask is None else dense(mask))
    if inside is not None and not inside.any():
        return Pointer(NOWHERE, pointer.offset)
    first = int(lanes.reshape(-1)[0 if inside is None else int(np.argmax(inside))])
    allocation = memory.find(first)
    if allocation is None:
        program = context.program_of(0 if inside is None else _row_of_first(inside))
        raise IllegalAccess(
            f"{access.verb} through address {first:#x}, which points into no registered buffer", access.where,
            "a pointer made from an integer must point into a tensor that is an argument of the launch", program,
        )  # fmt: skip
    offset = pointer.offset
    if isinstance(offset, Affine):
        start = allocation.address
        return Pointer(
            allocation, offset.replaced(base=offset.base - start, low=offset.low - start, high=offset.high - start)
        )
    return Pointer(allocation, offset - allocation.address)


def hits_one_allocation(pointer: Pointer, mask: Any, memory: Any) -> bool:
    """Whether all lanes that take part point into the same allocation (or none does)."""
    if pointer.allocation is not None:
        return True
    lanes, inside = _lanes(dense(pointer.offset), None if mask is None else dense(mask))
    used = lanes if inside is None else lanes[inside]
    if used.size == 0:
        return True
    allocation = memory.find(int(used.reshape(-1)[0]))
    if allocation is None:
        return True
    return bool(used.min() >= allocation.address and used.max() < allocation.address + allocation.bytes.size)


def _lanes(offsets: Array, mask: Array | None) -> tuple[Array, Array | None]:
    if mask is None:
        return offsets, None
    shape = np.broadcast_shapes(offsets.shape, mask.shape)
    return np.broadcast_to(offsets, shape), np.broadcast_to(mask, shape)


def _row_of_first(inside: Array) -> int:
    flat = int(np.argmax(inside))
    return flat // max(1, inside[0].size)


def typed(allocation: Allocation, dtype: np.dtype[Any]) -> tuple[Array, int]:
    """All of an allocation as elements of `dtype`, and the byte at which the first aligned one starts."""
    skip = -allocation.address % dtype.itemsize
    count = max(0, (allocation.bytes.size - skip) // dtype.itemsize)
    return np.ndarray((count,), dtype, buffer=allocation.bytes, offset=skip if count else 0), skip


# --- splitting an access into rows and windows -----------------------------------------------------


def _as_affine(offset: Affine | Array) -> Affine:
    if isinstance(offset, Affine):
        return offset
    return affine_from_rest(offset, ()).replaced(base=offset, rest=None)


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
    if not (lines[:, 1:] - lines[:, :-1] == step).all():
        return offset
    strides = list(offset.strides)
    strides[axis - 1] += step
    return offset.replaced(base=offset.base + lines[:, 0], strides=tuple(strides), rest=None)


def _split(offset: Affine, mask: Box | Array | None, extents: tuple[int, ...], like: Array | None = None) -> _Split:
    """`like` is an array whose varying axes (programs included) the rows and windows must cover."""
    offset = _regularised(offset)
    rank = len(extents)
    irregular = np.zeros(rank, np.bool_)
    if offset.rest is not None:
        irregular |= np.array([offset.rest.shape[axis + 1] > 1 for axis in range(rank)], np.bool_)
    box = mask if isinstance(mask, Box) else None
    array_mask = mask if isinstance(mask, np.ndarray) else None
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
) -> _Split:
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
        groups = [_Rows(None, np.broadcast_to(starts, row_shape).reshape(-1), lower, upper)]
        return _Split(index_axes, window_axes, row_shape, groups, valid, window, strides)
    programs = max(row_shape[0], *(bound.size for bounds in (box.lower, box.upper) for bound in bounds.values()))
    row_shape = (programs, *row_shape[1:])
    flat = np.broadcast_to(starts, row_shape).reshape(-1)
    groups = _grouped(flat, box, window_axes, window)
    return _Split(index_axes, window_axes, row_shape, groups, valid, window, strides)


def _without_axes(values: Array, axes: tuple[int, ...]) -> Array:
    return values.reshape(tuple(n for axis, n in enumerate(values.shape) if axis - 1 not in axes))


def _grouped(starts: Array, box: Box, window_axes: tuple[int, ...], window: tuple[int, ...]) -> list[_Rows]:
    """Rows sorted into groups that share their window. Bounds differ between rows only without index axes."""
    lower = [box.lower.get(axis) for axis in window_axes]
    upper = [box.upper.get(axis) for axis in window_axes]
    if all(bound is None or bound.size == 1 for bound in (*lower, *upper)):
        low = tuple(0 if bound is None else int(bound[0]) for bound in lower)
        high = tuple(n if bound is None else int(bound[0]) for bound, n in zip(upper, window, strict=True))
        return [_Rows(None, starts, low, high)]
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
        groups.append(_Rows(chosen, starts[chosen], low, high))
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


def _too_many_groups(box: Box | Array | None) -> bool:
    """Whether a box's bounds differ so much between programs that sorting them into groups would not pay."""
    if not isinstance(box, Box):
        return False
    bounds = [bound for side in (box.lower, box.upper) for bound in side.values() if bound.size > _MOST_GROUPS]
    return any(np.unique(bound).size > _MOST_GROUPS for bound in bounds)


# --- windows of rows as NumPy views ----------------------------------------------------------------


class _Windows:
    """The rows of one group as one NumPy array over an allocation's bytes.

    `view` is the strided array itself when rows are evenly spaced, shape (*counts, *window); otherwise every
    possible window as an array (positions, *window), of which `index` names the rows.
    """

    def __init__(self, allocation: Allocation, dtype: np.dtype[Any], starts: Array, shape: tuple[int, ...], strides: tuple[int, ...]) -> None:  # fmt: skip
        spacing = even_spacing(starts)
        self.allocation, self.starts, self.strides = allocation, starts, strides
        self.index: Array | None = None
        self.rows = starts.size
        self.shape = shape
        if spacing is not None:
            counts, steps = spacing
            self.counts = counts
            self.view = np.ndarray(
                (*counts, *shape), dtype, buffer=allocation.bytes, offset=int(starts[0]), strides=(*steps, *strides)
            )
            return
        below = sum(min(0, stride * (n - 1)) for n, stride in zip(shape, strides, strict=True))
        above = sum(max(0, stride * (n - 1)) for n, stride in zip(shape, strides, strict=True))
        skip = -allocation.address % dtype.itemsize
        count = (allocation.bytes.size - skip - (above - below) - dtype.itemsize) // dtype.itemsize + 1
        self.counts = (self.rows,)
        self.index = (starts + below - skip) // dtype.itemsize
        self.view = np.ndarray(
            (count, *shape), dtype, buffer=allocation.bytes, offset=skip - below, strides=(dtype.itemsize, *strides)
        )

    def read(self) -> Array:
        """A fresh array (rows, *window)."""
        if self.index is None:
            return self.view.copy(order="C").reshape(self.rows, *self.shape)
        if not self.shape:
            return self.view.take(self.index)
        return self.view[self.index]

    def read_into(self, target: Array) -> None:
        if self.index is None:
            np.copyto(target.reshape(*self.counts, *self.shape), self.view)
        elif not self.shape:
            self.view.take(self.index, out=target, mode="clip")
        else:
            target[...] = self.read()

    def write(self, values: Array) -> None:
        """Writes (rows|1, *window); of rows that overlap, the last one wins."""
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

    def _write_in_order(self, values: Array) -> None:
        """Element by element: NumPy goes over the axes of a strided array in an order of its own."""
        memory, skip = typed(self.allocation, self.view.dtype)
        index = self.starts.reshape(-1, *(1,) * len(self.shape)) - skip
        for axis, (extent, stride) in enumerate(zip(self.shape, self.strides, strict=True)):
            column = [1] * index.ndim
            column[axis + 1] = extent
            index = index + (np.arange(extent, dtype=np.int64) * stride).reshape(column)
        memory[index.reshape(-1) // self.view.itemsize] = np.broadcast_to(values, index.shape).reshape(-1)


def _check_rows(rows: _Rows, split: _Split, access: AccessType, pointer: Pointer, mask: Any, context: Any) -> None:
    """Raises OutOfBounds or Misaligned when any element of the rows' windows is not inside the allocation."""
    allocation = pointer.allocation
    assert allocation is not None
    sizes = [high - low for low, high in zip(rows.lower, rows.upper, strict=True)]
    below = sum(min(0, stride * (n - 1)) for n, stride in zip(sizes, split.strides, strict=True))
    above = sum(max(0, stride * (n - 1)) for n, stride in zip(sizes, split.strides, strict=True))
    itemsize = access.dtype.itemsize
    first, last = int(rows.starts.min()) + below, int(rows.starts.max()) + above + itemsize
    straight = aligned(rows.starts, allocation.address, itemsize)
    steady = all(n == 1 or stride % itemsize == 0 for n, stride in zip(sizes, split.strides, strict=True))
    if first < 0 or last > allocation.bytes.size or not (straight and steady):
        raise_trap(pointer, mask, access, context)


def aligned(offsets: Array, address: int, itemsize: int) -> bool:
    """Whether address + offset is a multiple of `itemsize` (a power of two) for every offset."""
    if itemsize == 1 or offsets.size == 0:
        return True
    if address % itemsize == 0:
        return int(np.bitwise_or.reduce(offsets, axis=None)) % itemsize == 0
    return not ((offsets + address) % itemsize).any()


def raise_trap(pointer: Pointer, mask: Any, access: AccessType, context: Any) -> None:
    """Raises the trap of the first lane (in program order) that is out of bounds or misaligned."""
    allocation = pointer.allocation
    assert allocation is not None
    offsets, inside = _lanes(dense(_as_affine(pointer.offset)), None if mask is None else dense(mask))
    itemsize = access.dtype.itemsize
    outside = (offsets < 0) | (offsets + itemsize > allocation.bytes.size)
    crooked = (offsets + allocation.address) % itemsize != 0
    bad = outside | crooked if inside is None else (outside | crooked) & inside
    flat = int(np.argmax(bad))
    lane = np.unravel_index(flat, bad.shape)
    offset = int(offsets[lane])
    program = context.program_of(int(lane[0]))
    element = f"element {offset // allocation.itemsize}" if offset % allocation.itemsize == 0 else f"byte {offset}"
    count = allocation.bytes.size // allocation.itemsize
    if bool(outside[lane]):
        raise OutOfBounds(
            f"{access.verb} of {element} of buffer {allocation.name!r}, which has {count} elements, "
            f"by program {program}",
            access.where,
            program=program,
        )
    raise Misaligned(
        f"{access.verb} of {itemsize} bytes at {element} of buffer {allocation.name!r}, which is not a multiple of "
        f"{itemsize}, by program {program}",
        access.where,
        program=program,
    )


# --- the two accesses -------------------------------------------------------------------------------


def load(pointer: Pointer, mask: Any, other: Array | None, access: AccessType, context: Any) -> Array:
    """Elements at the pointers, (P|1, *dims); `other` (zero when None) where the mask is false."""
    simple = window(pointer, mask, access, None if mask is None else other)
    if simple is not None and (mask is None or other is None or other.shape[0] <= simple.programs):
        return _load_window(simple, mask, other, access, context)
    if _too_many_groups(mask):
        mask = mask.array()
    split = _split(_as_affine(pointer.offset), mask, access.extents, other if mask is not None else None)
    whole = len(split.groups) == 1 and split.valid is None and split.groups[0].upper == split.window
    whole = whole and not any(split.groups[0].lower)
    rows = int(np.prod(split.row_shape))
    if whole:
        result = _windows(split.groups[0], split, access, pointer, mask, context).read()
        return _ordered(result.reshape(*split.row_shape, *split.window), split)
    result = np.empty((rows, *split.window), access.dtype)
    fill = _fill_rows(other, split, access)
    if split.valid is not None:
        _load_valid_rows(result, fill, split, access, pointer, mask, context)
    else:
        for group in split.groups:
            _load_group(result, fill, group, split, access, pointer, mask, context)
    return _ordered(result.reshape(*split.row_shape, *split.window), split)


def load_shared(pointer: Pointer, mask: Any, other: Array | None, access: AccessType, context: Any) -> Array | Shared:
    """As `load`, but programs that read the same tile share it."""
    offset = pointer.offset
    columns = [] if not isinstance(offset, Affine) else [offset.base, *([] if offset.rest is None else [offset.rest])]
    if isinstance(mask, Box):
        columns += [*mask.lower.values(), *mask.upper.values()]
    elif mask is not None:
        columns.append(mask)
    if other is not None and other.shape[0] > 1:
        columns = []
    programs = max((column.shape[0] for column in columns), default=1)
    found = _sharing(columns, programs, access, context) if programs > 1 else None
    if found is None:
        return load(pointer, mask, other, access, context)
    first, index = found
    # Row numbers of the narrowed access are those of the subset: a trap names the right program.
    here = context.subset(first)
    return Shared(load(narrowed(pointer, first), narrowed(mask, first), other, access, here), index)


def _sharing(columns: list[Array], programs: int, access: AccessType, context: Any) -> tuple[Array, Array] | None:
    """Which programs read alike: as in the last trip of the loop where that still holds, else found anew."""
    known = context.sharing.get(id(access))  # None as well where the last trip found nothing to share
    if known is not None and known[1].size == programs:
        first, index = known
        if all(column.shape[0] == 1 or (column[first][index] == column).all() for column in columns):
            return known
    if id(access) in context.sharing and known is None:
        return None
    found = distinct(columns, programs)
    context.sharing[id(access)] = found
    return found


def _load_window(simple: Window, mask: Any, other: Array | None, access: AccessType, context: Any) -> Array:
    rows = (simple.programs, *simple.view.shape[len(simple.counts) :])
    if mask is None:
        result = context.pool.empty(rows, access.dtype)
        np.copyto(result.reshape(simple.view.shape), simple.view)
        return result
    full = tuple(mask.extents[a] if a in mask.lower or a in mask.upper else rows[a + 1] for a in range(len(rows) - 1))
    result = context.pool.empty((simple.programs, *full), access.dtype)
    _fill_outside(result, other, simple.lower, simple.upper)
    inner = result[(slice(None), *map(slice, simple.lower, simple.upper))]
    if len(simple.counts) == 1:
        np.copyto(inner, simple.view)
    else:
        inner[...] = simple.view.reshape(rows)
    return result


def _windows(group: _Rows, split: _Split, access: AccessType, pointer: Pointer, mask: Any, context: Any) -> _Windows:
    assert pointer.allocation is not None
    _check_rows(group, split, access, pointer, mask, context)
    shape = tuple(high - low for low, high in zip(group.lower, group.upper, strict=True))
    shift = sum(low * stride for low, stride in zip(group.lower, split.strides, strict=True))
    return _Windows(pointer.allocation, access.dtype, group.starts + shift, shape, split.strides)


def _shifted(group: _Rows, split: _Split) -> _Rows:
    """The group with its starts moved to the first element of its window."""
    shift = sum(low * stride for low, stride in zip(group.lower, split.strides, strict=True))
    return _Rows(group.chosen, group.starts + shift, (0,) * len(group.lower), tuple(h - lo for lo, h in zip(group.lower, group.upper, strict=True)))  # fmt: skip


def _fill_rows(other: Array | None, split: _Split, access: AccessType) -> Array | None:
    """`other` as (rows|1, *window), or None for zero."""
    if other is None:
        return None
    order = (0, *(axis + 1 for axis in split.index_axes), *(axis + 1 for axis in split.window_axes))
    moved = other.transpose(order) if other.ndim == len(order) else other
    head = moved.shape[: len(split.index_axes) + 1]
    tail = moved.shape[len(split.index_axes) + 1 :]
    if all(n == 1 for n in head):
        return moved.reshape(1, *tail)
    return np.broadcast_to(moved, (*split.row_shape, *tail)).reshape(-1, *tail)


def _load_group(
    result: Array,
    fill: Array | None,
    group: _Rows,
    split: _Split,
    access: AccessType,
    pointer: Pointer,
    mask: Any,
    context: Any,
) -> None:
    chosen = slice(None) if group.chosen is None else group.chosen
    target = result[chosen]
    padding = fill if fill is None or fill.shape[0] == 1 else fill[chosen]
    if any(high <= low for low, high in zip(group.lower, group.upper, strict=True)):
        target[...] = 0 if padding is None else padding
    else:
        moved = _shifted(group, split)
        _fill_outside(target, padding, group.lower, group.upper)
        window = tuple(slice(low, high) for low, high in zip(group.lower, group.upper, strict=True))
        inner = target[(slice(None), *window)]
        windows = _windows(moved, split, access, pointer, mask, context)
        if len(windows.counts) == 1 and windows.index is None:
            np.copyto(inner, windows.view)
        else:
            inner[...] = windows.read()
    if isinstance(chosen, np.ndarray):
        result[chosen] = target


def _fill_outside(target: Array, padding: Array | None, lower: tuple[int, ...], upper: tuple[int, ...]) -> None:
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


def _load_valid_rows(
    result: Array,
    fill: Array | None,
    split: _Split,
    access: AccessType,
    pointer: Pointer,
    mask: Any,
    context: Any,
) -> None:
    assert split.valid is not None
    valid = np.broadcast_to(split.valid, split.row_shape).reshape(-1)
    group = split.groups[0]
    whole = all(low == 0 and high == n for low, high, n in zip(group.lower, group.upper, split.window, strict=True))
    if whole and valid.any() and (fill is None or fill.size == 1):
        # Rows that are masked off read the first valid one, and are overwritten: cheaper than picking rows.
        starts = np.where(valid, group.starts, group.starts[int(valid.argmax())])
        safe = _Rows(None, starts, group.lower, group.upper)
        _windows(safe, split, access, pointer, mask, context).read_into(result)
        result[~valid] = 0 if fill is None else fill.reshape(-1)[0]
        return
    result[...] = 0 if fill is None else fill
    if not valid.any():
        return
    chosen = np.flatnonzero(valid)
    group = split.groups[0]
    picked = _Rows(None, group.starts[chosen], group.lower, group.upper)
    if any(high <= low for low, high in zip(group.lower, group.upper, strict=True)):
        return
    windows = _windows(_shifted(picked, split), split, access, pointer, mask, context)
    window = tuple(slice(low, high) for low, high in zip(group.lower, group.upper, strict=True))
    if all(low == 0 and high == n for low, high, n in zip(group.lower, group.upper, split.window, strict=True)):
        result[chosen] = windows.read()
        return
    part = result[chosen]
    part[(slice(None), *window)] = windows.read()
    result[chosen] = part


def _ordered(values: Array, split: _Split) -> Array:
    """(P, index axes, window axes) back in the tensor's order of axes."""
    axes = (*split.index_axes, *split.window_axes)
    if axes == tuple(range(len(axes))):
        return values
    inverse = np.argsort(axes)
    return values.transpose(0, *(int(axis) + 1 for axis in inverse))


def store(pointer: Pointer, values: Array, mask: Any, access: AccessType, context: Any) -> None:
    """Writes values (P|1, *dims) at the pointers where the mask is true; later programs win."""
    simple = window(pointer, mask, access, values)
    if simple is not None and values.shape[0] <= simple.programs and _apart(simple, values):
        inner = values[_window_of(values, tuple(map(slice, simple.lower, simple.upper)))]
        if inner.shape[0] == 1 or len(simple.counts) == 1:
            simple.view[...] = inner if simple.counts else inner[0]
        else:
            simple.view[...] = inner.reshape(*simple.counts, *inner.shape[1:])
        return
    if _too_many_groups(mask):
        mask = mask.array()
    offset = _as_affine(pointer.offset)
    split = _split(offset, mask, access.extents, values)
    order = (0, *(axis + 1 for axis in split.index_axes), *(axis + 1 for axis in split.window_axes))
    moved = values.transpose(order)
    tail = moved.shape[len(split.index_axes) + 1 :]
    head = moved.shape[: len(split.index_axes) + 1]
    data = moved.reshape(1, *tail) if all(n == 1 for n in head) else np.broadcast_to(moved, (*split.row_shape, *tail))
    data = data.reshape(-1, *tail)
    chosen = None if split.valid is None else np.flatnonzero(np.broadcast_to(split.valid, split.row_shape))
    for group in split.groups:
        _store_group(group, data, chosen, split, access, pointer, mask, context)


def _apart(simple: Window, values: Array) -> bool:
    """Whether it does not matter in which order the elements are written."""
    return values.size == 1 or not overlapping(simple.view.shape, simple.view.strides, simple.view.itemsize)


def _store_group(
    group: _Rows,
    data: Array,
    valid: Array | None,
    split: _Split,
    access: AccessType,
    pointer: Pointer,
    mask: Any,
    context: Any,
) -> None:
    if any(high <= low for low, high in zip(group.lower, group.upper, strict=True)):
        return
    chosen = group.chosen if valid is None else valid
    if valid is not None:
        if valid.size == 0:
            return
        group = _Rows(None, group.starts[valid], group.lower, group.upper)
    windows = _windows(_shifted(group, split), split, access, pointer, mask, context)
    picked = data if chosen is None or data.shape[0] == 1 else data[chosen]
    window = tuple(slice(low, high) for low, high in zip(group.lower, group.upper, strict=True))
    windows.write(picked[_window_of(picked, window)])


def _window_of(values: Array, window: tuple[slice, ...]) -> tuple[slice, ...]:
    return (slice(None), *(slice(None) if values.shape[axis + 1] == 1 else part for axis, part in enumerate(window)))
