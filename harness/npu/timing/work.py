"""What a core is given to run, and what it makes of it."""

from __future__ import annotations

from dataclasses import dataclass

from harness.npu.isa.opcodes import Engine
from harness.npu.timing.state import Key
from harness.npu.timing.values import Value


@dataclass(frozen=True)
class Profile:
    """How often each branch was taken and not, by its pc, in a run of the whole grid that computed values."""

    branches: dict[int, tuple[int, int]]


@dataclass(frozen=True)
class Event:
    """An engine was busy from `start` for `cycles`: with the instruction at `pc`, or with `trips` that were not
    stepped through one by one."""

    engine: Engine
    unit: int
    start: int
    cycles: int
    pc: int
    trips: int = 0


@dataclass(frozen=True)
class Work:
    """What a core is to do: every `cores`-th program of the grid, beginning with program `core`.

    shared   the numbers of arguments, the lower one first, whose buffers have bytes in common
    """

    grid: tuple[int, int, int]
    core: int
    cores: int
    arguments: tuple[Value, ...]
    profile: Profile | None
    shared: frozenset[tuple[int, int]] = frozenset()


@dataclass(frozen=True)
class CoreRun:
    """cycles     until everything has ended
    totals     ("busy", engine), ("ideal", engine), ("bytes", "in" or "out"), ("operations",)
    events     where they were asked for
    stepped    instructions that were looked at one by one
    """

    cycles: int
    totals: dict[Key, float]
    events: list[Event]
    stepped: int
