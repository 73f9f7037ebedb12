"""Keeps the report folder while the suite runs: nothing that was found is lost when the run dies.

<folder>/journal.jsonl    a line per verdict, written as it comes
         record.json      the whole run, written at the end
         baseline.json    the last verdict of every case, over runs
         failures/<case>/ see harness.reports.artifacts
         summary.md  junit.xml  index.html
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path

from harness.cases.evidence import Verdict
from harness.errors import UsageError
from harness.gate import Gate, Scope
from harness.reports.artifacts import FailureArtifacts, folder_name
from harness.reports.codec import encode
from harness.reports.compare import Baseline, compare
from harness.reports.failure_text import failure_text
from harness.reports.html import PAGE, html_page
from harness.reports.journal import Journal, assemble, run_of_journal, void_if_changed
from harness.reports.junit import junit_xml
from harness.reports.markdown import markdown
from harness.reports.record import Record, RunInfo, run_of_record, unique_verdicts, write_text
from harness.verdicts.fingerprint import Fingerprint, take_fingerprint

JOURNAL, RECORD, BASELINE, FAILURES = "journal.jsonl", "record.json", "baseline.json", "failures"
_PAGES: dict[str, Callable[[Record], str]] = {"summary.md": markdown, "junit.xml": junit_xml, PAGE: html_page}


@dataclass
class Recorder:
    """One run being recorded: `start`, `add` each verdict as it comes, `finish`.

    root  the folder that node ids start from
    """

    folder: Path
    run: RunInfo
    before: Fingerprint
    journal: Journal
    baseline: Baseline
    fingerprint: Callable[[], Fingerprint]
    root: Path = field(default_factory=Path.cwd)
    started: float = field(default_factory=time.monotonic)
    verdicts: list[Verdict] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)

    @classmethod
    def start(
        cls,
        folder: Path,
        run: RunInfo,
        fingerprint: Callable[[], Fingerprint] = take_fingerprint,
        root: Path | None = None,
    ) -> Recorder:
        """Takes the fingerprint and opens the journal; an earlier run that died is put into the baseline first.

        `fingerprint` is called at the start and at the end; give one that names further toolchains where
        an external compiler takes part. `root` is where node ids start, by default the working directory.
        Raises UsageError where the folder cannot be written.
        """
        run = run if run.started else replace(run, started=datetime.now(timezone.utc).isoformat(timespec="seconds"))
        baseline = _baseline_with_the_dead(folder)
        before = fingerprint()
        _hide_from_git(folder)
        journal = Journal.create(folder / JOURNAL, run, before)
        _clear_outputs(folder)
        return cls(folder, run, before, journal, baseline, fingerprint, root or Path.cwd())

    def add(self, verdict: Verdict) -> Verdict:
        """Writes the verdict down, and for a failure completes its folder; returns it as recorded.

        What cannot be written (a full disk) becomes one of `Record.troubles`: the other results go on.
        """
        if verdict.outcome == "fail":
            with self._troubles():
                verdict = self._with_folder(verdict)
        self.verdicts.append(verdict)
        with self._troubles():
            self.journal.add(verdict)
        return verdict

    def finish(
        self,
        gate: Gate | None = None,
        scope: Scope | None = None,
        *,
        strict: bool = False,
        interrupted: bool = False,
        notes: Sequence[str] = (),
    ) -> Record:
        """Ends the run, applies the gate, writes the record and every output; returns the record.

        `notes` become the record's. What cannot be written is in `Record.troubles`.
        """
        after = self.fingerprint()
        seconds = time.monotonic() - self.started
        with self._troubles():
            self.journal.end(seconds, interrupted, after)
        record = Record(self.run, self.before, after, seconds, interrupted, verdicts=unique_verdicts(self.verdicts))
        void_if_changed(record)
        self._compare(record, scope)
        if gate is not None:
            record.gate = gate.check(record.verdicts, scope or Scope.of_verdicts(record.verdicts), strict=strict)
        record.troubles, record.notes = self.troubles, list(notes)
        with self._troubles():
            write_outputs(record, self.folder)
        return record

    @contextmanager
    def _troubles(self) -> Iterator[None]:
        """Turns what cannot be written into a sentence, said once."""
        try:
            yield
        except (OSError, UsageError) as error:
            if str(error) not in self.troubles:
                self.troubles.append(str(error))

    def _compare(self, record: Record, scope: Scope | None) -> None:
        collected = scope.collected if scope and scope.whole and not record.interrupted else None
        if self.baseline.cases:
            record.comparison = compare(self.baseline, record.verdicts, collected, scope.left_out if scope else ())
        gone = record.comparison.gone if record.comparison else []
        with self._troubles():
            self.baseline.updated(record.verdicts, gone).save(self.folder / BASELINE)

    def _with_folder(self, verdict: Verdict) -> Verdict:
        folder = self.folder / FAILURES / folder_name(verdict.case)
        _move_into(verdict.evidence.artifacts, folder)
        evidence = replace(verdict.evidence, artifacts=f"{FAILURES}/{folder.name}")
        verdict = replace(verdict, evidence=evidence)
        versions = {name: part.version for name, part in self.before.parts.items()}
        command = self.run.rerun_command(verdict.case)
        error, root = _error_text(verdict, command), os.path.relpath(self.root, folder)
        FailureArtifacts(error=error, versions=versions, command=command, root=root).save(folder)
        write_text(folder / "verdict.json", json.dumps(encode(verdict), indent=1) + "\n")
        return verdict


def _hide_from_git(folder: Path) -> None:
    """Makes the folder, and has the outermost one that is new ignore itself, as pytest's cache does."""
    new = [path for path in (folder, *folder.parents) if not path.exists()]
    if not new:
        return
    try:
        folder.mkdir(parents=True)
        (new[-1] / ".gitignore").write_text("# Made by the harness.\n*\n", encoding="ascii")
    except OSError as error:
        raise UsageError(f"cannot write the report folder {folder}: {error.strerror}") from error


