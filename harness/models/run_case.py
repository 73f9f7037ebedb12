"""One run of one model case, in a process of its own: the model's counterpart of `harness.targets.run_case`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.cases.evidence import Evidence
from harness.cases.kernel_case import CaseInstance
from harness.cases.model_case import ModelCase
from harness.cases.options import RunOptions
from harness.errors import CaseError, HarnessError, ReferenceFailed, UsageError
from harness.executor.api import ExecutorOptions
from harness.freed_memory import keep_freed_memory
from harness.garbage import rare_collections
from harness.models.checking import Launching
from harness.models.inductor import import_inductor
from harness.models.progress import kernel_line
from harness.models.report import KernelReport
from harness.models.run import ModelRun, run_model
from harness.npu.session import Session
from harness.targets.failures import Context, failure_of
from harness.targets.npu import outcome_of
from harness.targets.op_usage import ops_used
from harness.targets.run_case import seeded_torch
from harness.targets.stage_clock import StageClock
from harness.targets.stderr_log import StderrLog, stderr_log
from harness.targets.target import EnterStage

# In a failure's folder: the launch that failed, as a kernel case.
EXTRACTED = "extracted.py"

# By the target's name: the row of `harness.npu.backend.compiler.PIPELINES` where no machine is asked for.
_ARCHITECTURES = {"npu": "simulated", "ttir": "frontend"}


def run_case(
    instance: CaseInstance, node_id: str, target: str, options: RunOptions, enter_stage: EnterStage
) -> Evidence:
    """Everything a run of the model finds out. What goes wrong becomes `Evidence.failure`, with its stage; a launch
    that fails is left as a case file of its own among the artifacts.

    Raises UsageError for a target that models do not run on.
    """
    reports: list[KernelReport] = []
    lines: list[str] = []

    def progress(report: KernelReport) -> None:
        reports.append(report)
        lines.append(kernel_line(report))

    evidence = run_model_case(instance, node_id, target, options, enter_stage, progress=progress)
    if options.artifacts and target == "npu" and not evidence.is_clean:
        lines.append(_extracted(instance, evidence, options, reports))
    evidence.output = "\n".join(filter(None, [*lines, evidence.output]))
    return evidence


def _extracted(instance: CaseInstance, evidence: Evidence, options: RunOptions, reports: Sequence[KernelReport]) -> str:
    """Writes the case file of the launch that failed, and says so, or why there is none."""
    from harness.models.extracted import extract

    wrong = next((one.number for one in reports if any(buffer.mismatch for buffer in one.buffers)), None)
    trapped = evidence.failure is not None and evidence.stage == "simulate"
    if wrong is None and not trapped:
        return ""
    plain = replace(options, artifacts="", trace="", timing=False)
    try:
        found = extract(instance, evidence.case, str(wrong or len(reports) + 1), plain.machine)
    except HarnessError as error:
        return f"the launch that failed could not be made a case of its own: {error}"
    file = Path(options.artifacts, EXTRACTED)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(found.text, encoding="utf-8")
    evidence.artifacts = options.artifacts
    return f"launch {found.number} is a case of its own, which fails as it does here: {EXTRACTED}"


def run_model_case(
    instance: CaseInstance,
    node_id: str,
    target: str,
    options: RunOptions,
    enter_stage: EnterStage | None = None,
    *,
    progress: Callable[[KernelReport], None] | None = None,
    keep_going: bool = False,
    on_launch: Callable[[Launching], None] | None = None,
    transform: Callable[[str], str] | None = None,
) -> Evidence:
    """`run_case`, for whoever wants to hear of each kernel and launch, or to go on after a buffer that differs.
    `transform` changes the IR of each program on its way to the executor: see `harness.npu.session`."""
    if target not in _ARCHITECTURES:
        raise UsageError(f"models run on {' and '.join(_ARCHITECTURES)}, not on {target}")
    with stderr_log() as log, rare_collections(), keep_freed_memory():
        run = _Run(instance, target, options, Evidence(node_id, target), enter_stage or _ignore, log)
        return run.run(progress, keep_going, on_launch, transform)


def warm_up() -> None:
    """Imports what every model's compilation needs, and compiles and runs a small model, which fills caches of torch
    that depend on nothing else: two of three seconds of each small model otherwise. Starts no thread or process."""
    # Importing Inductor would start a pool of compiling processes.
    os.environ["TORCH_WARM_POOL"] = "0"
    with rare_collections():
        _warm_up()


def _warm_up() -> None:
    import torch

    from harness.targets.warm_up import warm_up as warm_targets

    import_inductor()
    warm_targets()
    small = torch.nn.Sequential(torch.nn.Linear(16, 8), torch.nn.LayerNorm(8), torch.nn.Softmax(-1))
    state = torch.random.get_rng_state()
    run_model(ModelCase(small, (torch.ones(4, 16),), train=True), "simulated", ModelRun.of(Session()))
    torch.random.set_rng_state(state)


def _ignore(stage: str) -> None:
    """Nobody asked."""


@dataclass
class _Run:
    """The state of one run, filled in stage by stage."""

    instance: CaseInstance
    target: str
    options: RunOptions
    evidence: Evidence
    tell: EnterStage
    log: StderrLog
    clock: StageClock = field(init=False)
    lines: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.clock = StageClock(self.evidence)

    def run(
        self,
        progress: Callable[[KernelReport], None] | None,
        keep_going: bool,
        on_launch: Callable[[Launching], None] | None,
        transform: Callable[[str], str] | None,
    ) -> Evidence:
        self._enter("collect")
        session = Session(
            options=ExecutorOptions(checks=self.options.checks, threads=self.options.threads),
            enter_stage=self._enter,
            emit=self.lines.extend,
            check_lowering=self.options.check_lowering,
            timing=self.options.timing,
            benchmark_runs=1,
            transform=transform,
        )
        run = ModelRun.of(session, keep_going)
        run.checker.on_launch = on_launch
        try:
            with seeded_torch(self.instance):
                case = self.instance.build_model()
            machine = self.options.machine if self.target == "npu" else ""
            arch = machine or _ARCHITECTURES[self.target]
            processes = self.options.processes
            run_model(case, arch, run, progress=progress, enter_stage=self._enter, processes=processes)
        except Exception as error:
            context = Context(self.evidence.stage, None, self.log.text())
            placed = self.instance.placed(error) if isinstance(error, (CaseError, ReferenceFailed)) else error
            self.evidence.failure = failure_of(placed.with_traceback(error.__traceback__), context)
        self.clock.stop()
        self._keep(run)
        return self.evidence

    def _keep(self, run: ModelRun) -> None:
        session = run.checker.session
        outcome = outcome_of(session.launches, sum(one.seconds for one in session.launches))
        self.evidence.launches = outcome.launches
        self.evidence.findings = [*run.findings, *outcome.findings]
        self.evidence.buffers = run.buffers
        self.evidence.model = run.model
        self.evidence.operations = ops_used(dict.fromkeys(outcome.texts))
        self.evidence.output = "\n".join(self.lines)

    def _enter(self, stage: str) -> None:
        self.clock.begin(stage)
        self.tell(stage)
