"""For how many more trips of a loop a value goes on as it did: by the same step each trip.

Every rule takes what an instruction read and wrote in one trip and the step of each since the trip before, and says
for how many further trips the result's step stays the same, given that those of the operands do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.npu.isa.program import Function
from harness.semantics.types import INTEGER_BITS

FOREVER = math.inf


@dataclass(frozen=True)
class Line:
    """A value that changes by `step` each trip."""

    value: int
    step: int


def trips_linear(function: Function, operands: Sequence[Line], result: Line) -> float:
    """Trips for which the result goes on as a line; 0 where nothing says that it does."""
    if not any(one.step for one in operands):
        return FOREVER
    rule = _RULES.get(function.name)
    if rule is None:
        return 0
    expected, trips = rule(function, operands)
    return min(trips, trips_between(result, *_range(function.results[0]))) if expected == result.step else 0


def trips_between(line: Line, low: int, high: int) -> float:
    """Trips for which the value stays from `low` to `high`."""
    if not low <= line.value <= high:
        return 0
    if line.step == 0:
        return FOREVER
    return (high - line.value) // line.step if line.step > 0 else (line.value - low) // -line.step


def trips_below(lower: Line, upper: Line) -> float:
    """Trips for which `lower` does not exceed `upper`."""
    return trips_between(Line(upper.value - lower.value, upper.step - lower.step), 0, _HUGE)


_HUGE = 1 << 200
_Verdict = tuple[int, float]  # the step that the result must have, and for how many trips
_Rule = Callable[[Function, Sequence[Line]], _Verdict]
_NEVER: _Verdict = (0, 0)


def _range(element: str) -> tuple[int, int]:
    bits = INTEGER_BITS.get(element, 0)
    if bits == 1:
        return 0, 1
    return -(1 << bits - 1) if bits else 0, (1 << bits - 1) - 1 if bits else -1


def _add(_: Function, operands: Sequence[Line]) -> _Verdict:
    return operands[0].step + operands[1].step, FOREVER


def _subtract(_: Function, operands: Sequence[Line]) -> _Verdict:
    return operands[0].step - operands[1].step, FOREVER


def _multiply(_: Function, operands: Sequence[Line]) -> _Verdict:
    left, right = operands
    if left.step and right.step:
        return _NEVER
    return left.step * right.value + left.value * right.step, FOREVER


def _shift_left(_: Function, operands: Sequence[Line]) -> _Verdict:
    value, amount = operands
    return _NEVER if amount.step or amount.value < 0 else (value.step << amount.value, FOREVER)


def _same(_: Function, operands: Sequence[Line]) -> _Verdict:
    return operands[0].step, FOREVER


def _unsigned(function: Function, operands: Sequence[Line]) -> float:
    """Trips for which all operands read the same with and without a sign."""
    return min(trips_between(one, 0, _HUGE) for one in operands)


def _zero_extend(function: Function, operands: Sequence[Line]) -> _Verdict:
    return operands[0].step, _unsigned(function, operands)


def _compare(function: Function, operands: Sequence[Line]) -> _Verdict:
    """The outcome stays until the difference changes its sign."""
    left, right = operands
    predicate = str(dict(function.attributes)["predicate"])
    trips = _unsigned(function, operands) if predicate[0] == "u" else FOREVER
    difference = Line(left.value - right.value, left.step - right.step)
    if predicate in ("eq", "ne"):
        return 0, min(trips, _trips_as_equal(difference))
    kind = predicate[1:]
    edge = 0 if kind in ("lt", "ge") else 1  # the least difference on the other side
    low, high = (edge, _HUGE) if difference.value >= edge else (-_HUGE, edge - 1)
    return 0, min(trips, trips_between(difference, low, high))


def _trips_as_equal(difference: Line) -> float:
    if difference.step == 0:
        return FOREVER
    if difference.value == 0:
        return 0
    crossing, rest = divmod(-difference.value, difference.step)
    return crossing - 1 if rest == 0 and crossing > 0 else FOREVER


def _select(_: Function, operands: Sequence[Line]) -> _Verdict:
    condition, taken, other = operands
    return _NEVER if condition.step else ((taken if condition.value else other).step, FOREVER)


def _extreme(sign: int, unsigned: bool) -> _Rule:
    """The maximum (sign 1) or minimum (sign -1) is the same operand as long as it leads."""

    def rule(function: Function, operands: Sequence[Line]) -> _Verdict:
        ordered = sorted(operands, key=lambda one: (sign * one.value, sign * one.step))
        behind, ahead = (Line(sign * one.value, sign * one.step) for one in ordered)
        trips = _unsigned(function, operands) if unsigned else FOREVER
        return ordered[1].step, min(trips, trips_below(behind, ahead))

    return rule


def _quotient(floors: bool, remainder: bool) -> _Rule:
    """By a divisor that stays: a line where the step is a multiple of it, or until the next multiple."""

    def rule(function: Function, operands: Sequence[Line]) -> _Verdict:
        value, divisor = operands
        if divisor.step or divisor.value <= 0:
            return _NEVER
        return _divided(value, divisor.value, remainder, FOREVER if floors else _unsigned(function, [value]))

    return rule


def _divided(value: Line, divisor: int, remainder: bool, trips: float) -> _Verdict:
    if value.step % divisor == 0:
        return (0 if remainder else value.step // divisor), trips
    within = trips_between(Line(value.value % divisor, value.step), 0, divisor - 1)
    return (value.step if remainder else 0), min(trips, within)


def _shift_right(function: Function, operands: Sequence[Line]) -> _Verdict:
    value, amount = operands
    if amount.step or not 0 <= amount.value < 64:
        return _NEVER
    trips = _unsigned(function, [value]) if function.name == "arith.shrui" else FOREVER
    return _divided(value, 1 << amount.value, False, trips)


def _and(function: Function, operands: Sequence[Line]) -> _Verdict:
    """With a mask of low bits: a remainder."""
    value, mask = operands if operands[1].step == 0 else (operands[1], operands[0])
    if mask.step or mask.value <= 0 or mask.value & (mask.value + 1):
        return _NEVER
    return _divided(value, mask.value + 1, True, FOREVER)


_RULES: dict[str, _Rule] = {
    "arith.addi": _add,
    "arith.subi": _subtract,
    "arith.muli": _multiply,
    "arith.shli": _shift_left,
    "arith.shrsi": _shift_right,
    "arith.shrui": _shift_right,
    "arith.andi": _and,
    "arith.extsi": _same,
    "arith.trunci": _same,
    "arith.index_cast": _same,
    "arith.extui": _zero_extend,
    "arith.index_castui": _zero_extend,
    "arith.cmpi": _compare,
    "arith.select": _select,
    "arith.maxsi": _extreme(1, unsigned=False),
    "arith.minsi": _extreme(-1, unsigned=False),
    "arith.maxui": _extreme(1, unsigned=True),
    "arith.minui": _extreme(-1, unsigned=True),
    "arith.divsi": _quotient(floors=False, remainder=False),
    "arith.divui": _quotient(floors=False, remainder=False),
    "arith.floordivsi": _quotient(floors=True, remainder=False),
    "arith.remsi": _quotient(floors=False, remainder=True),
    "arith.remui": _quotient(floors=False, remainder=True),
}
