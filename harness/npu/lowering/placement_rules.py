"""What each op demands of the placement of its tiles: the ways it can be carried out, each with its cost.

Ops that are not in the table work element by element: all their tiles agree.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from harness.executor.types import get
from harness.ir import operand
from harness.npu.lowering.layouts import Placement, dense, depth, reshaped
from harness.npu.lowering.placed import is_tile, shape_of, width_of
from harness.npu.lowering.placement_costs import Costs


@dataclass(frozen=True)
class Way:
    """One way to carry out an op: the placements of its tile operands and tile results, in order."""

    operands: tuple[Placement, ...]
    results: tuple[Placement, ...]
    cost: float = 0.0


Rule = Callable[[Operation, Costs], list[Way]]


def candidates(extents: tuple[int, ...]) -> tuple[Placement, ...]:
    """The placements worth a thought: axes of more than a few elements (of fewer where no axis has more); uniform."""
    useful = min(max(extents, default=1), _FEW)
    return (*(axis for axis in range(len(extents)) if 1 < extents[axis] >= useful), None)


_FEW = 4  # lanes: an axis that is shorter is not worth spreading


def all_placements(extents: tuple[int, ...]) -> tuple[Placement, ...]:
    return (*range(len(extents)), None)


def tiles_of(values: Iterable[SSAValue]) -> list[SSAValue]:
    return [value for value in values if is_tile(value)]


def _fold(operation: Operation, costs: Costs) -> list[Way]:
    """Along an axis inside a lane the lane axis stays; across lanes the result is the same in all of them."""
    axis, count = get(operation, "axis"), len(operation.operands)
    shape, widths = shape_of(operation.operands[0]), [width_of(value.type) for value in operation.operands]
    ways = []
    for placement in candidates(shape):
        left = None if placement in (None, axis) else placement - (placement > axis)
        cost = sum(costs.fold(shape, width, placement, axis) for width in widths)
        results = (left,) * count if is_tile(operation.results[0]) else ()
        ways.append(Way((placement,) * count, results, cost))
    return ways


def _scan(operation: Operation, costs: Costs) -> list[Way]:
    axis, count = get(operation, "axis"), len(operation.operands)
    shape, widths = shape_of(operation.operands[0]), [width_of(value.type) for value in operation.operands]
    return [
        Way(
            (placement,) * count,
            (placement,) * count,
            sum(costs.fold(shape, width, placement, axis) for width in widths) * shape[axis].bit_length(),
        )
        for placement in candidates(shape)
    ]


def _dot(operation: Operation, costs: Costs) -> list[Way]:
    """The matrix unit spreads the last axis of all four over the lanes."""
    last = len(shape_of(operation.results[0])) - 1
    return [Way((last,) * 3, (last,))]


def _dot_scaled(operation: Operation, costs: Costs) -> list[Way]:
    """As `_dot`; the scales of b go with its columns, which are their rows."""
    last = len(shape_of(operation.results[0])) - 1
    demanded: dict[str, Placement] = {"a": last, "b": last, "c": last, "a_scale": last, "b_scale": last - 1}
    found = {name: operand(operation, name) for name in demanded}
    by_value = {value: demanded[name] for name, value in found.items() if value is not None}
    return [Way(tuple(by_value[value] for value in operation.operands), (last,))]


def _gather(operation: Operation, costs: Costs) -> list[Way]:
    """Elements move along one axis: inside a lane, or through the exchange."""
    axis = get(operation, "axis")
    source, result = shape_of(operation.operands[0]), shape_of(operation.results[0])
    width = width_of(operation.results[0].type)
    return [
        Way((placement, placement), (placement,), costs.fold(result, width, placement, axis))
        for placement in candidates(result)
        if placement is None or source[placement] > 1
    ]


def _histogram(operation: Operation, costs: Costs) -> list[Way]:
    count = len(operation.operands)
    return [Way((placement,) * count, (0,)) for placement in candidates(shape_of(operation.operands[0]))]


def _join(operation: Operation, costs: Costs) -> list[Way]:
    shape = shape_of(operation.operands[0])
    width = width_of(operation.results[0].type)
    return [
        Way((placement, placement), (placement,), 2 * costs.vector(shape, width, placement))
        for placement in candidates(shape)
    ]


def _split(operation: Operation, costs: Costs) -> list[Way]:
    """Views, where the axis that is split lies inside a lane."""
    return [Way((placement,), (placement, placement)) for placement in all_placements(shape_of(operation.results[0]))]


def _reshape(operation: Operation, costs: Costs) -> list[Way]:
    """A view where the elements keep their lanes, else a relayout."""
    source, result = shape_of(operation.operands[0]), shape_of(operation.results[0])
    width = width_of(operation.results[0].type)
    ways = []
    for before in candidates(source):
        layout = dense(source, before, costs.lanes)
        for after in candidates(result):
            stays = reshaped(layout, result, after, costs.lanes) is not None
            price = 0.0 if stays else _moved(costs, (source, before), (result, after), width)
            ways.append(Way((before,), (after,), price))
    return ways


_Placed = tuple[tuple[int, ...], Placement]


def _moved(costs: Costs, source: _Placed, result: _Placed, width: int) -> float:
    """A relayout that changes the shape too."""
    elements = math.prod(source[0])
    uniform = source[1] is None or result[1] is None
    rows = elements if uniform else max(depth(*placed, costs.lanes) for placed in (source, result))
    return costs.exchange(rows, elements * width, width)


RULES: dict[str, Rule] = {
    "tt.reduce": _fold,
    "tt.scan": _scan,
    "tt.dot": _dot,
    "tt.dot_scaled": _dot_scaled,
    "tt.gather": _gather,
    "tt.histogram": _histogram,
    "tt.join": _join,
    "tt.split": _split,
    "tt.reshape": _reshape,
}
