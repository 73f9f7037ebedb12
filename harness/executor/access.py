"""Loads and stores of whole batches: strided copies where addresses are affine, gathers where they are not.

An access is split into *index axes*, along which addresses are irregular or the mask is arbitrary, and
*window axes*, along which every row reads the same strided window. Rows whose starts are evenly spaced
too are one strided copy for the whole batch.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import numpy as np

from harness.executor import irregular
from harness.executor.bounds import AccessType, aligned, as_affine_offset, raise_trap
from harness.executor.native import gather
from harness.executor.products import Shared, Trimmed, distinct
from harness.executor.rows import Rows, Split, Windows, fill_outside, ordered, room, split_access, too_many_groups
from harness.executor.strided import Window, overlapping, window
from harness.executor.values import Affine, Both, Box, Pointer, narrowed
from harness.semantics.types import Array


def _check_rows(rows: Rows, split: Split, access: AccessType, pointer: Pointer, mask: Any, context: Any) -> None:
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


def load(
    pointer: Pointer, mask: Any, other: Array | None, access: AccessType, context: Any, terms: int | None = None
) -> Array:
    """Elements at the pointers, (P|1, *dims); `other` (zero when None) where the mask is false.

    `terms` is the K axis of an operand of a matrix product."""
    simple = window(pointer, mask, access, None if mask is None else other)
    if simple is not None and (mask is None or other is None or other.shape[0] <= simple.programs):
        return _load_window(simple, mask, other, access, context)
    gathered = irregular.load(pointer, mask, other, access, context, terms)
    if gathered is not None:
        return gathered
    if isinstance(mask, (Both, Box)) and too_many_groups(mask):
        mask = mask.array()
    split = split_access(as_affine_offset(pointer.offset), mask, access.extents, other if mask is not None else None)
    axes = (*split.index_axes, *split.window_axes)
    columns = bool(split.index_axes) and split.window_axes == (terms,) and split.strides[0] != access.dtype.itemsize
    whole = len(split.groups) == 1 and split.valid is None and split.groups[0].upper == split.window
    whole = whole and not any(split.groups[0].lower)
    rows = int(np.prod(split.row_shape))
    if whole:
        result = room(split.row_shape, split.window, access, context, columns)
        windows = _windows(split.groups[0], split, access, pointer, mask, context)
        windows.read_into(result.reshape(rows, *split.window))
        return ordered(result, axes)
    full = room(split.row_shape, split.window, access, context, columns)
    result = full.reshape(rows, *split.window)
    fill = _fill_rows(other, split, access)
    if split.valid is not None:
        _load_valid_rows(result, fill, split, access, pointer, mask, context)
    else:
        for group in split.groups:
            _load_group(result, fill, group, split, access, pointer, mask, context)
    return ordered(full, axes)


def load_operand(
    pointer: Pointer, mask: Any, other: Array | None, access: AccessType, context: Any, terms: int
) -> Array | Shared | Trimmed:
    """As `load_shared`, and without what the mask sets to zero for every program: a bound on the K axis `terms`."""
    box = mask.box if isinstance(mask, Both) else mask
    bounds = _common_bounds(box, terms) if isinstance(box, Box) else None
    offset, extent = pointer.offset, access.extents[terms]
    if bounds is None or not isinstance(offset, Affine) or (other is not None and other.any()):
        return load_shared(pointer, mask, other, access, context, terms)
    lower, upper = bounds
    if not 0 < upper - lower < extent or (offset.rest is not None and offset.rest.shape[terms + 1] > 1):
        return load_shared(pointer, mask, other, access, context, terms)
    inner = _trimmed_box(box, terms, upper - lower)
    inside = Both(inner, mask.bits) if isinstance(mask, Both) else inner
    moved = Pointer(pointer.allocation, _trimmed_offset(offset, terms, lower, upper - lower))
    operand = load_shared(moved, inside, None, _trimmed_access(access, terms, upper - lower), context, terms)
    return Trimmed(operand, terms, lower, upper, extent)


def _common_bounds(box: Box, axis: int) -> tuple[int, int] | None:
    """The bounds on one axis, or None where programs differ or there are none."""
    lower, upper = box.lower.get(axis), box.upper.get(axis)
    if (lower is None and upper is None) or any(bound is not None and bound.size > 1 for bound in (lower, upper)):
        return None
    return (0 if lower is None else int(lower[0]), box.extents[axis] if upper is None else int(upper[0]))


def _trimmed_box(box: Box, axis: int, extent: int) -> Box:
    lower, upper = ({a: bound for a, bound in side.items() if a != axis} for side in (box.lower, box.upper))
    return Box(_with(box.extents, axis, extent), lower, upper)


def _trimmed_offset(offset: Affine, axis: int, lower: int, extent: int) -> Affine:
    stride = offset.strides[axis]
    strides = _with(offset.strides, axis, stride if extent > 1 else 0)
    return offset.replaced(
        base=offset.base + lower * stride, strides=strides, extents=_with(offset.extents, axis, extent)
    )


@functools.lru_cache(maxsize=256)
def _trimmed_access(access: AccessType, axis: int, extent: int) -> AccessType:
    """The same object every time: what programs share is remembered by it."""
    return replace(access, extents=_with(access.extents, axis, extent))


def _with(numbers: tuple[int, ...], axis: int, number: int) -> tuple[int, ...]:
    return (*numbers[:axis], number, *numbers[axis + 1 :])


def load_shared(
    pointer: Pointer, mask: Any, other: Array | None, access: AccessType, context: Any, terms: int | None = None
) -> Array | Shared:
    """As `load`, but programs that read the same tile share it."""
    offset = pointer.offset
    columns = [] if not isinstance(offset, Affine) else [offset.base, *([] if offset.rest is None else [offset.rest])]
    box = mask.box if isinstance(mask, Both) else mask
    if isinstance(box, Box):
        columns += [*box.lower.values(), *box.upper.values()]
    if mask is not None and mask is not box:
        columns.append(mask.bits)
    elif isinstance(mask, np.ndarray):
        columns.append(mask)
    if other is not None and other.shape[0] > 1:
        columns = []
    programs = max((column.shape[0] for column in columns), default=1)
    found = _sharing(columns, programs, access, context) if programs > 1 else None
    if found is None:
        return load(pointer, mask, other, access, context, terms)
    first, index = found
    # Row numbers of the narrowed access are those of the subset: a trap names the right program.
    here = context.subset(first)
    return Shared(load(narrowed(pointer, first), narrowed(mask, first), other, access, here, terms), index)


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
    fill_outside(result, other, simple.lower, simple.upper)
    inner = result[(slice(None), *map(slice, simple.lower, simple.upper))]
    if len(simple.counts) == 1:
        np.copyto(inner, simple.view)
    else:
        inner[...] = simple.view.reshape(rows)
    return result


def _windows(group: Rows, split: Split, access: AccessType, pointer: Pointer, mask: Any, context: Any) -> Windows:
    assert pointer.allocation is not None
    _check_rows(group, split, access, pointer, mask, context)
    shape = tuple(high - low for low, high in zip(group.lower, group.upper, strict=True))
    shift = sum(low * stride for low, stride in zip(group.lower, split.strides, strict=True))
    starts = group.starts + shift if shift else group.starts
    return Windows(pointer.allocation, access.dtype, starts, shape, split.strides, context.options.native)


def _shifted(group: Rows, split: Split) -> Rows:
    """The group with its starts moved to the first element of its window."""
    shift = sum(low * stride for low, stride in zip(group.lower, split.strides, strict=True))
    return Rows(
        group.chosen,
        group.starts + shift,
        (0,) * len(group.lower),
        tuple(h - lo for lo, h in zip(group.lower, group.upper, strict=True)),
    )


def _fill_rows(other: Array | None, split: Split, access: AccessType) -> Array | None:
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
    group: Rows,
    split: Split,
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
        fill_outside(target, padding, group.lower, group.upper)
        window = tuple(slice(low, high) for low, high in zip(group.lower, group.upper, strict=True))
        _windows(moved, split, access, pointer, mask, context).read_into(target[(slice(None), *window)])
    if isinstance(chosen, np.ndarray):
        result[chosen] = target


def _load_valid_rows(
    result: Array,
    fill: Array | None,
    split: Split,
    access: AccessType,
    pointer: Pointer,
    mask: Any,
    context: Any,
) -> None:
    assert split.valid is not None
    valid = np.broadcast_to(split.valid, split.row_shape).reshape(-1)
    group = split.groups[0]
    if not valid.any() or any(high <= low for low, high in zip(group.lower, group.upper, strict=True)):
        result[...] = 0 if fill is None else fill
        return
    moved = _shifted(group, split)
    inner = result[(slice(None), *map(slice, group.lower, group.upper))]
    if fill is None or fill.size == 1:
        fill_outside(result, fill, group.lower, group.upper)
        _windows(_safe(moved, valid), split, access, pointer, mask, context).read_into(inner, valid, fill)
        return
    result[...] = fill
    chosen = np.flatnonzero(valid)
    picked = Rows(None, moved.starts[chosen], moved.lower, moved.upper)
    inner[chosen] = _windows(picked, split, access, pointer, mask, context).read()


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
    if isinstance(mask, (Both, Box)) and too_many_groups(mask):
        mask = mask.array()
    offset = as_affine_offset(pointer.offset)
    split = split_access(offset, mask, access.extents, values)
    order = (0, *(axis + 1 for axis in split.index_axes), *(axis + 1 for axis in split.window_axes))
    moved = values.transpose(order)
    tail = moved.shape[len(split.index_axes) + 1 :]
    head = moved.shape[: len(split.index_axes) + 1]
    data = moved.reshape(1, *tail) if all(n == 1 for n in head) else np.broadcast_to(moved, (*split.row_shape, *tail))
    data = data.reshape(-1, *tail)
    valid = None if split.valid is None else np.broadcast_to(split.valid, split.row_shape).reshape(-1)
    for group in split.groups:
        _store_group(group, data, valid, split, access, pointer, mask, context)


def _apart(simple: Window, values: Array) -> bool:
    """Whether it does not matter in which order the elements are written."""
    return values.size == 1 or not overlapping(simple.view.shape, simple.view.strides, simple.view.itemsize)


def _store_group(
    group: Rows,
    data: Array,
    valid: Array | None,
    split: Split,
    access: AccessType,
    pointer: Pointer,
    mask: Any,
    context: Any,
) -> None:
    if any(high <= low for low, high in zip(group.lower, group.upper, strict=True)):
        return
    if valid is not None:
        if not valid.any():
            return
        group = _safe(group, valid)
    windows = _windows(_shifted(group, split), split, access, pointer, mask, context)
    picked = data if group.chosen is None or data.shape[0] == 1 else data[group.chosen]
    window = tuple(slice(low, high) for low, high in zip(group.lower, group.upper, strict=True))
    windows.write(picked[_window_of(picked, window)], valid)


def _safe(group: Rows, valid: Array) -> Rows:
    """The group, its rows that are masked off where the first valid one is: bounds are checked of all."""
    return Rows(
        group.chosen, np.where(valid, group.starts, group.starts[int(valid.argmax())]), group.lower, group.upper
    )


def _window_of(values: Array, window: tuple[slice, ...]) -> tuple[slice, ...]:
    return (slice(None), *(slice(None) if values.shape[axis + 1] == 1 else part for axis, part in enumerate(window)))


def add(pointer: Pointer, values: Array, mask: Any, access: AccessType, context: Any) -> bool:
    """Adds values (P|1, *dims) at the pointers where the mask is true: programs by number, lanes in row-major order.

    False, and nothing done, where that takes more than rows of windows.
    """
    shape = (context.programs, *access.extents)
    if isinstance(mask, Box) and any(bound.size > 1 for side in (mask.lower, mask.upper) for bound in side.values()):
        mask = mask.array()
    if not (context.options.native and gather.addable(access.dtype) and gather.worth_it(shape)):
        return False
    split = split_access(as_affine_offset(pointer.offset), mask, access.extents)
    if (*split.index_axes, *split.window_axes) != tuple(range(len(access.extents))):
        return False
    (group,) = split.groups
    # Lanes that one address and one value serve are as many additions.
    window = tuple(access.extents[axis] for axis in split.window_axes)
    upper = tuple(n if high == one else high for high, one, n in zip(group.upper, split.window, window, strict=True))
    head = (context.programs, *(access.extents[axis] for axis in split.index_axes))
    starts = np.broadcast_to(group.starts.reshape(split.row_shape), head).reshape(-1)
    valid = None if split.valid is None else np.broadcast_to(split.valid, head).reshape(-1)
    if any(high <= low for low, high in zip(group.lower, upper, strict=True)) or not (valid is None or valid.any()):
        return True
    rows = Rows(None, starts, group.lower, upper)
    if valid is not None:
        rows = _safe(rows, valid)
    windows = _windows(_shifted(rows, split), split, access, pointer, mask, context)
    lanes = np.broadcast_to(values, shape).reshape(starts.size, *window)
    windows.add(lanes[(slice(None), *map(slice, group.lower, upper))], valid)
    return True
