"""What changed since the last report.

Each case is compared with its own last verdict, kept in baseline.json over runs: a run of a few cases
neither forgets the others nor calls them gone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from harness.cases.evidence import Verdict
from harness.errors import UsageError
from harness.reports.codec import DecodeError, decode, encode
from harness.reports.record import Change, Comparison, Record, read_text, write_text

_PROVES_NOTHING = ("void", "skip")


@dataclass(frozen=True)
class Past:
    """The last verdict of one case."""

    outcome: str
    bucket: str
    stage: str

    def __str__(self) -> str:
        return f"{self.bucket} at {self.stage}" if self.bucket else self.outcome


@dataclass
class Baseline:
    """The last verdict that proved something, of every case."""

    cases: dict[str, Past] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> Baseline:
        """An empty one where there is no file. Raises UsageError for a file that is no baseline."""
        if not path.exists():
            return cls()
        try:
            return decode(cls, json.loads(read_text(path)))
        except (ValueError, DecodeError) as error:
            raise UsageError(f"{path} is not a baseline: {error}", hint="delete it to start a new one") from error

    @classmethod
    def of(cls, record: Record) -> Baseline:
        return cls().updated(record.verdicts, [])

    def updated(self, verdicts: Iterable[Verdict], gone: Iterable[str]) -> Baseline:
        cases = {case: past for case, past in self.cases.items() if case not in set(gone)}
        for verdict in verdicts:
            if verdict.outcome not in _PROVES_NOTHING:
                cases[verdict.case] = _past(verdict)
        return Baseline(cases)

    def save(self, path: Path) -> None:
        write_text(path, json.dumps(encode(self), indent=0, sort_keys=True) + "\n")


def compare(
    baseline: Baseline,
    verdicts: Iterable[Verdict],
    collected: frozenset[str] | None = None,
    left_out: tuple[str, ...] = (),
) -> Comparison:
    """Verdicts against the baseline. `collected` are all cases there are, but for those whose ids begin like one of
    `left_out`, or None when that is not known: only where it is can a case be said to be gone."""
    found = Comparison()
    for verdict in verdicts:
        if verdict.outcome not in _PROVES_NOTHING:
            _compare_case(baseline.cases.get(verdict.case), verdict, found)
    if collected is not None:
        found.gone = sorted(one for one in set(baseline.cases) - collected if not one.startswith(left_out))
    return found


def _compare_case(before: Past | None, verdict: Verdict, found: Comparison) -> None:
    after = _past(verdict)
    if before is None:
        found.added.append(verdict.case)
    change = Change(verdict.case, str(before or "new"), str(after))
    passed, passes = before is None or before.outcome == "pass", after.outcome == "pass"
    if passed and not passes:
        found.new_failures.append(change)
    if not passed and passes:
        found.fixed.append(change)
    if not passed and not passes and before != after:
        found.moved.append(change)


def _past(verdict: Verdict) -> Past:
    # The stage of a pass is always the last one; leaving it out keeps a renamed stage from being a change.
    return Past(verdict.outcome, verdict.bucket, verdict.stage if verdict.bucket else "")
