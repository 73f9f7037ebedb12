"""How a tile lies in a scratchpad: the layout that a shape and a placement have, and the views that need no copy.

A *placement* is the axis spread over the lanes, or None for the uniform scratchpad.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

Placement = int | None


@dataclass(frozen=True)
class Layout:
    """Where the elements of a tile are. As `harness.npu.isa.program.Tile`, but for the address.

    offset     bytes from where the storage begins, of each lane
    strides    per axis in elements of one lane; on the lane axis the step from one run of `lanes` indices to the next
    lane_axis  None: in the uniform scratchpad, or one scalar that is read everywhere
    """

    extents: tuple[int, ...]
    strides: tuple[int, ...]
    lane_axis: Placement
    offset: int = 0


def runs(extents: Sequence[int], placement: Placement, lanes: int) -> tuple[int, ...]:
    """Elements that one lane holds along each axis."""
    return tuple(-(-extent // lanes) if axis == placement else extent for axis, extent in enumerate(extents))


def depth(extents: Sequence[int], placement: Placement, lanes: int) -> int:
    """Elements of a tile in one lane; all of them where it is uniform."""
    return math.prod(runs(extents, placement, lanes))


def row_major(counts: Sequence[int]) -> tuple[int, ...]:
    strides, step = [], 1
    for count in reversed(counts):
        strides.append(step if count > 1 else 0)
        step *= count
    return tuple(reversed(strides))


def dense(extents: tuple[int, ...], placement: Placement, lanes: int) -> Layout:
    """The layout of a tile with storage of its own: row-major in each lane, the runs of the lane axis side by side."""
    counts = list(runs(extents, placement, lanes))
    if placement is None:
        return Layout(extents, row_major(counts), None)
    side_by_side = counts[placement]
    counts[placement] = 1
    strides = [stride * side_by_side for stride in row_major(counts)]
    strides[placement] = 1 if side_by_side > 1 else 0
    return Layout(extents, tuple(strides), placement)


def expanded(source: Layout, axis: int) -> Layout:
    """With a new axis of extent 1."""
    lane_axis = source.lane_axis
    moved = lane_axis + 1 if lane_axis is not None and lane_axis >= axis else lane_axis
    extents = (*source.extents[:axis], 1, *source.extents[axis:])
    return Layout(extents, (*source.strides[:axis], 0, *source.strides[axis:]), moved, source.offset)


def broadcast(source: Layout, extents: tuple[int, ...]) -> Layout:
    """Repeated along the axes of extent 1 that grow."""
    grown = [have != want for have, want in zip(source.extents, extents, strict=True)]
    strides = tuple(0 if grows else stride for grows, stride in zip(grown, source.strides, strict=True))
    return Layout(extents, strides, source.lane_axis, source.offset)


def transposed(source: Layout, order: Sequence[int]) -> Layout:
    """Axis i of the result is axis order[i] of the source."""
    lane_axis = None if source.lane_axis is None else list(order).index(source.lane_axis)
    return Layout(
        tuple(source.extents[axis] for axis in order),
        tuple(source.strides[axis] for axis in order),
        lane_axis,
        source.offset,
    )


def half(source: Layout, part: int, width: int) -> Layout | None:
    """One of the two elements along the last axis, of `width` bytes; None where that axis is spread over the lanes."""
    last = len(source.extents) - 1
    if source.lane_axis == last:
        return None
    offset = source.offset + part * source.strides[last] * width
    return Layout(source.extents[:last], source.strides[:last], source.lane_axis, offset)


def reshaped(source: Layout, extents: tuple[int, ...], placement: Placement, lanes: int) -> Layout | None:
    """The same elements, in row-major order, under another shape; None where that takes moving them."""
    if source.lane_axis is None:
        strides = _regrouped(source.extents, source.strides, extents)
        if strides is None or (placement is not None and strides[placement] != 0):
            return None
        return Layout(extents, strides, None, source.offset)
    if placement is None:
        return None
    before, after = _around(source.extents, source.lane_axis, lanes), _around(extents, placement, lanes)
    if before.lanes != after.lanes or math.prod(before.inner) != math.prod(after.inner):
        return None
    axis = source.lane_axis
    split = axis + len(before.blocks)
    outer_strides, inner_strides = source.strides[:split], source.strides[axis + 1 :]
    outer = _regrouped(before.outer, outer_strides, after.outer)
    inner = _regrouped(before.inner, inner_strides, after.inner)
    if outer is None or inner is None:
        return None
    own = () if after.blocks else (0,)
    return Layout(extents, (*outer, *own, *inner), placement, source.offset)


@dataclass(frozen=True)
class _Around:
    """A shape split at its lane axis: extents before it (its runs included), lanes used, extents after it."""

    outer: tuple[int, ...]
    blocks: tuple[int, ...]
    lanes: int
    inner: tuple[int, ...]


def _around(extents: Sequence[int], axis: int, lanes: int) -> _Around:
    extent = extents[axis]
    blocks = (extent // lanes,) if extent > lanes else ()
    return _Around((*extents[:axis], *blocks), blocks, min(extent, lanes), tuple(extents[axis + 1 :]))


def _regrouped(extents: Sequence[int], strides: Sequence[int], wanted: Sequence[int]) -> tuple[int, ...] | None:
    """Strides under the wanted extents (of the same product), or None: what NumPy does to reshape without a copy."""
    old = [(extent, stride) for extent, stride in zip(extents, strides, strict=True) if extent != 1]
    result = [0] * len(wanted)
    axis, at = len(wanted) - 1, len(old) - 1
    while at >= 0:
        extent, stride = old[at]
        at -= 1
        # Merge older axes in until the product is one of a run of wanted axes.
        taken, product = [], 1
        while product < extent or not taken:
            if axis < 0:
                return None
            taken.append(axis)
            product *= wanted[axis]
            axis -= 1
            while product > extent:
                if at < 0 or old[at][1] != stride * extent:
                    return None
                extent *= old[at][0]
                at -= 1
        if product != extent:
            return None
        step = stride
        for one in taken:
            result[one] = step if wanted[one] > 1 else 0
            step *= wanted[one]
    return tuple(result)
