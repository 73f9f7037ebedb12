"""Runs what pytest collects: case files and cases, in processes that suit their target."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from harness.cases.evidence import Evidence, Failure, Verdict
from harness.cases.loading import CaseSummary
from harness.cases.targets import ENVIRONMENTS, check_target_name
from harness.collection.settings import Settings
from harness.errors import EnvironmentFailed
from harness.isolation import PRELOAD, RUNNER, CaseRequest, IsolatedRunner
from harness.reports import folder_name
from harness.verdicts import classify

# Where lit cases run, whatever targets kernels run on, and what runs them.
LIT_TARGET = "lit"
LIT_RUNNER = "harness.lit.run_case:run_case"

# What runs whole models: as a kernel's case does on its target, and only on those of the simulated NPU.
MODEL_RUNNER = "harness.models.run_case:run_case"

# What runs kernels on a GPU backend's pipeline, whose targets are BACKEND:ARCH.
PIPELINE_RUNNER = "harness.bisect.run_case:run_case"

# Inside the report folder: what a running case has left so far for a person to look at.
RUNNING = "running"

# Inside the report folder: what each case adds to the trace of the run.
TRACES = "traces"


@dataclass
class Execution:
    """One pytest process's runners: one for each set of variables that the targets need.

    runner, preload  as `CaseRequest` and `IsolatedRunner` have them
    """

    settings: Settings
    runner: str = RUNNER
    preload: tuple[str, ...] = PRELOAD
    _runners: dict[tuple[tuple[str, str], ...], IsolatedRunner] = field(default_factory=dict)

    def collect(self, path: Path) -> list[CaseSummary]:
        """The cases of a file. Raises CaseError or EnvironmentFailed."""
        return self.processes_for(self.settings.targets[0]).collect(path, self.settings.timeout)

    def end_collection(self) -> None:
        for runner in self._runners.values():
            runner.end_collection()

    def run(self, node_id: str, path: Path, summary: CaseSummary, target: str) -> Verdict:
        """Runs one case; whatever it does, there is a verdict on it."""
        artifacts = self.settings.report_folder / RUNNING / folder_name(node_id)
        request = CaseRequest(
            node_id,
            str(path),
            summary.name,
            summary.parameter_id,
            target,
            replace(self.settings.run, artifacts=str(artifacts), trace=self._trace_of(node_id)),
            self._runner_of(path, target),
            self.settings.memory,
        )
        verdict = classify(self._evidence(request))
        if verdict.outcome != "fail":
            shutil.rmtree(artifacts, ignore_errors=True)
        return verdict

    def _trace_of(self, node_id: str) -> str:
        if self.settings.trace is None:
            return ""
        return str(self.settings.report_folder / TRACES / f"{folder_name(node_id)}.json")

    def close(self) -> None:
        for runner in self._runners.values():
            runner.close()
        self._runners.clear()

    def _evidence(self, request: CaseRequest) -> Evidence:
        try:
            return self.processes_for(request.target).run(request, self.settings.timeout)
        except EnvironmentFailed as error:
            failure = Failure("collect", type(error).__name__, error.what, error.where, error.hint)
            return Evidence(request.node_id, request.target, failure=failure)

    def _runner_of(self, path: Path, target: str) -> str:
        if self.settings.holds_model_cases(path):
            return MODEL_RUNNER
        if target == LIT_TARGET:
            return LIT_RUNNER
        return PIPELINE_RUNNER if is_pipeline(target) else self.runner

    def processes_for(self, target: str) -> IsolatedRunner:
        """What runs the target's cases; ended with the run."""
        environment = _environment_of(target)
        key = tuple(sorted(environment.items()))
        if key not in self._runners:
            self._runners[key] = IsolatedRunner(environment, self.preload)
        return self._runners[key]


def is_pipeline(target: str) -> bool:
    """Whether it names a GPU: cuda:90."""
    return ":" in target


def check_target(target: str) -> None:
    """Raises UsageError for a name that is no target's."""
    if is_pipeline(target):
        from harness.bisect.architectures import check_architecture
        from harness.bisect.capture import gpu_target

        gpu_target(target)
        check_architecture(target)
        return
    check_target_name(target)


def _environment_of(target: str) -> Mapping[str, str]:
    return ENVIRONMENTS.get(target, {})  # a lit case, or one of a GPU's pipeline, needs none
