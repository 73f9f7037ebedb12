"""Executes a case's kernels as they are before every pass of a GPU backend, and compares each with the goldens."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.bisect.arguments import fitted
from harness.bisect.capture import Grid, gpu_target
from harness.bisect.older import recording
from harness.bisect.program import program_key
from harness.bisect.results import Bisection, LaunchBisection, StageResult, Timing, Verdict
from harness.bisect.stages import Capture, Stage
from harness.cases.allocate import Allocated, Snapshot, allocate
from harness.cases.evidence import BufferEvidence, Finding
from harness.cases.kernel_case import CaseInstance, KernelCase
from harness.errors import ParseError, Trap, UnsupportedOp
from harness.executor import ExecutorOptions, Plan, compile_module, launch
from harness.goldens import Comparison, Operation, compare, run_reference
from harness.ir import parse_module
from harness.npu.arguments import bind_arguments
from harness.reports.artifacts import BufferArtifact, standalone
from harness.targets.artifacts import buffers_of
from harness.targets.npu import memory_of
from harness.targets.operation import operation_of
from harness.targets.run_case import as_triton, seed_text
from harness.targets.target import EnterStage

if TYPE_CHECKING:
    pass

# A module that names one of these has copies, stores or products that may take effect late.
_ASYNCHRONOUS = ("async_copy", "async_tma", "buffer_load_to_local", "warp_group_dot", "tc_gen5_mma")


def bisect_case(
    instance: CaseInstance,
    target: str,
    options: ExecutorOptions | None = None,
    enter_stage: EnterStage = lambda stage: None,
) -> Bisection:
    """Compiles every launch of a case for `target` ("cuda:90") and executes all stages of each.

    `enter_stage` hears "reference", "frontend" and "simulate" as they begin.

    Raises UsageError for a target no backend takes, CaseError or ReferenceFailed for a case that is none, and
    whatever the front end raises: there are no stages then.
    """
    case = instance.build()
    allocated = allocate(case, seed_text(instance))
    enter_stage("reference")
    goldens = run_reference(case, allocated, instance.template.where)
    run = _Run(case, allocated, goldens, options or ExecutorOptions(), allocated.snapshot(), enter_stage)
    enter_stage("frontend")
    with recording(gpu_target(target), run.record) as launch_on:
        for one in case.launches:
            arguments = {name: as_triton(value) for name, value in allocated.arguments(one).items()}
            launch_on(one.kernel, one.grid, arguments, one.options)
    enter_stage("simulate")
    return Bisection(target, [run.bisect(number) for number in range(len(run.launches))], run.buffers)


@dataclass
class _Launch:
    """A launch as it was recorded. `before` and `after`: memory around it when it ran as its baseline, the first
    stage that could be executed (None where none could). `written`: the bytes that somebody had written before it,
    by storage."""

    capture: Capture
    grid: Grid
    signature: Mapping[str, Any]
    values: Sequence[Any]
    before: Snapshot
    after: Snapshot
    written: dict[str, np.ndarray]
    baseline: Stage | None = None


@dataclass(frozen=True)
class _Outcome:
    """What one execution of one stage came to."""

    verdict: Verdict
    reason: str = ""
    blocker: str = ""
    buffers: tuple[BufferEvidence, ...] = ()
    findings: tuple[Finding, ...] = ()
    trap: str = ""


@dataclass
class _Run:
    """The state of one bisection. Memory is restored before each execution, and `written` with it: of the storages
    that begin as poison, the bytes that somebody wrote."""

    case: KernelCase
    allocated: Allocated
    goldens: Mapping[str, np.ndarray | None]
    options: ExecutorOptions
    start: Snapshot
    enter_stage: EnterStage
    launches: list[_Launch] = field(default_factory=list)
    plans: dict[str, Plan] = field(default_factory=dict)
    written: dict[str, np.ndarray] = field(default_factory=dict)

    # --- recording ----------------------------------------------------------------------------------------

    def record(self, capture: Capture, grid: Grid, signature: Mapping[str, Any], values: Sequence[Any]) -> None:
        """Takes a launch as the JIT makes it, and carries it out as its baseline."""
        before = self.allocated.snapshot()
        if self.launches:
            self._host_wrote(self.launches[-1].after, before)
        one = _Launch(capture, grid, dict(signature), list(values), before, before, _copied(self.written))
        self.launches.append(one)
        self.enter_stage("simulate")
        self._run_baseline(one)
        self.enter_stage("frontend")

    def _run_baseline(self, one: _Launch) -> None:
        for stage in one.capture.stages:
            try:
                self._execute(one, stage, "earliest")
            except (UnsupportedOp, ParseError, Trap):
                self._restore(one)
                continue
            one.baseline, one.after = stage, self.allocated.snapshot()
            return

    def _execute(self, one: _Launch, stage: Stage, timing: Timing) -> list[Finding]:
        if stage.text not in self.plans:
            module = parse_module(stage.text, f"{stage.pass_name}.mlir")
            self.plans[stage.text] = compile_module(module, native=self.options.native)
        plan, memory = self.plans[stage.text], memory_of(self.allocated)
        for allocation in memory.allocations:
            if allocation.initialised is not None:
                allocation.initialised = self.written.setdefault(allocation.name, allocation.initialised)
        arguments = fitted(bind_arguments(one.signature, one.values, memory), plan.entry.parameters)
        options = replace(self.options, copies=timing)
        return launch(plan, one.grid, arguments, memory, options).findings

    def _restore(self, one: _Launch) -> None:
        """Memory as it was before the launch."""
        self.allocated.restore(one.before)
        self.written = _copied(one.written)

    def _host_wrote(self, was: Snapshot, now: Snapshot) -> None:
        """What differs between two launches, the host wrote."""
        for name, storage in self.allocated.storages.items():
            if name in self.written:
                self.written[name] |= was.bytes_of(storage) != now.bytes_of(storage)

    # --- every stage ------------------------------------------------------------------------------------------

    def bisect(self, number: int) -> LaunchBisection:
        """The results of all stages of a launch, the others being as in their baselines."""
        one = self.launches[number]
        known: dict[str, StageResult] = {}
        keys = {text: program_key(text) for text in {stage.text for stage in one.capture.stages}}
        results = LaunchBisection(one.capture, one.grid)
        for index, stage in enumerate(one.capture.stages):
            key = keys[stage.text]
            same = known.get(key)
            if same is None:
                result = known[key] = self._stage(number, index, stage)
            else:
                result = replace(same, number=index, stage=stage, same_as=same.number, seconds=0.0)
            results.results.append(result)
        return results

    def _stage(self, number: int, index: int, stage: Stage) -> StageResult:
        started = time.perf_counter()
        outcome, timing = self._outcome(number, stage, "earliest"), "earliest"
        if outcome.verdict == "match" and any(name in stage.text for name in _ASYNCHRONOUS):
            late = self._outcome(number, stage, "latest")
            if late.verdict != "match":
                outcome, timing = late, "latest"
            else:
                outcome = replace(outcome, findings=_united(outcome.findings, late.findings))
        return StageResult(
            index,
            stage,
            outcome.verdict,
            outcome.reason,
            outcome.blocker,
            outcome.buffers,
            outcome.findings,
            outcome.trap,
            timing,
            seconds=time.perf_counter() - started,
        )

    def _outcome(self, number: int, stage: Stage, timing: Timing) -> _Outcome:
        one = self.launches[number]
        self._restore(one)
        try:
            findings = tuple(self._execute(one, stage, timing))
        except (UnsupportedOp, ParseError) as error:
            return _Outcome("not executed", str(error), _blocker(error))
        except Trap as error:
            return _Outcome("differs", f"{type(error).__name__}: {error}", trap=type(error).__name__)
        self._replay(number)
        comparison = self._compare()
        wrong = [buffer for buffer in comparison.buffers if buffer.mismatch]
        verdict: Verdict = "differs" if wrong or comparison.findings else "match"
        reason = _mismatch(wrong[0]) if wrong else "".join(finding.message for finding in comparison.findings[:1])
        return _Outcome(verdict, reason, "", tuple(comparison.buffers), (*findings, *comparison.findings))

    def buffers(self, number: int, result: StageResult | None) -> list[BufferArtifact]:
        """What every buffer holds once the launch `number` ran as in the stage, or to the trap that stopped it."""
        if result is not None:
            self._outcome(number, result.stage, result.copied)
        found = buffers_of(self.allocated, self.start, self.goldens)
        for one in found:
            one.got = None if result is None or one.got is None else standalone(one.got)
        return found

    def _replay(self, number: int) -> None:
        """Carries out the launches after this one as their baselines, and what the host wrote in between."""
        for earlier, later in zip(self.launches[number:], self.launches[number + 1 :], strict=False):
            for name, storage in self.allocated.storages.items():
                was, now = earlier.after.guarded[name], later.before.guarded[name]
                by_host = np.flatnonzero(was != now)
                storage.guarded.numpy()[by_host] = now[by_host]
            self._host_wrote(earlier.after, later.before)
            if later.baseline is not None:
                self._execute(later, later.baseline, "earliest")

    def _compare(self) -> Comparison:
        return compare(self.case, self.allocated, self.goldens, {}, self.start, operation=self._operation())

    def _operation(self) -> Operation:
        """What the kernels do to floats, as their first stages say: no pass may need a wider tolerance."""
        return operation_of(one.capture.stages[0].text for one in self.launches if one.capture.stages)


def _copied(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: array.copy() for name, array in arrays.items()}


def _united(early: Sequence[Finding], late: Sequence[Finding]) -> tuple[Finding, ...]:
    """Those of the late run that the early one does not have are of copies that only then touch what they touch."""
    known = {one.key for one in early}
    return (*early, *(one for one in late if one.key not in known))


def _blocker(error: UnsupportedOp | ParseError) -> str:
    return error.what.removeprefix("unsupported ")


def _mismatch(buffer: BufferEvidence) -> str:
    wrong = buffer.mismatch
    assert wrong is not None
    index = list(wrong.first_index)
    return f"{buffer.name}: {wrong.wrong} of {wrong.total} wrong, first at {index}: got {wrong.got}, want {wrong.want}"
