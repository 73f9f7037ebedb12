"""A lit case from its RUN lines to its evidence."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from harness.cases.evidence import CommandEvidence, Evidence, Failure
from harness.cases.lit_case import Condition, Definition, LitCase, RunLine
from harness.cases.location import SourceLocation
from harness.cases.options import RunOptions
from harness.errors import HarnessError, ParseError, UnsupportedFlag, UsageError
from harness.lit.compiler import installed_compiler
from harness.lit.conditions import Answer, Features, evaluate
from harness.lit.execution import CommandResult, PlannedStep, execute, plan
from harness.lit.explain import COMPILE, explain
from harness.lit.shell import parse_commands
from harness.lit.substitutions import Substitutions
from harness.lit.tools import FILECHECK, fallback_note

TARGET = "lit"


class EnterStage(Protocol):
    """Hears each stage as it begins, and the RUN line that it belongs to."""

    def __call__(self, stage: str, where: SourceLocation | None = None, /) -> None: ...


def _nobody(stage: str, where: SourceLocation | None = None, /) -> None:
    """Nobody asked."""


class Skip(Exception):
    """There is nothing to run. `certain` when it follows from what the wheel is, and from nothing else."""

    def __init__(self, reason: str, line: int, certain: bool) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line
        self.certain = certain


def run_case(
    case: LitCase, node_id: str, target: str, options: RunOptions, enter_stage: EnterStage = _nobody
) -> Evidence:
    """Runs every RUN line, until one fails. Whatever happens, there is evidence of it."""
    return _Run(case, Evidence(node_id, target), options, enter_stage).run()


def warm_up() -> None:
    """What every case needs, done once before cases are forked."""
    assert installed_compiler().textual is not None


def features() -> Features:
    """Those of the installed wheel."""
    return Features.installed(lambda: not installed_compiler().textual.refusal)


@dataclass
class _Run:
    case: LitCase
    evidence: Evidence
    options: RunOptions
    tell: EnterStage
    results: list[CommandResult] = field(default_factory=list)

    def run(self) -> Evidence:
        try:
            self._check_conditions()
            with self._folder() as folder:
                self._run_lines(folder)
        except Skip as skip:
            self.evidence.failure = _skipped(skip, self._at(skip.line))
        except HarnessError as error:
            kind, where = type(error).__name__, error.where or self.case.where
            self.evidence.failure = Failure("collect", kind, error.what, where, error.hint)
        self._apply_xfail()
        if self.evidence.failure is not None and self.options.artifacts:
            self._save(Path(self.options.artifacts))
        return self.evidence

    def _check_conditions(self) -> None:
        """Raises Skip where a REQUIRES does not hold or an UNSUPPORTED does."""
        for condition in self.case.requires:
            answer = self._evaluate(condition)
            if not answer.holds:
                raise Skip(
                    f"requires {condition.text}, which triton {_release()} is not", condition.line, answer.certain
                )
        for condition in self.case.unsupported:
            answer = self._evaluate(condition)
            if answer.holds:
                raise Skip(f"is unsupported where {condition.text} holds", condition.line, answer.certain)

    def _run_lines(self, folder: Path) -> None:
        substitutions = Substitutions(self.case.path, folder, self._holds)
        for line in self.case.script:
            if isinstance(line, Definition):
                substitutions.defined[line.name] = line.value
                continue
            planned = self._planned(line, substitutions)
            self._enter(COMPILE, self._at(line.line))
            failure = self._run_line(line, planned, folder)
            if failure is not None:
                self.evidence.failure, self.evidence.stage = failure, failure.stage
                return
        self._enter("compare")

    def _planned(self, line: RunLine, substitutions: Substitutions) -> list[PlannedStep]:
        try:
            return plan(parse_commands(substitutions.apply(line.text)))
        except UnsupportedFlag as error:
            raise Skip(error.what, line.line, certain=error.of_a_release) from error
        except (ParseError, UsageError) as error:
            # Of the case file, not of IR.
            raise UsageError(error.what, self._at(line.line), error.hint) from error

    def _run_line(self, line: RunLine, planned: Sequence[PlannedStep], folder: Path) -> Failure | None:
        began = time.perf_counter()
        try:
            self.results = execute(planned, folder)
        except HarnessError as error:  # a file that cannot be opened, a tool that was called wrongly
            raise UsageError(error.what, error.where or self._at(line.line), error.hint) from error
        seconds = time.perf_counter() - began
        self.evidence.seconds[COMPILE] = self.evidence.seconds.get(COMPILE, 0.0) + seconds
        tools = tuple(call.tool for step in planned for _, call in step.commands)
        self.evidence.commands.append(CommandEvidence(line.line, line.text, tools, round(seconds, 4)))
        if FILECHECK in tools and (note := fallback_note()) and note not in self.evidence.output:
            self.evidence.output += note + "\n"
        cause = next((one for one in self.results if one.failed), None)
        return None if cause is None else explain(cause, self._at(line.line), folder)

    def _apply_xfail(self) -> None:
        """A failure that the case says must come is as good as a pass; a pass in its place is none."""
        condition = next((one for one in self.case.xfail if self._evaluate(one).holds), None)
        failure = self.evidence.failure
        if condition is None or (failure is not None and not _is_finding(failure)):
            return
        if failure is not None:
            self.evidence.output += f"fails as XFAIL: {condition.text} says, in {failure.stage}: {failure.message}\n"
            self.evidence.failure = None
            self._enter("compare")
            return
        what = f"passes, and XFAIL: {condition.text} says that it fails"
        where, hint = self._at(condition.line), "take the XFAIL off, or narrow it to the releases that fail"
        self.evidence.failure = Failure("compare", "UnexpectedPass", what, where, hint)

    def _evaluate(self, condition: Condition) -> Answer:
        return evaluate(condition, features(), str(self.case.path))

    def _holds(self, text: str) -> bool:
        return self._evaluate(Condition(self.case.where.line, text)).holds

    def _at(self, line: int) -> SourceLocation:
        return SourceLocation(str(self.case.path), line)

    def _enter(self, stage: str, where: SourceLocation | None = None) -> None:
        self.evidence.stage = stage
        self.tell(stage, where)

    @contextmanager
    def _folder(self) -> Iterator[Path]:
        """For `%t` and what passes through pipes."""
        with tempfile.TemporaryDirectory(prefix="lit-") as folder:
            yield Path(folder)

    def _save(self, folder: Path) -> None:
        """For a person: the case, and what the last command of each pipe was given to read."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / self.case.path.name).write_text(self.case.path.read_text(encoding="utf-8"), encoding="utf-8")
            for number, result in enumerate(one for one in self.results if one.input):
                (folder / f"input-of-{number}-{result.call.tool}.txt").write_text(result.input, encoding="utf-8")
        except OSError:
            return  # the verdict itself is more than nothing
        self.evidence.artifacts = str(folder)


def _release() -> str:
    return installed_compiler().release


def _skipped(skip: Skip, where: SourceLocation) -> Failure:
    # Only what the wheel is excuses a listed case; a name that nobody knows would excuse any.
    return Failure("collect", "Absent:" if skip.certain else "Skipped", skip.reason, where)


# Failures that say nothing about the compiler, so that XFAIL cannot mean them.
_NO_FINDINGS = re.compile(r"Absent:|Skipped|UsageError|CaseError|EnvironmentFailed|OutOfMemory|Timeout")


def _is_finding(failure: Failure) -> bool:
    # An input that this release cannot even read says nothing of its passes.
    return failure.stage != "collect" and _NO_FINDINGS.fullmatch(failure.kind) is None
