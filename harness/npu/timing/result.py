"""Timing a launch: its cycles, how busy every engine was, and how close that is to what the machine could do."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from harness.executor.api import DescriptorArgument, PointerArgument
from harness.npu.isa.opcodes import Engine
from harness.npu.isa.program import Program
from harness.npu.machine import Machine
from harness.npu.timing.core import Core, LostValue
from harness.npu.timing.values import UNKNOWN, Value
from harness.npu.timing.work import CoreRun, Event, Profile, Work


@dataclass(frozen=True)
class CoreTrack:
    """What one core did, for a trace."""

    core: int
    cycles: int
    events: tuple[Event, ...]


@dataclass(frozen=True)
class Timing:
    """What timing a launch gave.

    cycles       of the slowest core, and no fewer than the DRAM needs for the bytes of all
    seconds      at the machine's clock
    busy         share of the cycles for which each engine was busy, over the cores that had a program
    bytes_in, bytes_out   moved from and to DRAM, whole bursts
    operations   multiplications, additions and elementary functions of single elements
    roofline     by what it is that limits ("dram" or an engine) the cycles that the work would take if that were
                 used without a gap, by all cores
    stepped      instructions that were looked at one by one
    tracks       where events were asked for
    """

    program: Program
    machine: Machine
    grid: tuple[int, int, int]
    cycles: int
    busy: dict[Engine, float]
    bytes_in: int
    bytes_out: int
    operations: int
    roofline: dict[str, float]
    stepped: int
    tracks: tuple[CoreTrack, ...] = ()

    @property
    def seconds(self) -> float:
        return self.cycles / (self.machine.clock_mhz * 1e6)

    @property
    def bound(self) -> str:
        """What limits the launch on the roofline."""
        return max(self.roofline, key=self.roofline.__getitem__)

    @property
    def achieved(self) -> float:
        """The share of the roofline, 0 to 1; 0 of a launch of no programs."""
        return self.roofline[self.bound] / max(1, self.cycles)


def time_program(
    program: Program,
    machine: Machine,
    grid: Sequence[int],
    arguments: Sequence[object] = (),
    profile: Profile | None = None,
    events: bool = False,
    skipping: bool = True,
) -> Timing:
    """Times a launch. The work grows with the program's text and the machine's cores, not with grid or trip counts.

    grid        X first, 1 to 3 extents
    arguments   the kernel's, by position: numbers where the program's control flow or transfers depend on them;
                anything else (tensors, pointers) counts as unknown, and buffers as apart that are not given as
                PointerArgument or DescriptorArgument
    profile     counts per branch, needed where a branch depends on values from memory
    events      keep what a trace shows
    skipping    False steps through every trip of every loop, to the same cycles

    Raises NeedsProfile (the branch's line), Deadlock for a loop that never ends, Refusal for a product that the
    array does not compute.
    """
    x, y, z = (*grid, 1, 1, 1)[:3]
    values = tuple(_argument(value) for value in arguments)
    cores = min(machine.cores, x * y * z)
    shared = _shared(arguments)
    works = [Work((x, y, z), core, machine.cores, values, profile, shared) for core in range(cores)]
    runs = [_run(program, machine, work, events, skipping) for work in works]
    return _timing(program, machine, (x, y, z), runs)


def _argument(value: object) -> Value:
    if isinstance(value, bool):
        return int(value)
    return value if isinstance(value, int | float) else UNKNOWN


def _shared(arguments: Sequence[object]) -> frozenset[tuple[int, int]]:
    """Which arguments, the lower number first, point into buffers with bytes in common."""
    bases = {
        number: value.base if isinstance(value, DescriptorArgument) else value
        for number, value in enumerate(arguments)
        if isinstance(value, PointerArgument | DescriptorArgument)
    }
    pairs = itertools.combinations(bases, 2)
    return frozenset((a, b) for a, b in pairs if not bases[a].allocation.is_apart(bases[b].allocation))


def _run(program: Program, machine: Machine, work: Work, events: bool, skipping: bool) -> CoreRun:
    """A register that was skipped and turns out to be needed is kept in the next attempt."""
    keep: frozenset[int] = frozenset()
    while True:
        try:
            return Core(program, machine, work, keep, events, skipping).run()
        except LostValue as lost:
            keep |= {lost.register}


def _timing(program: Program, machine: Machine, grid: tuple[int, int, int], runs: list[CoreRun]) -> Timing:
    def total(*key: str) -> float:
        return sum(run.totals.get(key, 0) for run in runs)

    moved = total("bytes", "in") + total("bytes", "out")
    dram = moved / machine.dram_bytes_per_cycle
    cycles = max([0, *(run.cycles for run in runs), -int(-dram // 1)])
    units = {engine: machine.dma.engines if engine in (Engine.DMA_IN, Engine.DMA_OUT) else 1 for engine in Engine}
    spent = max(1, len(runs) * cycles)
    return Timing(
        program,
        machine,
        grid,
        cycles,
        busy={engine: total("busy", engine.value) / (spent * units[engine]) for engine in Engine},
        bytes_in=int(total("bytes", "in")),
        bytes_out=int(total("bytes", "out")),
        operations=int(total("operations")),
        roofline={"dram": dram}
        | {
            one.value: total("ideal", one.value) / machine.cores
            for one in (Engine.MATRIX, Engine.VECTOR, Engine.SPECIAL)
        },
        stepped=sum(run.stepped for run in runs),
        tracks=tuple(CoreTrack(core, run.cycles, tuple(run.events)) for core, run in enumerate(runs) if run.events),
    )


_COLUMNS = (
    "kernel",
    "programs",
    "cycles",
    "time",
    *(engine.value for engine in Engine),
    "in",
    "out",
    "bound",
    "roofline",
)


def timing_table(timings: Sequence[Timing]) -> list[str]:
    """One line a launch under a line of headings, columns aligned."""
    rows = [_COLUMNS, *map(_row, timings)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS))]
    return ["  ".join(_aligned(row, widths)).rstrip() for row in rows]


def _aligned(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    """The name to the left, numbers to the right."""
    first, *others = zip(row, widths, strict=True)
    return [first[0].ljust(first[1]), *(text.rjust(width) for text, width in others)]


def _row(timing: Timing) -> tuple[str, ...]:
    x, y, z = timing.grid
    shares = tuple(f"{timing.busy[engine]:.0%}" for engine in Engine)
    return (
        timing.program.name,
        str(x * y * z),
        str(timing.cycles),
        _readable(timing.seconds, (("s", 1), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))),
        *shares,
        _readable(timing.bytes_in, (("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1))),
        _readable(timing.bytes_out, (("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1))),
        timing.bound,
        f"{timing.achieved:.0%}",
    )


def _readable(amount: float, units: Sequence[tuple[str, float]]) -> str:
    """With three digits, in the largest unit that leaves a whole part."""
    name, size = next((unit for unit in units if amount >= unit[1]), units[-1])
    return f"{amount / size:.3g} {name}"
