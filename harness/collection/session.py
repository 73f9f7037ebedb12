"""The plugin of a pytest process that has case files: collects them, runs them, and hands on what they found."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from harness.cases.lit_case import is_lit_file, lit_files
from harness.cases.loading import case_files, is_case_file
from harness.collection.cases import (
    EXECUTION,
    GATE,
    MODELS,
    SETTINGS,
    VERDICT,
    KernelFile,
    KernelItem,
    LitFile,
    attach_verdict,
    family_of,
    mark_name,
)
from harness.collection.execution import LIT_TARGET, Execution, check_target
from harness.collection.recording import WORKER_COLLECTED, WORKER_SELECTED, Recording
from harness.collection.scope import wants_cases
from harness.collection.settings import Settings
from harness.errors import HarnessError
from harness.gate import Gate
from harness.versions import check_versions


@dataclass(eq=False)  # pytest keeps plugins in sets
class KernelCases:
    """`recording` is None in xdist's workers, whose results another process records."""

    config: pytest.Config
    settings: Settings
    execution: Execution
    recording: Recording | None
    collected: list[str] = field(default_factory=list)
    broken_files: int = 0

    @classmethod
    def of(cls, config: pytest.Config, settings: Settings) -> KernelCases:
        """Raises pytest.UsageError for an option that cannot be used."""
        execution = Execution(settings)
        config.stash[SETTINGS] = settings
        config.stash[EXECUTION] = execution
        config.stash[GATE] = gate = _load_gate(settings)
        _declare_marks(config, settings)
        recording = None
        if not hasattr(config, "workerinput"):
            _check_targets(settings)
            recording = Recording(config, settings, gate)
            config.pluginmanager.register(recording, "harness-recording")
        return cls(config, settings, execution, recording)

    def pytest_report_header(self) -> str:
        from importlib import metadata

        versions = ", ".join(f"{name} {metadata.version(name)}" for name in ("triton", "torch"))
        return f"kernel cases: {self.settings.summary}; {versions}"

    def pytest_sessionstart(self) -> None:
        if not wants_cases(self.config, self.settings):
            return
        try:
            check_versions()
        except HarnessError as error:
            raise pytest.UsageError(str(error)) from error

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> Generator[None, Any, Any]:
        """Case files are nobody else's: pytest would import one that is named on its command line as a test module."""
        collectors = yield
        if self.settings.folder_of(file_path) is None:
            return collectors
        if self.settings.holds_lit_cases(file_path):
            return [LitFile.from_parent(parent, path=file_path)] if is_lit_file(file_path) else []
        if not is_case_file(file_path):
            return []
        return [KernelFile.from_parent(parent, path=file_path)]

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Before -k, -m and the rest take any away."""
        self.collected = [item.nodeid for item in items if isinstance(item, KernelItem)]
        if self.recording is not None:
            self.recording.collected.update(self.collected)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.execution.end_collection()
        output = getattr(self.config, "workeroutput", None)
        if output is not None:
            output[WORKER_COLLECTED] = self.collected
            output[WORKER_SELECTED] = [item.nodeid for item in session.items if isinstance(item, KernelItem)]

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and self.settings.folder_of((self.settings.root / report.nodeid).resolve()):
            self.broken_files += 1

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, Any, Any]:
        """A case file that is broken is a finding, and takes no other case with it; any other file stops pytest
        as ever."""
        if 0 < self.broken_files == session.testsfailed:
            session.config.option.continue_on_collection_errors = True
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        attach_verdict(item, report)
        return report

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, Any] | None:
        """A refusal is no skip: it is counted and shown by its own name."""
        verdict = getattr(report, VERDICT, None)
        if verdict is not None and verdict["outcome"] == "refused":
            return "refused", "r", ("REFUSED", {"yellow": True})
        return None

    def pytest_unconfigure(self) -> None:
        self.execution.close()


def _check_targets(settings: Settings) -> None:
    try:
        for name in settings.targets:
            check_target(name)
    except HarnessError as error:
        raise pytest.UsageError(str(error)) from error


def _load_gate(settings: Settings) -> Gate | None:
    if not settings.gate:
        return None
    try:
        return Gate.load(settings.allowlist)
    except HarnessError as error:
        raise pytest.UsageError(str(error)) from error


def _declare_marks(config: pytest.Config, settings: Settings) -> None:
    for target in settings.targets:
        config.addinivalue_line("markers", f"{mark_name(target)}: cases on the target {target}")
    if settings.model_paths:
        config.addinivalue_line("markers", f"{MODELS}: whole models")
    if settings.lit_paths:
        config.addinivalue_line("markers", f"{LIT_TARGET}: lit cases")
    files = [path for folder in settings.kernel_paths for path in case_files(folder)]
    files += [path for folder in settings.model_paths for path in case_files(folder)]
    files += [path for folder in settings.lit_paths for path in lit_files(folder)]
    families = {family_of(path, settings) for path in files}
    for family in sorted(filter(None, families)):
        config.addinivalue_line("markers", f"{family}: cases of the family {family}")
