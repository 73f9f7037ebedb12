"""The sides of a comparison. Each runs in a process of its own, checks its results once, then gives timed samples."""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from benchmarks.benchmark import Benchmark
from benchmarks.memory import peak_memory, reset_peak, resident_memory
from harness.cases import KernelCase
from harness.cases.allocate import Allocated, Snapshot, allocate
from harness.errors import HarnessError
from harness.goldens import compare, run_reference

if TYPE_CHECKING:
    from harness.npu.session import LaunchRecord, Session

Sample = dict[str, Any]  # what one sample found, as JSON: see the side that makes it
Sampler = Callable[[], Sample]

SAMPLE_SECONDS = 0.05
MOST_CALLS = 20  # in one sample
INTERPRETED_PROGRAMS = 4  # at least, in the interpreter's long run
INTERPRETED_SECONDS = 0.3  # what the further programs of the interpreter's long run take together, at least


class WrongResult(HarnessError):
    """A side that computes something else than the reference: its time means nothing."""


@dataclass(frozen=True)
class Setting:
    """What a process is asked to measure. `scale` multiplies the programs; `machine` is what the npu target lowers
    to, "" for the executor."""

    benchmark: Benchmark
    scale: int = 1
    threads: int = 1
    machine: str = ""


@dataclass(frozen=True)
class Side:
    """`open` prepares, checks and warms up; the sampler it gives is called once for each sample.

    `environment` must be set before the process starts; None means that the variable must not be set.
    """

    name: str
    open: Callable[[Setting], Any]
    environment: Mapping[str, str | None] = field(default_factory=dict)


# --- the npu target -----------------------------------------------------------------------------------------------


@contextmanager
def _npu(setting: Setting) -> Iterator[Sampler]:
    """A sample: `seconds` of `kernel[grid](...)`, the `executor`'s own part of them, one of each call, and on a machine
    the seconds that it took to `compile` (lower and encode) the kernels, once each."""
    case, allocated = _allocated(setting)
    with _simulated(setting) as session:
        check = Check(case, allocated)
        _launch(case, allocated)
        check()
        del check
        compiling = [_lowering_seconds(record, setting.machine) for record in session.launches if setting.machine]
        yield lambda: _npu_sample(case, allocated, session) | {"compile": compiling}


def _lowering_seconds(record: LaunchRecord, machine: str) -> float:
    """Of the second time, so that importing is not counted."""
    from harness.npu.compilation import compile_program
    from harness.npu.machine import load_machine
    from harness.npu.session import Session

    described = load_machine(machine)
    return timed(lambda: compile_program(record.text, record.kernel, described, Session()))[0]


def _npu_sample(case: KernelCase, allocated: Allocated, session: Session) -> Sample:
    session.launches.clear()
    seconds = timed(lambda: _launch(case, allocated))
    launched = [record.seconds for record in session.launches]
    # The first call warms up; a case may launch several kernels in each call.
    each = len(case.launches)
    calls = [sum(launched[first : first + each]) for first in range(each, len(launched), each)]
    return {"seconds": seconds, "executor": calls}


@contextmanager
def _simulated(setting: Setting) -> Iterator[Session]:
    """Launches go to the simulated NPU, on `setting.threads` threads."""
    from harness.executor.api import ExecutorOptions
    from harness.npu.activation import npu_driver_active
    from harness.npu.session import Session, use_session

    session = Session(options=ExecutorOptions(threads=setting.threads))
    with npu_driver_active(setting.machine), use_session(session):
        yield session


def _launch(case: KernelCase, allocated: Allocated) -> None:
    for launch in case.launches:
        launch.kernel[launch.grid](**allocated.arguments(launch), **launch.options)


# --- torch --------------------------------------------------------------------------------------------------------


@contextmanager
def _torch(setting: Setting) -> Iterator[Sampler]:
    """A sample: `seconds` of each call of the eager reference."""
    import torch

    torch.set_num_threads(setting.threads)
    case, allocated = _allocated(setting)
    check = Check(case, allocated)
    run = _prepared(setting.benchmark, allocated)
    with torch.inference_mode():
        _keep(run(), allocated)
        check()
        del check
        yield lambda: {"seconds": timed(run)}


def _prepared(benchmark: Benchmark, allocated: Allocated) -> Callable[[], Any]:
    names = inspect.signature(benchmark.eager).parameters
    return benchmark.eager(**{name: allocated.buffers[name].tensor for name in names})


def _keep(returned: Any, allocated: Allocated) -> None:
    """Results that torch has no `out=` for go into the buffers, where they are checked."""
    for name, tensor in returned.items() if isinstance(returned, Mapping) else ():
        allocated.buffers[name].tensor.copy_(tensor)


# --- Triton's interpreter -------------------------------------------------------------------------------------------


@contextmanager
def _interpreter(setting: Setting) -> Iterator[Sampler]:
    """A sample: seconds of the `first` program alone and of a longer run of `count` out of all `programs`.

    The whole grid takes minutes to hours, and a launch has a cost of its own (arguments are copied back):
    two runs tell the one from the other.
    """
    from harness.npu.activation import npu_driver_active

    case, allocated = _allocated(setting)
    check = Check(case, allocated)
    with npu_driver_active():  # decorators ask the active driver for its target
        _run_programs(case, allocated, 1)
        count = _enough_programs(case, allocated)
        check(partial=count < programs_of(case))
        del check
        yield lambda: {
            "first": _run_programs(case, allocated, 1),
            "several": _run_programs(case, allocated, count),
            "count": programs_of(case, count),
            "programs": programs_of(case),
        }


