"""Loops in their steady state: how many trips can be skipped without changing a cycle.

Two trips in a row moved every clock by the same steps and took the same decisions. Then every time that was compared
moves by a known step each trip, and so the number of trips follows for which each comparison comes out the same, and
with it each clock's step. The same holds for the values that the scalar unit computes (see `linear`). Skipping is
exact: the state after the skip is the one that stepping through would have reached.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from harness.npu.isa.program import Function, Program, Register
from harness.npu.timing.linear import FOREVER, Line, trips_between, trips_linear
from harness.npu.timing.state import Branched, Clipped, Computed, Decision, Given, Key, Latest, Skipped, Snapshot, State
from harness.npu.timing.values import Unknown, Value

# A steady state may repeat every few trips only: buffers used in turn, rows of a grid dealt to several cores.
PERIODS = (1, 2, 3, 4)
_ROUNDS = 4  # of the search for limits that hold at both ends of a trip
_HUGE = 1 << 200


@dataclass
class Frame:
    """A loop that is being run: the pc of its header, of its last back edge, and the state after its last trips."""

    header: int
    last: int
    boundaries: deque[Snapshot] = field(default_factory=lambda: deque(maxlen=2 * PERIODS[-1] + 1))


@dataclass(frozen=True)
class Skip:
    """`trips` times the trips since `before` can be skipped, after which the registers `lost` are unknown.

    trips   None: the loop never ends
    """

    before: Snapshot
    trips: int | None
    lost: set[int]


class Steady:
    """Looks for steady states of one program's loops.

    keep   registers whose value must never get lost
    """

    def __init__(self, program: Program, keep: frozenset[int]) -> None:
        self._program = program
        self._keep = keep

    def skip(self, frame: Frame, state: State, most: Sequence[float]) -> Skip | None:
        """At the end of a trip: notes the state, and says how far to skip.

        most   by period, how many of them there are at most, the one that is stepped through after a skip included
        """
        boundaries = frame.boundaries
        boundaries.append(state.snapshot())
        for period, limit in zip(PERIODS, most, strict=True):
            if len(boundaries) > 2 * period and limit > 1:
                marks = (boundaries[-1 - 2 * period], boundaries[-1 - period], boundaries[-1])
                if skip := self._skip(marks, state.record, limit):
                    boundaries.clear()
                    return skip
        return None

    def _skip(self, marks: tuple[Snapshot, Snapshot, Snapshot], record: list[Decision], most: float) -> Skip | None:
        first, middle, last = marks
        if not _same_steps(first.clocks, middle.clocks, last.clocks):
            return None
        before = record[first.record : middle.record]
        after = record[middle.record : last.record]
        if len(before) != len(after):
            return None
        trips, limits = self._trips(before, after, _first_limits(marks))
        trips = min(trips, most, *(limit for one, limit in limits.items() if one < 0 or one in self._keep))
        if trips == FOREVER:
            return Skip(middle, None, set())
        if trips < 2:
            return None
        # The last trip is stepped through: an enclosing loop then sees the decisions at both ends of the skip, and
        # whatever holds at both holds in between.
        count = math.floor(trips) - 1
        return Skip(middle, count, {number for number, limit in limits.items() if limit < count})

    def _trips(
        self, before: list[Decision], after: list[Decision], limits: dict[int, float]
    ) -> tuple[float, dict[int, float]]:
        """Trips for which all decisions stay, and those for which each register goes on as a line.

        A register that a trip leaves with a limit enters the next one with it.
        """
        for _ in range(_ROUNDS):
            ends = dict(limits)
            trips = self._round(before, after, ends)
            entered = {number: min(limit, ends[number]) for number, limit in limits.items()}
            if trips < 2 or entered == limits:
                return trips, limits | {number: ends[number] for number in ends if number not in limits}
            limits = entered
        return 0, limits

    def _round(self, before: list[Decision], after: list[Decision], limits: dict[int, float]) -> float:
        trips = FOREVER
        for old, new in zip(before, after, strict=True):
            if type(old) is not type(new):
                return 0
            trips = min(trips, self._decision(old, new, limits))
            if trips < 2:
                return 0
        return trips

    def _decision(self, old: Decision, new: Decision, limits: dict[int, float]) -> float:
        if isinstance(old, Latest) and isinstance(new, Latest):
            return _trips_of_latest(old.times, new.times)
        if isinstance(old, Computed) and isinstance(new, Computed):
            return self._computed(old, new, limits)
        if isinstance(old, Branched) and isinstance(new, Branched):
            return self._branched(old, new, limits)
        if isinstance(old, Clipped) and isinstance(new, Clipped):
            return _trips_of_clip(old, new, limits)
        if isinstance(old, Given) and isinstance(new, Given):
            limits.update((number, FOREVER) for number in self._written(new.pc))
        return FOREVER if not isinstance(new, Given | Skipped) or old == new else 0

    def _computed(self, old: Computed, new: Computed, limits: dict[int, float]) -> float:
        """Nothing is decided; what the register holds may end to be a line."""
        if old.pc != new.pc:
            return 0
        instruction = self._program.instructions[new.pc]
        read = [operand.number for operand in instruction.operands if isinstance(operand, Register)]
        limit = min((limits.get(number, FOREVER) for number in read), default=FOREVER)
        rule = _trips_of_result(self._program.functions[instruction.immediates[0]], old, new)
        limits.update((number, min(limit, rule)) for number in self._written(new.pc))
        return FOREVER

    def _branched(self, old: Branched, new: Branched, limits: dict[int, float]) -> float:
        if (old.pc, old.taken) != (new.pc, new.taken):
            return 0
        if old.counted is not None and new.counted is not None:
            return trips_between(Line(new.counted, new.counted - old.counted), min(new.counted, 1), _HUGE)
        condition = self._program.instructions[new.pc].operands[0]
        return limits.get(condition.number, FOREVER) if isinstance(condition, Register) else FOREVER

    def _written(self, pc: int) -> list[int]:
        return [one.number for one in self._program.instructions[pc].results if isinstance(one, Register)]


def _same_steps(first: dict[Key, int], middle: dict[Key, int], last: dict[Key, int]) -> bool:
    """Whether every clock moved as far in the second trip as in the first."""
    if not len(first) == len(middle) == len(last):
        return False
    return all(
        key in first and key in middle and time - middle[key] == middle[key] - first[key] for key, time in last.items()
    )


def _first_limits(marks: tuple[Snapshot, Snapshot, Snapshot]) -> dict[int, float]:
    """Registers that did not move in a line up to here do not begin to."""
    first, middle, last = (mark.values for mark in marks)
    nothing = Unknown()
    return {
        number: FOREVER if _in_line(first.get(number, nothing), middle.get(number, nothing), value) else 0
        for number, value in last.items()
    }


def _in_line(first: Value, middle: Value, last: Value) -> bool:
    if isinstance(first, int) and isinstance(middle, int) and isinstance(last, int):
        return last - middle == middle - first
    return _is_same(first, middle) and _is_same(middle, last)


def _is_same(left: Value, right: Value) -> bool:
    return left == right or (left != left and right != right)  # a NaN is the same as a NaN


def _trips_of_latest(old: tuple[int, ...], new: tuple[int, ...]) -> float:
    """Trips for which the latest of the times is the one that it was in both trips."""
    if len(old) != len(new):
        return 0
    ahead, step = max(new), max(new) - max(old)
    trips, led = FOREVER, False
    for before, now in zip(old, new, strict=True):
        faster = now - before - step
        led = led or (now == ahead and faster == 0)
        if faster > 0:
            trips = min(trips, (ahead - now) // faster)
    return trips if led else 0


def _trips_of_clip(old: Clipped, new: Clipped, limits: dict[int, float]) -> float:
    """Trips for which what is left of the value between the two bounds stays."""
    if (old.register, old.low, old.high) != (new.register, new.low, new.high):
        return 0
    if isinstance(old.value, Unknown) or isinstance(new.value, Unknown):
        return FOREVER if old.value == new.value else 0
    limit = limits.get(new.register, FOREVER)
    if old.value == new.value:
        return limit
    line = Line(int(new.value), int(new.value) - int(old.value))
    for low, high in ((new.high, _HUGE), (-_HUGE, new.low)):
        if low <= line.value <= high:
            return min(limit, trips_between(line, low, high))
    return 0


def _trips_of_result(function: Function, old: Computed, new: Computed) -> float:
    values = (*old.operands, *new.operands, old.result, new.result)
    if all(isinstance(value, int) for value in values):
        pairs = zip(old.operands, new.operands, strict=True)
        lines = [_line(before, now) for before, now in pairs]
        return trips_linear(function, lines, _line(old.result, new.result))
    pairs = zip((*old.operands, old.result), (*new.operands, new.result), strict=True)
    return FOREVER if all(_is_same(before, now) for before, now in pairs) or isinstance(new.result, Unknown) else 0


def _line(before: Value, now: Value) -> Line:
    assert isinstance(before, int) and isinstance(now, int)
    return Line(now, now - before)
