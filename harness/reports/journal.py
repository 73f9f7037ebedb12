"""The journal: one JSON line for each thing that happened, written as it happens.

Lines: {"schema": 1, "run": RunInfo, "before": Fingerprint}, then {"verdict": Verdict} for every case, then
{"end": {"seconds", "interrupted", "after"}}. A run that died has no end, and its last line may be cut
short; everything before it is still there.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from harness.cases.evidence import Verdict
from harness.errors import UsageError
from harness.reports.codec import DecodeError, decode, encode
from harness.reports.record import SCHEMA, Record, RunInfo, read_text, unique_verdicts
from harness.verdicts import changed, voided
from harness.verdicts.fingerprint import Fingerprint


@dataclass
class Journal:
    """An open journal. Every line is flushed to the system, so only the machine's own death loses one."""

    file: TextIO

    @classmethod
    def create(cls, path: Path, run: RunInfo, before: Fingerprint) -> Journal:
        """Raises UsageError where the folder cannot be written."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            file = path.open("w", encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            raise UsageError(f"cannot write the report folder {path.parent}: {error.strerror}") from error
        journal = cls(file)
        journal._write({"schema": SCHEMA, "run": encode(run), "before": encode(before)})
        return journal

    def add(self, verdict: Verdict) -> None:
        self._write({"verdict": encode(verdict)})

    def end(self, seconds: float, interrupted: bool, after: Fingerprint) -> None:
        self._write({"end": {"seconds": seconds, "interrupted": interrupted, "after": encode(after)}})
        self.file.close()

    def _write(self, entry: dict[str, Any]) -> None:
        self.file.write(json.dumps(entry, allow_nan=False) + "\n")
        self.file.flush()


def assemble(path: Path) -> Record:
    """The record of a journal, of a dead run too. Raises UsageError for a file that is no journal."""
    entries = _entries(path)
    if not entries or entries[0].get("schema") != SCHEMA:
        raise UsageError(f"{path} is not a journal of schema {SCHEMA}")
    try:
        return _assembled(entries)
    except (DecodeError, KeyError) as error:
        raise UsageError(f"{path} is not a journal of schema {SCHEMA}: {error}") from error


def _assembled(entries: list[dict[str, Any]]) -> Record:
    record = Record(decode(RunInfo, entries[0]["run"]), decode(Fingerprint, entries[0]["before"]), interrupted=True)
    record.verdicts = unique_verdicts(decode(Verdict, entry["verdict"]) for entry in entries if "verdict" in entry)
    if "end" not in entries[-1]:
        return record
    end = entries[-1]["end"]
    record.seconds, record.interrupted = decode(float, end["seconds"]), decode(bool, end["interrupted"])
    record.after = decode(Fingerprint, end["after"])
    void_if_changed(record)
    return record


def run_of_journal(path: Path) -> RunInfo | None:
    """How the journal's run was started, without reading its verdicts; None for what is no journal."""
    first = read_text(path).partition("\n")[0]
    try:
        return decode(RunInfo, json.loads(first)["run"])
    except (ValueError, KeyError, TypeError):
        return None


def void_if_changed(record: Record) -> None:
    """Fills `record.void` and voids its verdicts where the toolchain changed between start and end."""
    if record.after is None:
        return
    record.void = changed(record.before, record.after)
    if record.void:
        record.verdicts = [voided(verdict, record.void) for verdict in record.verdicts]


def _entries(path: Path) -> list[dict[str, Any]]:
    lines = read_text(path).splitlines()
    entries = []
    for number, line in enumerate(lines, start=1):
        try:
            entries.append(json.loads(line))
        except ValueError as error:
            if number == len(lines):  # cut short by the death of the run
                break
            raise UsageError(f"{path}:{number} is not a journal line") from error
    return [entry for entry in entries if isinstance(entry, dict)]
