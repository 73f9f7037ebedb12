"""`npu` and `ttir`: the targets whose launches our executor runs, through Triton's real JIT."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING

from harness.cases.allocate import Allocated
from harness.cases.evidence import Finding, LaunchEvidence, TimingEvidence
from harness.errors import UsageError
from harness.executor.memory import Allocation, Memory
from harness.goldens.compare import Program, Writers
from harness.npu.activation import npu_driver_active
from harness.npu.session import LaunchRecord, Session, Untimed, use_session
from harness.targets.target import BoundLaunch, LaunchFunction, LaunchOutcome, RunContext

if TYPE_CHECKING:
    from harness.npu.timing import Timing


@dataclass(frozen=True)
class ExecutedTarget:
    """`kernel[grid](...)` with the simulated NPU as Triton's device.

    Decorators, specialisation and caching are Triton's own. `arch` picks the passes that run between the
    front end and the executor (`harness.npu.backend.compiler.PIPELINES`). `transform` changes each program
    on its way to the executor: see `harness.npu.session`.
    """

    name: str
    arch: str
    device: str = "cpu"
    stages: tuple[str, ...] = ("ttir", "encode", "simulate")
    simulated: bool = True
    environment: Mapping[str, str] = field(default_factory=dict)
    transform: Callable[[str], str] | None = None
    lowers: bool = False  # to the machine that the run asks for

    def check(self) -> None:
        from triton import knobs
        from triton.backends import backends

        if knobs.runtime.interpret:
            raise UsageError(f"the {self.name} target cannot run with TRITON_INTERPRET=1: Triton compiles nothing then")
        if "npu" not in backends:
            raise UsageError(
                "Triton does not see the backend 'npu'", hint="install this package (`pip install -e .`) beside triton"
            )

    def option_names(self) -> Collection[str]:
        return npu_option_names()

    @contextmanager
    def open(self, context: RunContext) -> Iterator[LaunchFunction]:
        session = Session(
            memory=memory_of(context.allocated),
            options=context.executor,
            enter_stage=context.enter_stage,
            keep_ir=context.keep_ir,
            transform=self.transform,
            emit=_keep_quiet,
            benchmark_runs=1,
            check_lowering=context.options.check_lowering,
            timing=context.options.timing or bool(context.options.trace),
            events=bool(context.options.trace),
        )

        def launch(bound: BoundLaunch) -> LaunchOutcome:
            first = len(session.launches)
            context.enter_stage("frontend")
            started = time.perf_counter()
            bound.kernel[bound.grid](**bound.args, **bound.options)
            return outcome_of(session.launches[first:], time.perf_counter() - started)

        machine = context.options.machine if self.lowers else ""
        arch = machine or self.arch
        with npu_driver_active(arch), use_session(session):
            yield launch
        if context.options.trace:
            _write_trace(context.options.trace, session.launches)


def npu_option_names() -> frozenset[str]:
    """The launch options that a kernel may name wherever the simulated NPU stands in for a GPU."""
    from harness.npu.backend.compiler import NpuOptions

    return frozenset(one.name for one in fields(NpuOptions))


NPU = ExecutedTarget("npu", "simulated", lowers=True)
TTIR = ExecutedTarget("ttir", "frontend")


def memory_of(allocated: Allocated) -> Memory:
    """The storages of a case as allocations, without their guards and sharing their bytes."""
    memory = Memory()
    for storage in allocated.storages.values():
        memory.add(
            Allocation(
                storage.name,
                storage.bytes.numpy(),
                storage.address,
                storage.root.dtype.itemsize,
                storage.inside,
                storage.initialised(),
            )
        )
    return memory


def outcome_of(records: list[LaunchRecord], seconds: float) -> LaunchOutcome:
    """What the launches of one call found, `seconds` being the whole call: compiling is what simulating is not."""
    compiling = max(0.0, seconds - sum(record.seconds for record in records))
    outcome = LaunchOutcome(loads=set(), stores=set())
    for index, record in enumerate(records):
        outcome.launches.append(_evidence(record, compiling if index == 0 else 0.0))
        outcome.loads = (outcome.loads or set()) | record.result.loads
        outcome.stores = (outcome.stores or set()) | record.result.stores
        outcome.findings.extend(_new(record.result.findings, outcome.findings))
        outcome.output.extend(record.result.output)
        outcome.texts.append(record.text)
        if record.result.writers:
            outcome.writers.append(writers_of(record))
    return outcome


def writers_of(record: LaunchRecord) -> Writers:
    """Answers, for a launch whose stores were traced, which programs (x, y, z) wrote the bytes last."""
    width, height, _ = record.grid

    def writers(storage: str, offsets: Sequence[int]) -> list[Program]:
        numbers = record.result.writers.get(storage)
        if numbers is None:
            return []
        wrote = dict.fromkeys(int(numbers[offset]) for offset in offsets)
        return [(n % width, n // width % height, n // (width * height)) for n in wrote if n >= 0]

    return writers


def _evidence(record: LaunchRecord, compile_seconds: float) -> LaunchEvidence:
    return LaunchEvidence(
        record.kernel,
        record.grid,
        record.result.programs,
        simulated=True,
        compile_seconds=compile_seconds,
        simulate_seconds=record.seconds,
        timing=record.timing and timing_evidence(record.timing),
    )


def timing_evidence(timing: Timing | Untimed) -> TimingEvidence:
    """The plain data of a timing, or why there is none."""
    if isinstance(timing, Untimed):
        return TimingEvidence(timing.machine, reason=timing.reason)
    return TimingEvidence(
        timing.machine.name,
        timing.cycles,
        timing.seconds,
        {engine.value: share for engine, share in timing.busy.items()},
        timing.bytes_in,
        timing.bytes_out,
        timing.operations,
        timing.bound,
        timing.achieved,
    )


def _write_trace(file: str, records: Sequence[LaunchRecord]) -> None:
    from harness.npu.timing import Timing, write_trace

    write_trace(Path(file), [record.timing for record in records if isinstance(record.timing, Timing)])


def _new(found: list[Finding], known: list[Finding]) -> list[Finding]:
    """An autotuned kernel finds the same thing in every trial; once is enough."""
    return [finding for finding in found if finding not in known]


def _keep_quiet(lines: list[str]) -> None:
    """The lines are in the launch's result."""
