"""One run of one case on a GPU backend's pipeline, for a suite. Runs inside the case's own process."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.bisect.capture import gpu_target
from harness.bisect.evidence import fill, first_culprit
from harness.bisect.explain import save
from harness.bisect.results import Bisection
from harness.bisect.run import bisect_case
from harness.cases.evidence import Evidence, Failure
from harness.cases.kernel_case import CaseInstance
from harness.cases.options import RunOptions
from harness.errors import CaseError, Refusal, UsageError
from harness.executor.api import ExecutorOptions
from harness.reports.artifacts import FailureArtifacts
from harness.targets.failures import Context, failure_of
from harness.targets.kernel_source import kernel_file
from harness.targets.stderr_log import stderr_log
from harness.targets.target import EnterStage
from harness.targets.warm_up import warm_up

__all__ = ["run_case", "warm_up"]

# What Triton's front end says of what this GPU, or its library, does not have: fixed messages of its own, and
# assertions in that library.
_NOT_ON_THIS_GPU = re.compile(
    r"not supported in this architecture|target doesn't provide conversion for this type"
    r"|input_precision must be one of|module 'triton\.language\.extra\.\w+\.libdevice' has no attribute"
    r"|does not hold, in \w+ \(triton[/\\]language[/\\]extra[/\\]"
)


def run_case(
    instance: CaseInstance, node_id: str, target: str, options: RunOptions, enter_stage: EnterStage
) -> Evidence:
    """Executes every stage of every launch. What goes wrong becomes `Evidence.failure`, at the pass that did it.

    Raises UsageError for a target that no installed backend takes: that is no finding about the case.
    """
    gpu_target(target)
    with stderr_log() as log:
        clock = _Clock(enter_stage)
        evidence = Evidence(node_id, target)
        bisection = None
        try:
            bisection = bisect_case(instance, target, _executor(options), clock.enter)
            clock.enter("compare")
            fill(evidence, bisection)
        except Exception as error:
            evidence.stage = clock.stage
            evidence.failure = _of_this_gpu(failure_in(error, clock.stage, log.text(), instance), target)
        evidence.seconds = clock.seconds()
        _save(evidence, instance, bisection, options.artifacts)
    return evidence


@dataclass
class _Clock:
    """Passes stages on, and how long each took."""

    tell: EnterStage
    stage: str = "collect"
    began: float = field(default_factory=time.perf_counter)
    spent: dict[str, float] = field(default_factory=dict)

    def enter(self, stage: str) -> None:
        self.seconds()
        self.stage = stage
        self.tell(stage)

    def seconds(self) -> dict[str, float]:
        now = time.perf_counter()
        self.spent[self.stage] = self.spent.get(self.stage, 0.0) + now - self.began
        self.began = now
        return self.spent


def _executor(options: RunOptions) -> ExecutorOptions:
    """Without native code: a stage runs once, which never pays for compiling it."""
    return ExecutorOptions(checks=options.checks, threads=options.threads, native=False)


def failure_in(error: Exception, stage: str, log: str, instance: CaseInstance) -> Failure:
    """With the line of the first of the case's kernels that the error can be placed in."""
    placed = instance.placed(error) if isinstance(error, CaseError) else error
    placed = placed.with_traceback(error.__traceback__)
    kernels = _kernels(instance) or [None]
    found = [failure_of(placed, Context(stage, kernel, log)) for kernel in kernels]
    return next((one for one in found if one.where), found[0])


def _of_this_gpu(failure: Failure, target: str) -> Failure:
    """What the GPU lacks is the target's refusal, and no fault of the kernel."""
    if failure.kind != "FrontendError" or not _NOT_ON_THIS_GPU.search(failure.message):
        return failure
    message = f"{target}: {failure.message}"
    return Failure(failure.stage, Refusal.__name__, message, failure.where, failure.hint, failure.traceback)


def _save(evidence: Evidence, instance: CaseInstance, bisection: Bisection | None, folder: str) -> None:
    """The failure's folder: a full disk is not the case's fault, and must not hide what the run found."""
    wrong = evidence.failure or evidence.changed_by or evidence.findings
    if not folder or not (wrong or any(buffer.mismatch for buffer in evidence.buffers)):
        return
    try:
        FailureArtifacts(kernel=kernel_file(_kernels(instance))).save(Path(folder))
        if bisection is not None:
            save(Path(folder), bisection, first_culprit(bisection))
        evidence.artifacts = folder
    except UsageError as error:
        evidence.failure = evidence.failure or Failure(evidence.stage, "EnvironmentFailed", error.what, hint=error.hint)


def _kernels(instance: CaseInstance) -> list[Any]:
    try:
        return [launch.kernel for launch in instance.build().launches]
    except Exception:  # a case that does not build has no kernel to show
        return []
