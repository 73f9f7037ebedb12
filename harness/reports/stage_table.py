"""The table of a case's stages as text, and the count over a whole run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from harness.cases.evidence import Evidence, StageEvidence, Verdict
from harness.reports.words import plural

_LONGEST = 24  # rows of one launch: what matches is folded beyond it
_KEPT = 2  # matching rows beside one that is not
_MOST_OPS = 6


def stage_table(evidence: Evidence, every: bool = False) -> list[str]:
    """A line for each program that the pipeline went through; long runs of matching ones are folded unless `every`.

    Nothing for a target that has no such stages.
    """
    if not evidence.stages:
        return []
    lines: list[str] = []
    for number, launch in enumerate(evidence.launches):
        rows = [row for row in evidence.stages if row.launch == number]
        grid = "x".join(map(str, launch.grid))
        lines.append(f"{launch.kernel} on {evidence.target}, grid {grid}: {_counted(rows)}")
        lines += _rows(rows, every or len(rows) <= _LONGEST)
    return lines


def stage_counts(verdicts: Iterable[Verdict]) -> list[str]:
    """`stages: 5120 executed, 37 not executed (ttng.foo 30, ...)` of a run; nothing where it has no stages."""
    rows = [row for verdict in verdicts for row in verdict.evidence.stages]
    if not rows:
        return []
    total = sum(len(row.passes) for row in rows)
    missing = _blockers(rows)
    number = sum(missing.values())
    programs = sum(row.verdict != "not executed" for row in rows)
    ops = ", ".join(f"{op} {count}" for op, count in missing.most_common(_MOST_OPS))
    more = f", and {len(missing) - _MOST_OPS} more" if len(missing) > _MOST_OPS else ""
    reasons = f" ({ops}{more})" if ops else ""
    return [f"stages: {total - number} executed ({plural(programs, 'program')}), {number} not executed{reasons}"]


def _blockers(rows: Iterable[StageEvidence]) -> Counter[str]:
    missing: Counter[str] = Counter()
    for row in rows:
        if row.verdict == "not executed":
            missing[_op(row.blocker)] += len(row.passes)
    return missing


def _op(blocker: str) -> str:
    """The op alone, where the blocker begins with one and goes on with what of it has no meaning."""
    first = blocker.partition(" ")[0]
    return first if "." in first else blocker


def _counted(rows: Sequence[StageEvidence]) -> str:
    verdicts: Counter[str] = Counter()
    for row in rows:
        verdicts[row.verdict] += len(row.passes)
    found = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.items())
    return f"{plural(sum(verdicts.values()), 'stage')} ({found})"


def _rows(rows: Sequence[StageEvidence], every: bool) -> list[str]:
    rows = [row if row.reason != last.reason else replace(row, reason="") for last, row in _with_last(rows)]
    if every:
        return [_row(row) for row in rows]
    lines: list[str] = []
    for matching, group in groupby(rows, key=lambda row: row.verdict == "match"):
        several = list(group)
        if not matching or len(several) <= 2 * _KEPT + 1:
            lines += [_row(row) for row in several]
            continue
        folded = several[_KEPT:-_KEPT]
        count = sum(len(row.passes) for row in folded)
        lines += [_row(row) for row in several[:_KEPT]]
        lines.append(f"  {folded[0].number:>4}-{_last(folded[-1]):<4}       {count} more stages, all match")
        lines += [_row(row) for row in several[-_KEPT:]]
    return lines


def _with_last(rows: Sequence[StageEvidence]) -> Iterator[tuple[StageEvidence, StageEvidence]]:
    """Each row with the one before it, the first with one that says nothing."""
    return zip([StageEvidence(0, "", 0, "", (), ""), *rows], rows, strict=False)


def _row(row: StageEvidence) -> str:
    last = _last(row)
    span = f"{row.number:>4}-{last:<4}" if last > row.number else f"{row.number:>4}     "
    reason = f": {row.reason}" if row.reason else ""
    return f"  {span} {row.pipeline:5} {'after ' + (row.after or 'the front end'):46} {row.verdict}{reason}"


def _last(row: StageEvidence) -> int:
    return row.number + len(row.passes) - 1
