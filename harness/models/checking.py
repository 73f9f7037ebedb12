"""The watch over one run of a model: every kernel's buffers are compared as soon as it has finished them, and must
still hold the same when they are read and when they die."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from harness.cases.evidence import BufferEvidence, Finding
from harness.errors import Diverged
from harness.goldens import Operation
from harness.models.capture import Capture
from harness.models.differential import Differential, terms_between
from harness.models.evaluation import GoldenPlan, plan_goldens, terms_of
from harness.models.graph_run import GraphRun
from harness.models.judge import Claim, Judged, judge
from harness.models.plan import Kernel, Output
from harness.models.report import KernelReport, mismatch_line, origin_line
from harness.models.tensors import buffer_of, content_of, digest, fill_with_poison
from harness.npu.session import LaunchRequest, Session
from harness.targets.operation import operation_of

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Launching:
    """A launch that is about to run; `number` is its step's, from 1, over the whole run."""

    number: int
    run: GraphRun
    kernel: Kernel
    request: LaunchRequest


@dataclass
class Checker:
    """`harness.models.watch.Watch` that compares.

    progress  called with each step when it is over
    on_launch called with each launch when everything is in memory, before it runs
    """

    session: Session
    capture: Capture
    keep_going: bool = False
    progress: Callable[[KernelReport], None] | None = None
    on_launch: Callable[[Launching], None] | None = None
    reports: list[KernelReport] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    without: list[str] = field(default_factory=list)
    compared: int = 0
    by_executor: int = 0
    seconds: float = 0.0  # in here: goldens, comparing, the executor's launches
    worst: tuple[float, str] = (0.0, "")
    _plans: dict[int, GoldenPlan] = field(default_factory=dict)
    _runs: dict[int, GraphRun] = field(default_factory=dict)
    _differential: Differential = field(default_factory=Differential)
    _launches_before: int = 0
    _running: str = ""
    _current: GraphRun | None = None

    @property
    def running(self) -> str:
        """Which kernel is running: "launch 3, kernel 2 of forward"; "" between two."""
        return self._running

    def begin(self, graph: int, inputs: Mapping[str, Any]) -> None:
        with self._clock():
            plan = self.capture.graphs[graph]
            if graph not in self._plans:
                self._plans[graph] = plan_goldens(plan)
            self._runs[graph] = GraphRun(plan, self._plans[graph], dict(inputs))

    def before(self, graph: int, kernel: int, reads: Mapping[str, Any]) -> None:
        """Makes the goldens that begin with what is in memory now."""
        with self._clock():
            self._current = run = self._runs[graph]
            run.fresh.clear()
            run.variables.update(reads)
            self._running = f"launch {len(self.reports) + 1}, kernel {kernel} of {run.plan.name}"
            self._check_unchanged(run, reads, f"kernel {kernel} of {run.plan.name} reads it")
            run.make_goldens(kernel)
            lacking = any(run.is_uncertain((kernel, one.name)) for one in run.plan.kernels[kernel].outputs)
            self.session.before_launch = functools.partial(self._before_launch, run, run.plan.kernels[kernel], lacking)
            self._launches_before = len(self.session.launches)

    def fresh(self, buffers: Mapping[str, Any]) -> None:
        with self._clock():
            for tensor in buffers.values():
                fill_with_poison(tensor)
            if self._current is not None:
                self._current.fresh.update(buffers)

    def after(self, graph: int, kernel: int, outputs: Mapping[str, Any]) -> None:
        """Compares what the kernel has finished. Raises Diverged at a buffer that is wrong, unless told to go on."""
        with self._clock():
            run = self._runs[graph]
            run.variables.update(outputs)
            self._running = ""
            report = self._report(run, run.plan.kernels[kernel])
            for output in report.kernel.outputs:
                self._check(run, report, output, outputs[output.variable])
            self._differential.forget()
            self.session.before_launch = None
            if report.kernel.extern:
                run.forget_digests(report.kernel)
            only_read = {name: run.variables[name] for name in run.only_read(report.kernel)}
            self._check_unchanged(run, only_read, f"kernel {kernel}, which only reads it, has run")
            report.buffers = [_with_origin(report, one) for one in report.buffers]
        if self.progress is not None:
            self.progress(report)
        wrong = next((one for one in report.buffers if one.mismatch), None)
        if wrong is not None and not self.keep_going:
            raise Diverged(mismatch_line(report, wrong), report.place_of(wrong))

    def free(self, graph: int, buffers: Mapping[str, Any]) -> None:
        """What dies must hold what it was compared with."""
        with self._clock():
            run = self._runs[graph]
            self._check_unchanged(run, buffers, "it dies")
            for name in buffers:
                run.forget(name)

    def _before_launch(self, run: GraphRun, kernel: Kernel, lacking: bool, request: LaunchRequest) -> None:
        if self.on_launch is not None:
            self.on_launch(Launching(len(self.reports) + 1, run, kernel, request))
        if lacking:
            self._differential.before_launch(request)

    def _report(self, run: GraphRun, kernel: Kernel) -> KernelReport:
        launches = self.session.launches[self._launches_before :]
        seconds = sum(one.seconds for one in launches)
        reads = {name: run.state.get(name, "right") for name in kernel.reads}
        report = KernelReport(len(self.reports) + 1, run.plan.name, kernel, launches, reads=reads, seconds=seconds)
        report.steps = len(run.plan.kernels)
        self.reports.append(report)
        if kernel.extern:
            what = f"{kernel.extern} ran on the host: {kernel.reason}"
            self.findings.append(Finding("not-simulated", kernel.extern, what, kernel.where))
        elif kernel.launches and kernel.outputs and not launches:
            what = f"no launch of kernel {kernel.number} of {run.plan.name} was simulated"
            self.findings.append(Finding("not-simulated", kernel.outputs[0].name, what))
        return report

    def _check(self, run: GraphRun, report: KernelReport, output: Output, tensor: torch.Tensor) -> None:
        name = f"{run.plan.name}/{output.name}"
        if report.kernel.data:
            run.digests[output.variable] = digest(tensor)
            return
        if tensor.is_complex():  # of the host: Triton has none
            self.without.append(f"{name}: complex numbers")
            run.state[output.variable] = "not compared"
            return
        judged = self._judged(run, report, output, tensor, name)
        if isinstance(judged, str):
            self.without.append(f"{name}: {judged}")
            run.state[output.variable] = "not compared"
            buffer = buffer_of(tensor)
            report.buffers.append(BufferEvidence(name, buffer.dtype.name, buffer.shape, "out", False, judged))
        else:
            report.buffers.append(judged.evidence)
            report.tolerances += [judged.tolerance] if judged.tolerance is not None else []
            report.worst = max(report.worst, judged.relative)
            self.worst = max(self.worst, (judged.relative, name))
            run.state[output.variable] = "wrong" if judged.evidence.mismatch else "right"
        run.digests[output.variable] = digest(tensor)

    def _judged(
        self, run: GraphRun, report: KernelReport, output: Output, tensor: torch.Tensor, name: str
    ) -> Judged | str:
        """The comparison with the output's golden, or why there is nothing to compare it with."""
        key = report.kernel.number, output.name
        texts = [one.text for one in report.launches]
        operation = operation_of(texts) if texts else Operation("move")
        got, buffer = content_of(tensor), buffer_of(tensor)
        why = run.goldens.missing.get(key) or run.failed.get(key, "")
        for made in run.made.pop(key, []):
            golden = made.value.reshape(tensor.shape) if made.golden.guess else made.value
            terms = terms_of(made.golden.steps)
            precisions = made.precisions
            claim = Claim(name, "out", golden, operation, terms, made.exact, made.again, precisions)
            judged = judge(claim, buffer, got)
            if judged.evidence.mismatch:
                report.notes[name] = run.undefined_in(made.golden)
            if made.golden.guess and judged.evidence.mismatch:
                why = f"{output.why}, and it is not {made.golden.node.name}"
                continue
            self.compared += 1
            report.held_to[output.name] = made.golden.node
            return judged
        if report.launches and all(one.program is None for one in report.launches):
            return f"{why}; with a machine (--machine=default) the IR executor says what it should hold"
        return self._judged_by_executor(run, report, tensor, Claim(name, "out", tensor, operation)) or why

    def _judged_by_executor(
        self, run: GraphRun, report: KernelReport, tensor: torch.Tensor, claim: Claim
    ) -> Judged | None:
        import torch

        expected = self._differential.content_of(tensor)
        if expected is None:
            return None
        self.by_executor += 1
        raw = torch.from_numpy(expected.reshape(-1).view("uint8").copy()).view(tensor.dtype)
        sizes = [run.variables[one].numel() for one in run.tensors(report.kernel)]
        is_product = any("tt.dot" in launch.text for launch in report.launches)
        terms = terms_between(sizes, tensor.numel(), is_product)
        claim = replace(claim, golden=raw.reshape(tensor.shape), terms=terms, exact=True)
        return judge(claim, buffer_of(tensor), content_of(tensor))

    def _check_unchanged(self, run: GraphRun, variables: Mapping[str, Any], when: str) -> None:
        for name, tensor in variables.items():
            known = run.digests.get(name)
            if known is None or digest(tensor) == known:
                continue
            what = f"{name} of {run.plan.name} was compared, and does not hold the same any more when {when}"
            self.findings.append(Finding("input-changed", f"{run.plan.name}/{name}", what))
            run.state[name] = "wrong"
            run.digests.pop(name)
            if not self.keep_going:
                raise Diverged(what)

    @contextmanager
    def _clock(self) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
        finally:
            self.seconds += time.perf_counter() - started


def _with_origin(report: KernelReport, buffer: BufferEvidence) -> BufferEvidence:
    return replace(buffer, reason=origin_line(report, buffer)) if buffer.mismatch else buffer
