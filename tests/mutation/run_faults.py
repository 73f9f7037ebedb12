"""Faults that no single case shows: in the toolchain, the gate, and on the way of a verdict into the record."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from harness.cases.evidence import Verdict
from harness.gate import Gate, Scope
from harness.reports import Record, Recorder, RunInfo
from harness.reports.summary import gate_lines
from harness.verdicts import Fingerprint
from harness.verdicts.fingerprint import fingerprint_of_path

_MIB = 1 << 20

Found = tuple[str, str]


@dataclass(frozen=True)
class RunFault:
    """`happens` is given an empty folder and the verdict on a case that passed; it returns what the run ends in
    (a bucket, or the kind of a gate's problem) and what a user reads. `expected` is what it must end in."""

    name: str
    breaks: str
    expected: str
    happens: Callable[[Path, Verdict], Found]


def run_faults() -> list[RunFault]:
    return [
        RunFault("toolchain-rebuilt", "a file of the toolchain is written while cases run", "void", _rebuilt),
        RunFault(
            "toolchain-relinked",
            "a large library is replaced by one of the same size, beginning and end",
            "void",
            _relinked,
        ),
        RunFault("gate-reads-nothing", "the gate takes the allowlist for an empty file", "empty", _nothing_listed),
        RunFault("verdict-lost", "the verdict on a listed case does not reach the record", "not-run", _verdict_lost),
        RunFault(
            "pass-unearned",
            "a verdict says pass although its launch was not simulated",
            "unearned",
            _not_simulated,
        ),
    ]


def without_fault(folder: Path, passed: Verdict) -> Record:
    """The same run with nothing wrong: it must be green and not void."""
    toolchain = _toolchain(folder, b"one")
    return _recorded(folder, toolchain, [passed], _nothing_happens, _listing(folder, passed))


def _rebuilt(folder: Path, passed: Verdict) -> Found:
    toolchain = _toolchain(folder, b"one")
    return _ending(_recorded(folder, toolchain, [passed], lambda: toolchain.write_bytes(b"two")))


def _relinked(folder: Path, passed: Verdict) -> Found:
    def library(middle: bytes) -> bytes:
        return bytes(_MIB) + middle + bytes(_MIB)

    toolchain = _toolchain(folder, library(b"one"))

    def relink() -> None:
        new = folder / "new"
        new.write_bytes(library(b"two"))
        os.replace(new, toolchain)

    return _ending(_recorded(folder, toolchain, [passed], relink))


def _nothing_listed(folder: Path, passed: Verdict) -> Found:
    gate = replace(_listing(folder, passed), entries=())
    return _ending(_recorded(folder, _toolchain(folder, b"one"), [passed], _nothing_happens, gate))


def _verdict_lost(folder: Path, passed: Verdict) -> Found:
    gate, scope = _listing(folder, passed), Scope(frozenset({passed.case}))
    return _ending(_recorded(folder, _toolchain(folder, b"one"), [], _nothing_happens, gate, scope))


def _not_simulated(folder: Path, passed: Verdict) -> Found:
    launches = [replace(one, simulated=False) for one in passed.evidence.launches]
    verdict = replace(passed, evidence=replace(passed.evidence, launches=launches))
    toolchain = _toolchain(folder, b"one")
    return _ending(_recorded(folder, toolchain, [verdict], _nothing_happens, _listing(folder, passed)))


def _nothing_happens() -> None:
    """While the cases run."""


def _toolchain(folder: Path, content: bytes) -> Path:
    path = folder / "toolchain.so"
    path.write_bytes(content)
    return path


def _listing(folder: Path, passed: Verdict) -> Gate:
    path = folder / "allowlist.txt"
    path.write_text(f"{passed.case}\n", encoding="utf-8")
    return replace(Gate.load(path), path=path.name)


def _recorded(
    folder: Path,
    toolchain: Path,
    verdicts: list[Verdict],
    meanwhile: Callable[[], object],
    gate: Gate | None = None,
    scope: Scope | None = None,
) -> Record:
    def fingerprint() -> Fingerprint:
        return Fingerprint({"toolchain": fingerprint_of_path(toolchain)})

    recorder = Recorder.start(folder / "report", RunInfo(("pytest",), ("npu",)), fingerprint)
    for verdict in verdicts:
        recorder.add(verdict)
    meanwhile()
    return recorder.finish(gate, scope)


def _ending(record: Record) -> Found:
    if record.gate is not None and record.gate.problems:
        return record.gate.problems[0].kind, gate_lines(record.gate)[0]
    return (record.verdicts[0].bucket, record.verdicts[0].summary) if record.verdicts else ("", "")
