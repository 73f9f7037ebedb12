"""The table at the end of a run, as plain text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.reports import summary
from harness.reports.compare import Baseline, compare
from harness.reports.html import PAGE
from harness.reports.record import Comparison, Record
from harness.reports.timing_table import timing_lines

_COUNT_ONLY = ("new case", "new cases")
_NEW_FAILURES = ("new failure", "new failures")
_MOST = 10  # lines of one group: the rest is in the report


def terminal_table(record: Record, previous: Record | None = None, folder: str = "", failures: bool = True) -> str:
    """Passed, failed by bucket with the owning layer, refused, void; changes; how to rerun one failure.

    `previous` is compared with in place of the record's own comparison. `folder` is where the report is.
    `failures` says whether to list them, for who has not been told of them yet.
    """
    comparison = record.comparison
    if previous is not None:
        comparison = compare(Baseline.of(previous), record.verdicts)
    blocks = [
        [summary.headline(record), *summary.facts(record), *summary.warnings(record)],
        _bucket_table(record),
        _failures(record) if failures else [],
        _changes(comparison, len(summary.failures(record))),
        timing_lines(record),
        _gate(record),
        _next(record, folder),
    ]
    text = "\n\n".join("\n".join(block) for block in blocks if block)
    # Paths as one would type them here: kernel lines and the allowlist are recorded in full.
    return text.replace(f"{Path.cwd()}/", "")


def _bucket_table(record: Record) -> list[str]:
    groups = summary.by_bucket(record)
    if not groups:
        return []
    rows = [(group.bucket.name, str(len(group.verdicts)), group.bucket.owner) for group in groups]
    return _columns([("bucket", "cases", "owner"), *rows])


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _failures(record: Record) -> list[str]:
    if record.void:
        return []
    blocks = [
        f"{verdict.case}\n    {verdict.bucket} at {verdict.stage}: {verdict.summary}"
        for verdict in summary.failures(record)
    ]
    return summary.capped(blocks, _MOST)


def _changes(comparison: Comparison | None, failed: int) -> list[str]:
    if comparison is None:
        return []
    groups = summary.change_lines(comparison)
    if not groups:
        return ["since the last report: nothing changed"]
    lines = ["since the last report:"]
    # Where every failure is a new one, the list of failures is theirs.
    count_only = (*_COUNT_ONLY, *(_NEW_FAILURES if len(comparison.new_failures) == failed else ()))
    for title, changes in groups:
        lines.append(f"  {title}")
        if not title.endswith(count_only):
            lines += [f"    {line}" for line in summary.capped(changes, _MOST)]
    return lines


def _gate(record: Record) -> list[str]:
    if record.gate is None:
        return []
    lines = [summary.gate_headline(record.gate)]
    lines += [f"  {line}" for line in summary.capped(summary.gate_lines(record.gate), 2 * _MOST)]
    if record.gate.candidates:
        lines.append(f"  off the list and passing ({len(record.gate.candidates)}), for `harness allow`:")
        lines += [f"    {case}" for case in summary.capped(record.gate.candidates, _MOST)]
    return lines


def _next(record: Record, folder: str) -> list[str]:
    lines = []
    failed = [] if record.void else summary.failures(record)
    if failed:
        lines.append(f"rerun one: {record.run.rerun_command(failed[0].case)}")
        if failed[0].evidence.artifacts:
            lines.append(f"look at it: {_joined(folder, failed[0].evidence.artifacts)}")
    # A run that died, or a full disk, leaves none.
    if folder and Path(folder, PAGE).is_file():
        lines.append(f"report: {_joined(folder, PAGE)}")
    return lines


def _joined(folder: str, name: str) -> str:
    return f"{folder.rstrip('/')}/{name}" if folder else name