def _run_programs(case: KernelCase, allocated: Allocated, count: int) -> float:
    started = time.perf_counter()
    for launch in case.launches:
        launch.kernel[first_programs(launch.grid, count)](**allocated.arguments(launch), **launch.options)
    return time.perf_counter() - started


def _enough_programs(case: KernelCase, allocated: Allocated) -> int:
    """Programs that take INTERPRETED_SECONDS longer than one does, or all of them."""
    first, count, total = _run_programs(case, allocated, 1), INTERPRETED_PROGRAMS, programs_of(case)
    while count < total:
        if _run_programs(case, allocated, count) - first > INTERPRETED_SECONDS:
            return count
        count *= 2
    _run_programs(case, allocated, total)
    return total


def first_programs(grid: tuple[int, ...], count: int) -> tuple[int, ...]:
    """The largest grid of at most `count` programs that fills the axes of `grid` from X on."""
    chosen, left = [], max(1, count)
    for extent in grid:
        chosen.append(min(extent, left))
        left = max(1, left // max(1, chosen[-1]))
    return tuple(chosen)


def programs_of(case: KernelCase, count: int | None = None) -> int:
    """Programs of the case's grid, or of what `first_programs` leaves of it."""
    grid = case.grid if count is None else first_programs(case.grid, count)
    return math.prod(grid)


# --- peak memory --------------------------------------------------------------------------------------------------


@contextmanager
def _memory(setting: Setting) -> Iterator[Sampler]:
    """A sample: `peak` bytes of one npu run above what the process held before it had `buffers` (bytes).

    The run is a first one: compiling and planning count.
    """
    import torch  # noqa: F401  what any script imports is no part of the run
    import triton  # noqa: F401

    with _simulated(setting):

        def sample() -> Sample:
            before = resident_memory()
            case, allocated = _allocated(setting)
            reset_peak()  # filling the buffers takes more than they do
            _launch(case, allocated)
            buffers = sum(storage.length for storage in allocated.storages.values())
            return {"buffers": buffers, "peak": peak_memory() - before}

        yield sample


SIDES = {
    side.name: side
    for side in (
        Side("npu", _npu, {"TRITON_INTERPRET": None}),
        # Freed memory stays with the process, so that results torch allocates itself are on warm pages too.
        Side("torch", _torch, {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40)}),
        Side("interpreter", _interpreter, {"TRITON_INTERPRET": "1"}),
        Side("memory", _memory, {"TRITON_INTERPRET": None}),
    )
}


# --- common -------------------------------------------------------------------------------------------------------


def timed(run: Callable[[], Any]) -> list[float]:
    """Seconds of each of several calls after one that is not timed; they fill SAMPLE_SECONDS."""
    run()
    seconds: list[float] = []
    while not seconds or (sum(seconds) < SAMPLE_SECONDS and len(seconds) < MOST_CALLS):
        started = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - started)
    return seconds


def _allocated(setting: Setting) -> tuple[KernelCase, Allocated]:
    case = setting.benchmark.case(setting.scale)
    return case, allocate(case, setting.benchmark.name)


class Check:
    """Made before the first run, called after it; holds the goldens only that long."""

    def __init__(self, case: KernelCase, allocated: Allocated) -> None:
        self._case = case
        self._allocated = allocated
        self._goldens = run_reference(case, allocated)
        self._before: Snapshot = allocated.snapshot()

    def __call__(self, partial: bool = False) -> None:
        """Raises WrongResult where a buffer differs from its golden by more than docs/goldens.md allows.

        After a `partial` run only what was written is compared, in buffers that nobody had written before.
        """
        if partial:
            self._forgive_unwritten()
        found = compare(self._case, self._allocated, self._goldens, {}, self._before)
        for finding in found.findings:
            raise WrongResult(f"{finding.kind}: {finding.message}")
        for buffer in found.buffers:
            if buffer.mismatch is not None:
                wrong = buffer.mismatch
                at = ", ".join(map(str, wrong.first_index))
                raise WrongResult(
                    f"{buffer.name} is wrong in {wrong.wrong} of {wrong.total} elements ({wrong.error_shape}):"
                    f" at [{at}] {wrong.got}, torch says {wrong.want}"
                )

    def _forgive_unwritten(self) -> None:
        """Gives elements that still hold poison their golden; a buffer that others add to cannot be judged yet."""
        import numpy as np
        import torch

        for name, golden in list(self._goldens.items()):
            one = self._allocated.buffers[name]
            if golden is None or not one.starts_as_poison:
                self._goldens[name] = None
                continue
            size = one.buffer.dtype.itemsize
            poison = np.frombuffer(one.buffer.dtype.poison.to_bytes(size, "little"), np.uint8)
            now = one.tensor.contiguous().view(torch.uint8).numpy().reshape(*golden.shape, size)
            unwritten = torch.from_numpy((now == poison).all(-1))
            if bool(unwritten.all()):
                raise WrongResult(f"{name} is still poison after the run")
            wanted = torch.from_numpy(golden.reshape(-1).view(np.uint8)).view(one.tensor.dtype).reshape(golden.shape)
            one.tensor[unwritten] = wanted[unwritten]
