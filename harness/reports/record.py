"""The record: everything about one run of the suite, in one versioned JSON file that feeds every output.

The schema is documented in docs/report-schema.md; change SCHEMA and that page together.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.cases.evidence import Verdict
from harness.errors import UsageError
from harness.gate.gate import GateResult
from harness.reports.codec import DecodeError, decode, encode
from harness.verdicts.fingerprint import Fingerprint

SCHEMA = 1


@dataclass(frozen=True)
class RunInfo:
    """How the run was started.

    command   as typed, argument by argument
    targets   chosen targets by name
    started   ISO 8601, UTC
    rerun     pytest options that a rerun of one case needs, such as ("--checks=full",)
    shard     "2/4", or "" where the run is whole
    """

    command: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    started: str = ""
    rerun: tuple[str, ...] = ()
    shard: str = ""

    def rerun_command(self, case: str) -> str:
        """What to type, in the folder pytest's node ids start from, to run one case again."""
        return shlex.join(["python", "-m", "pytest", *self.rerun, case])


@dataclass(frozen=True)
class Change:
    """One case whose verdict differs from its last one; `before` and `after` read "bucket at stage" or "pass"."""

    case: str
    before: str
    after: str


@dataclass
class Comparison:
    """Against the last verdict of each case. Cases that did not run this time are not compared."""

    new_failures: list[Change] = field(default_factory=list)
    fixed: list[Change] = field(default_factory=list)
    moved: list[Change] = field(default_factory=list)
    added: list[str] = field(default_factory=list)
    gone: list[str] = field(default_factory=list)

    @property
    def is_empty(self) -> bool:
        return not (self.new_failures or self.fixed or self.moved or self.added or self.gone)


@dataclass
class Record:
    """See docs/report-schema.md.

    seconds      wall time of the run; of merged shards, the sum
    interrupted  the run ended before its cases did: Ctrl-C, -x, or a death from outside
    void         what changed under the run; when not empty every verdict is void
    troubles     what could not be written down while the run went on, a sentence each
    notes        where pytest counts otherwise, and why: lost workers, files without cases, cases that never ran
    comparison   None where there is no earlier report to compare with
    gate         None where no gate was asked for
    """

    run: RunInfo
    before: Fingerprint
    after: Fingerprint | None = None
    seconds: float = 0.0
    interrupted: bool = False
    void: list[str] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    comparison: Comparison | None = None
    gate: GateResult | None = None

    def to_json(self) -> str:
        """A line for each field, and for each verdict in a list of them."""
        fields = {"schema": SCHEMA, **encode(self)}
        return "{\n" + ",\n".join(f"{_json(name)}: {_json_lines(value)}" for name, value in fields.items()) + "\n}\n"

    @classmethod
    def from_json(cls, text: str, name: str = "record") -> Record:
        """Raises UsageError for text that is not a record of this schema."""
        try:
            data = json.loads(text)
        except ValueError as error:
            raise UsageError(f"{name} is not JSON: {error}") from error
        schema = data.pop("schema", None) if isinstance(data, dict) else None
        if schema != SCHEMA:
            raise UsageError(f"{name} is not a record of schema {SCHEMA}", hint=f"its schema is {schema!r}")
        try:
            return decode(cls, data)
        except DecodeError as error:
            raise UsageError(f"{name} is not a record of schema {SCHEMA}: {error}") from error

    @classmethod
    def load(cls, path: Path) -> Record:
        """Reads a record. Raises UsageError where there is none or it cannot be read."""
        return cls.from_json(read_text(path), str(path))

    def save(self, path: Path) -> None:
        write_text(path, self.to_json())

    def by_outcome(self, *outcomes: str) -> list[Verdict]:
        return [verdict for verdict in self.verdicts if verdict.outcome in outcomes]


def _json_lines(value: Any) -> str:
    # Not `indent`, with which Python encodes in Python: seconds for a run of thousands of cases.
    if not isinstance(value, list) or not value:
        return _json(value)
    return "[\n" + ",\n".join(map(_json, value)) + "\n]"


def _json(value: Any) -> str:
    return json.dumps(value, allow_nan=False)


def run_of_record(path: Path) -> RunInfo | None:
    """How the recorded run was started, without reading its verdicts; None for what is no record."""
    try:
        return decode(RunInfo, json.loads(read_text(path))["run"])
    except (ValueError, KeyError, TypeError):
        return None


def read_text(path: Path) -> str:
    """The file's text. Raises UsageError, with the reason, where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise UsageError(f"there is no {path}", hint="run pytest first, or name a record") from error
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}") from error


def write_text(path: Path, text: str) -> None:
    """Writes through a partial file, so that a reader never sees half. Raises UsageError."""
    partial = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # surrogates: what a kernel printed may not be UTF-8
        partial.write_text(text, encoding="utf-8", errors="backslashreplace")
        partial.replace(path)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from error


def unique_verdicts(verdicts: Iterable[Verdict]) -> list[Verdict]:
    """The last verdict of each case, in order of first appearance: a case that ran again counts once."""
    last: dict[tuple[str, str], Verdict] = {}
    for verdict in verdicts:
        last[verdict.case, verdict.target] = verdict
    return list(last.values())


def encode_verdict(verdict: Verdict) -> Any:
    return encode(verdict)


def decode_verdict(data: Any) -> Verdict:
    """Raises DecodeError."""
    return decode(Verdict, data)