def write_outputs(record: Record, folder: Path) -> None:
    """Writes record.json and what is made from it. Raises UsageError where the folder cannot be written."""
    record.save(folder / RECORD)
    for name, page in _PAGES.items():
        write_text(folder / name, page(record))


def load_report(path: Path) -> Record:
    """The record of a report folder, a record file, or a journal; of a run that died, as far as it came.

    Raises UsageError where there is none.
    """
    if path.suffix == ".jsonl":
        return assemble(path)
    if not path.is_dir():
        return Record.load(path)
    journal = path / JOURNAL
    if _is_unfinished(path):
        return assemble(journal)
    return Record.load(path / RECORD)


def _is_unfinished(folder: Path) -> bool:
    """Whether the last run in the folder wrote a journal and no record after it."""
    journal, record = folder / JOURNAL, folder / RECORD
    if not journal.exists():
        return False
    return not record.exists() or run_of_journal(journal) != run_of_record(record)


def _baseline_with_the_dead(folder: Path) -> Baseline:
    baseline = Baseline.load(folder / BASELINE)
    try:
        if _is_unfinished(folder):
            return baseline.updated(assemble(folder / JOURNAL).verdicts, [])
    except UsageError:  # a record or journal of another version: it cannot be compared with, and that is all
        return baseline
    return baseline


def _clear_outputs(folder: Path) -> None:
    """Removes what the last run left: if this one dies, nobody may take that for its own. Other files stay."""
    for name in (RECORD, *_PAGES):
        with suppress(OSError):
            (folder / name).unlink()
    for old in (folder / FAILURES).glob("*/verdict.json"):
        shutil.rmtree(old.parent, ignore_errors=True)


def _move_into(artifacts: str, folder: Path) -> None:
    source = Path(artifacts)
    if not artifacts or not source.is_dir() or source.resolve() == folder.resolve():
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(source, folder)


def _error_text(verdict: Verdict, command: str) -> str:
    output = verdict.evidence.output
    parts = [verdict.case, failure_text(verdict, verbose=True), f"rerun:     {command}"]
    return "\n\n".join([*parts, *([f"--- output\n{output}"] if output else [])]) + "\n"
