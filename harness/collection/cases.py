"""Case files and cases as pytest sees them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.cases.evidence import Evidence, Failure, Verdict
from harness.cases.loading import CaseSummary
from harness.cases.location import SourceLocation
from harness.collection.execution import LIT_TARGET, Execution
from harness.collection.settings import Settings
from harness.errors import CaseError, EnvironmentFailed
from harness.gate import Gate
from harness.reports import RunInfo, failure_text, folder_name, junit_properties
from harness.reports.record import encode_verdict
from harness.verdicts import ABSENT, classify
from harness.verdicts.next_step import next_step

EXECUTION: pytest.StashKey[Execution] = pytest.StashKey()
SETTINGS: pytest.StashKey[Settings] = pytest.StashKey()
GATE: pytest.StashKey[Gate | None] = pytest.StashKey()  # None without --gate

# A report's attribute, which travels from xdist's workers to the process that keeps the record.
VERDICT = "harness_verdict"

# Names the pass that is at fault, of a case on a machine of the simulated NPU.
_CHECK_LOWERING = "--check-lowering"

# The mark of model cases.
MODELS = "models"

# Marks that mean something to pytest itself: a folder of such a name is no reason to skip what is in it.
_PYTEST_MARKS = {"skip", "skipif", "xfail", "parametrize", "usefixtures", "filterwarnings"}


class CaseFailed(Exception):
    """A case whose verdict is a failure; its text is the whole story, for a person."""

    def __init__(self, verdict: Verdict, text: str) -> None:
        super().__init__(text)
        self.verdict = verdict


class KernelFile(pytest.File):
    """A file of kernel cases. It is imported in another process, never in pytest's own."""

    def collect(self) -> Iterator[KernelItem]:
        """A case for every combination of parameters and target. Raises CaseError at a line of the file."""
        settings = self.config.stash[SETTINGS]
        for summary in self.config.stash[EXECUTION].collect(self.path):
            for target in settings.targets:
                name = _name_of(summary, target)
                # Given as text, the id is read as `--lf` reads it from its cache: with parameters.
                node_id = f"{self.nodeid}::{name}"
                yield KernelItem.from_parent(self, name=name, nodeid=node_id, summary=summary, target=target)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, (CaseError, EnvironmentFailed)):
            return self.config.stash[SETTINGS].relative(str(excinfo.value))
        return super().repr_failure(excinfo)


class LitFile(pytest.File):
    """A lit case: the file is the case, and its node id the case's."""

    def collect(self) -> Iterator[KernelItem]:
        summary = CaseSummary(self.path.name, "", SourceLocation(str(self.path), 1))
        yield KernelItem.from_parent(self, name=self.path.name, nodeid=self.nodeid, summary=summary, target=LIT_TARGET)


