"""Views of tiles: where a layout says that an element is, is the element that NumPy has there."""

from __future__ import annotations

import itertools
import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from lowering_kit import EXAMPLES

from harness.npu.lowering import layouts
from harness.npu.lowering.layouts import Layout

LANES = 4


def elements(layout: Layout, scratchpad: np.ndarray) -> np.ndarray:
    """The tile that a layout finds in a scratchpad (depth, lane) of one-byte elements."""
    found = np.zeros(layout.extents, scratchpad.dtype)
    for index in itertools.product(*map(range, layout.extents)):
        deep, lane = layout.offset, 0
        for axis, one in enumerate(index):
            if axis == layout.lane_axis:
                lane, one = one % LANES, one // LANES
            deep += one * layout.strides[axis]
        found[index] = scratchpad[deep, lane]
    return found


@st.composite
def shapes(draw: st.DrawFn, elements_: int) -> tuple[int, ...]:
    shape, left = [], elements_
    while left > 1:
        extent = min(left, 1 << draw(st.integers(0, 3)))
        shape.append(extent)
        left //= extent
    return tuple(shape) or (1,)


@st.composite
def tiles(draw: st.DrawFn) -> Layout:
    shape = draw(shapes(1 << draw(st.integers(0, 6))))
    layout = layouts.dense(shape, draw(st.sampled_from((None, *range(len(shape))))), LANES)
    order = draw(st.permutations(range(len(shape))))
    return layouts.transposed(layout, order)


def scratchpad(layout: Layout) -> np.ndarray:
    lanes = 1 if layout.lane_axis is None else LANES
    return np.arange(2048 * lanes).reshape(2048, lanes)


@EXAMPLES
@given(data=st.data())
def test_a_view_of_another_shape(data: st.DataObject) -> None:
    layout = data.draw(tiles())
    shape = data.draw(shapes(math.prod(layout.extents)))
    placement = data.draw(st.sampled_from((None, *range(len(shape)))))
    view = layouts.reshaped(layout, shape, placement, LANES)
    if view is not None:
        bytes_ = scratchpad(layout)
        assert (elements(view, bytes_) == elements(layout, bytes_).reshape(shape)).all()


@EXAMPLES
@given(data=st.data())
def test_changes_of_axes(data: st.DataObject) -> None:
    layout = data.draw(tiles())
    bytes_ = scratchpad(layout)
    plain = elements(layout, bytes_)
    axis = data.draw(st.integers(0, plain.ndim))
    column = layouts.expanded(layout, axis)
    assert (elements(column, bytes_) == np.expand_dims(plain, axis)).all()
    wide = (*column.extents[:axis], 4, *column.extents[axis + 1 :])
    assert (
        elements(layouts.broadcast(column, wide), bytes_) == np.broadcast_to(np.expand_dims(plain, axis), wide)
    ).all()
    if layout.extents[-1] == 2 and layout.lane_axis != plain.ndim - 1:
        second = layouts.half(layout, 1, 1)
        assert second is not None and (elements(second, bytes_) == plain[..., 1]).all()


def test_what_can_be_seen_without_a_move() -> None:
    row = layouts.dense((64,), 0, LANES)
    assert layouts.reshaped(row, (8, 8), 1, LANES) is not None
    assert layouts.reshaped(row, (32, 2), 0, LANES) is None  # neighbours are in other lanes
    assert layouts.reshaped(row, (8, 8), None, LANES) is None
    assert layouts.half(layouts.dense((8, 2), 1, LANES), 0, 4) is None
