"""The state of a core while its time is told: clocks, register values, totals, and a record of every decision.

The clocks only ever move by "the latest of these, and so many cycles more". A trip of a loop that takes the same
side in every such decision as the trip before moves each clock by the same step, so the record is what `steady`
needs to skip trips without changing a single cycle.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from harness.npu.timing.values import Unknown, Value

Key = tuple[str | int, ...]


class Latest(NamedTuple):
    """A clock was set to the latest of these."""

    times: tuple[int, ...]


class Computed(NamedTuple):
    """The instruction at `pc` computed its result register."""

    pc: int
    operands: tuple[Value, ...]
    result: Value


class Given(NamedTuple):
    """The instruction at `pc` wrote its result register from elsewhere."""

    pc: int


class Branched(NamedTuple):
    """The branch at `pc` was taken or not, by its condition or, where a profile says so, by a count."""

    pc: int
    taken: bool
    counted: int | None


class Clipped(NamedTuple):
    """A cost depended on the value of a register from `low` to `high`."""

    register: int
    value: Value
    low: int
    high: int


class Skipped(NamedTuple):
    """So many trips of an inner loop were skipped."""

    trips: int


Decision = Latest | Computed | Given | Branched | Clipped | Skipped


@dataclass
class Totals:
    """Sums over a core's run: whatever grows with every trip."""

    values: dict[Key, float] = field(default_factory=dict)

    def add(self, key: Key, amount: float) -> None:
        self.values[key] = self.values.get(key, 0) + amount


class Snapshot(NamedTuple):
    """The state between two trips, and where the record stood."""

    clocks: dict[Key, int]
    values: dict[int, Value]
    totals: dict[Key, float]
    record: int


@dataclass
class State:
    """clocks   cycle at which something is free, written, read or ended
    queues   per engine the starts of the instructions that it was given last, oldest first
    values   of registers; negative numbers are the program's place in the grid and the counts of a profile
    """

    clocks: dict[Key, int] = field(default_factory=dict)
    queues: dict[Key, list[int]] = field(default_factory=dict)
    values: dict[int, Value] = field(default_factory=dict)
    totals: Totals = field(default_factory=Totals)
    record: list[Decision] = field(default_factory=list)

    def latest(self, keys: Iterable[Key], *times: int) -> int:
        """The latest of some clocks and times."""
        clocks = self.clocks
        candidates = (*times, *(clocks[key] for key in keys if key in clocks))
        self.record.append(Latest(candidates))
        return max(candidates)

    def rotate(self, queue: Key, time: int) -> None:
        """The oldest entry makes place for a new one."""
        entries = self.queues[queue]
        entries.pop(0)
        entries.append(time)

    def snapshot(self) -> Snapshot:
        queued = {(*key, place): time for key, times in self.queues.items() for place, time in enumerate(times)}
        return Snapshot(self.clocks | queued, dict(self.values), dict(self.totals.values), len(self.record))

    def advance(self, before: Snapshot, trips: int, lost: set[int]) -> None:
        """Goes on for `trips` trips as since `before`; the registers `lost` are no longer known."""
        now = self.snapshot()
        moved = {key: time + trips * (time - before.clocks[key]) for key, time in now.clocks.items()}
        self.clocks = {key: moved[key] for key in self.clocks}
        for key, times in self.queues.items():
            self.queues[key] = [moved[(*key, place)] for place in range(len(times))]
        for key, total in now.totals.items():
            self.totals.values[key] = total + trips * (total - before.totals.get(key, 0))
        for number, value in now.values.items():
            self.values[number] = Unknown(number) if number in lost else _moved(value, before.values.get(number), trips)
        self.record.append(Skipped(trips))


def _moved(value: Value, before: Value | None, trips: int) -> Value:
    if isinstance(value, int) and isinstance(before, int):
        return value + trips * (value - before)
    return value