class KernelItem(pytest.Item):
    """One case on one target."""

    def __init__(self, *, summary: CaseSummary, target: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.summary = summary
        self.target = target
        self.verdict: Verdict | None = None
        self.add_marker(mark_name(target))
        if self.config.stash[SETTINGS].holds_model_cases(self.path):
            self.add_marker(MODELS)
        family = family_of(self.path, self.config.stash[SETTINGS])
        if family:
            self.add_marker(family)
        for mark in summary.marks:
            self.add_marker(getattr(pytest.mark, mark.name)(*mark.arguments, **dict(mark.keywords)))

    def runtest(self) -> None:
        self.verdict = verdict = self._run()
        self.user_properties.extend(junit_properties(verdict))
        self._show_output(verdict.evidence.output)
        gate = self.config.stash[GATE]
        known = gate.expects(verdict) if gate and verdict.is_failure else None
        if known:
            # As pytest's own: a failure that is expected, and listed as such, is nobody's alarm.
            raise pytest.xfail.Exception(str(known))
        if verdict.is_failure:
            raise CaseFailed(verdict, self._story(verdict))
        if verdict.outcome != "pass":
            raise pytest.skip.Exception(verdict.summary, _use_item_location=True)

    def _run(self) -> Verdict:
        if not self.summary.absent:
            return self.config.stash[EXECUTION].run(self.nodeid, self.path, self.summary, self.target)
        failure = Failure("collect", ABSENT, self.summary.absent, self.summary.where)
        return classify(Evidence(self.nodeid, self.target, failure=failure))

    def _story(self, verdict: Verdict) -> str:
        """What failed, and how to run it again and look at it, with paths from where node ids start."""
        settings = self.config.stash[SETTINGS]
        text = failure_text(verdict, verbose=self.config.option.verbose > 0)
        lines = [text, f"rerun:     {RunInfo(rerun=settings.rerun).rerun_command(verdict.case)}"]
        if _CHECK_LOWERING in next_step(verdict) and settings.run.machine and _CHECK_LOWERING not in settings.rerun:
            checked = RunInfo(rerun=(*settings.rerun, _CHECK_LOWERING)).rerun_command(verdict.case)
            lines.append(f"lowering:  {checked}")
        if verdict.evidence.artifacts:
            lines.append(f"look at:   {settings.report_folder / 'failures' / folder_name(verdict.case)}")
        return settings.relative("\n".join(lines))

    def _show_output(self, text: str) -> None:
        """What the case printed: with the failure if there is one, or at once under `-s`."""
        if text and self.config.option.capture == "no":
            print(f"\n{text}")
        elif text:
            self.add_report_section("call", "stdout", text)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if not isinstance(excinfo.value, CaseFailed):
            return super().repr_failure(excinfo, style)
        verdict = excinfo.value.verdict
        shown = excinfo.getrepr(style="value")
        if shown.reprcrash is not None:  # what pytest's short summary and its JUnit file print
            shown.reprcrash.path = str(self.path)
            shown.reprcrash.lineno = self.summary.where.line
            summary = self.config.stash[SETTINGS].relative(verdict.summary)
            shown.reprcrash.message = f"{verdict.bucket} at {verdict.stage}: {summary}"
        return shown

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, self.summary.where.line - 1, self.name


def attach_verdict(item: pytest.Item, report: pytest.TestReport) -> None:
    """Puts the verdict of a case on its report: of its run, or of a skip that came before it."""
    if not isinstance(item, KernelItem):
        return
    if report.when == "setup" and report.skipped:
        item.verdict = _skipped(item, report)
    if item.verdict is not None and (report.when == "call" or report.skipped):
        setattr(report, VERDICT, encode_verdict(item.verdict))


def failed_file(report: pytest.CollectReport, targets: tuple[str, ...]) -> Verdict:
    """The verdict on a file whose cases could not be listed."""
    failure = Failure("collect", "CaseError", str(report.longrepr))
    return classify(Evidence(report.nodeid, targets[0], "collect", failure=failure))


def lost_case(node_id: str, target: str, worker: str) -> Verdict:
    """The verdict on a case whose pytest process died under it."""
    failure = Failure("", "EnvironmentFailed", f"the pytest worker {worker} died while it ran this case")
    return classify(Evidence(node_id, target, failure=failure))


def mark_name(text: str) -> str:
    """A name that `-m` can spell: cuda:80 is cuda_80."""
    return re.sub(r"\W", "_", text)


def family_of(path: Path, settings: Settings) -> str | None:
    """The mark of the folder a case file lies in, one below the folder of case files."""
    folder = settings.folder_of(path)
    if folder is None or path.parent == folder:
        return None
    name = mark_name(path.relative_to(folder).parts[0])
    return None if name in _PYTEST_MARKS else name


def _name_of(summary: CaseSummary, target: str) -> str:
    parameters = f"-{summary.parameter_id}" if summary.parameter_id else ""
    return f"{summary.name}[{target}{parameters}]"


def _skipped(item: KernelItem, report: pytest.TestReport) -> Verdict:
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    return classify(Evidence(item.nodeid, item.target, failure=Failure("collect", "Skipped", reason)))
