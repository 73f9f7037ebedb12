"""What was measured, and how it stands against what the project wants to reach."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

ALLOWED_MEMORY = 300_000_000  # bytes beyond twice the buffers
SLOW = 10.0  # times torch: such a kernel owes a sentence
HEADLINE = "softmax"  # the kernel that has a target of its own


@dataclass(frozen=True)
class InterpreterTime:
    """Seconds of the `first` program and of `several`, `count` of all `programs` of the grid, in a launch each."""

    first: float
    several: float
    count: int
    programs: int

    @property
    def estimated(self) -> bool:
        return self.count < self.programs

    @property
    def seconds(self) -> float:
        """Of the whole grid: measured, or the launch's own cost and that of a further program for each."""
        if not self.estimated:
            return self.several
        further = max(0.0, self.several - self.first) / (self.count - 1)
        return self.first + further * (self.programs - 1)


@dataclass(frozen=True)
class Row:
    """One kernel. Times are the least of their samples, in seconds; memory is in bytes.

    executor_seconds  the part of npu_seconds that the executor took, without Triton's own launch path
    peak_bytes        what the npu run held at most, the buffers included
    doubled_seconds   npu_seconds of the problem with twice the programs
    machine_seconds, machine_peak_bytes   npu_seconds and peak_bytes with the kernel lowered to a machine
    compile_seconds   lowering to the machine and encoding
    error             why there is no measurement
    """

    kernel: str
    size: str
    grid: tuple[int, ...] = ()
    npu_seconds: float | None = None
    executor_seconds: float | None = None
    torch_seconds: float | None = None
    interpreter: InterpreterTime | None = None
    buffer_bytes: int | None = None
    peak_bytes: int | None = None
    doubled_seconds: float | None = None
    machine_seconds: float | None = None
    machine_peak_bytes: int | None = None
    compile_seconds: float | None = None
    why: str = ""
    error: str = ""

    @property
    def faster_than_interpreter(self) -> float | None:
        return _ratio(self.interpreter.seconds if self.interpreter else None, self.npu_seconds)

    @property
    def slower_than_torch(self) -> float | None:
        return _ratio(self.npu_seconds, self.torch_seconds)

    @property
    def slower_than_executor(self) -> float | None:
        """On the machine."""
        return _ratio(self.machine_seconds, self.npu_seconds)

    @property
    def doubling(self) -> float | None:
        return _ratio(self.doubled_seconds, self.npu_seconds)

    @property
    def memory_over(self) -> int | None:
        """Bytes above what is allowed; below zero where there is room."""
        if self.peak_bytes is None or self.buffer_bytes is None:
            return None
        return self.peak_bytes - 2 * self.buffer_bytes - ALLOWED_MEMORY


@dataclass(frozen=True)
class Target:
    """Something to reach, and where this run stands; `met` is None where it was not measured."""

    what: str
    goal: str
    measured: str
    met: bool | None


def geometric_mean(values: Iterable[float | None]) -> float | None:
    """Of the values that are there; None where none is."""
    known = [value for value in values if value is not None]
    return math.exp(math.fsum(map(math.log, known)) / len(known)) if known else None


def targets(rows: Sequence[Row]) -> list[Target]:
    """Every target, in the order the project states them."""
    interpreter = geometric_mean(row.faster_than_interpreter for row in rows)
    torch = geometric_mean(row.slower_than_torch for row in rows)
    headline = next((row.slower_than_torch for row in rows if row.kernel == HEADLINE), None)
    return [
        _target("geometric mean, times faster than the interpreter", "at least 400", interpreter, lambda n: n >= 400),
        _target("geometric mean, times slower than torch", "at most 4", torch, lambda n: n <= 4),
        _target(f"{HEADLINE}, times slower than torch", "at most 4", headline, lambda n: n <= 4),
        _slow_kernels(rows),
        *_machine_targets(rows),
        _worst("twice the programs, times the time", "at most 2.1", rows, lambda row: row.doubling, 2.1, "{:.2f}"),
        _worst(
            "peak memory above twice the buffers",
            "at most 300 MB",
            rows,
            lambda row: None if row.memory_over is None else (row.memory_over + ALLOWED_MEMORY) / 1e6,
            ALLOWED_MEMORY / 1e6,
            "{:.0f} MB",
        ),
    ]


def _machine_targets(rows: Sequence[Row]) -> list[Target]:
    """Where a machine was asked for."""
    known = [row.compile_seconds for row in rows if row.compile_seconds is not None]
    if not known:
        return []
    slower = geometric_mean(row.slower_than_executor for row in rows)
    peak = max(row.machine_peak_bytes or 0 for row in rows) / 1e6
    return [
        _target("geometric mean, machine slower than the executor", "at most 3", slower, lambda n: n <= 3),
        _target("median seconds to lower and encode", "below 0.3", statistics.median(known), lambda n: n < 0.3),
        Target("peak memory on the machine", "stated", f"{peak:.0f} MB", None),
    ]


def slow_rows(rows: Sequence[Row]) -> list[Row]:
    """Those that owe a sentence on why they are slow."""
    return [row for row in rows if (row.slower_than_torch or 0) > SLOW]


def _ratio(numerator: float | None, denominator: float | None) -> float | None:
    return None if numerator is None or not denominator else numerator / denominator


def _target(what: str, goal: str, value: float | None, reached: Callable[[float], bool]) -> Target:
    if value is None:
        return Target(what, goal, "not measured", None)
    return Target(what, goal, f"{value:.0f}" if value >= 100 else f"{value:.2f}", reached(value))


def _slow_kernels(rows: Sequence[Row]) -> Target:
    what, goal = f"kernels more than {SLOW:.0f} times slower than torch", "each with a reason"
    if all(row.slower_than_torch is None for row in rows):
        return Target(what, goal, "not measured", None)
    slow = slow_rows(rows)
    silent = [row.kernel for row in slow if not row.why]
    measured = f"{len(slow)}, without a reason: {', '.join(silent)}" if silent else str(len(slow))
    return Target(what, goal, measured, not silent)


def _worst(
    what: str, goal: str, rows: Sequence[Row], value_of: Callable[[Row], float | None], limit: float, form: str
) -> Target:
    measured = [(value, row.kernel) for row in rows for value in [value_of(row)] if value is not None]
    if not measured:
        return Target(what, goal, "not measured", None)
    value, kernel = max(measured)
    return Target(what, goal, f"{form.format(value)} ({kernel})", value <= limit)
