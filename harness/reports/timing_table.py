"""The cycles of a run, launch by launch: the table that ends a run with --timing."""

from __future__ import annotations

from collections.abc import Sequence

from harness.cases.evidence import TimingEvidence
from harness.reports.record import Record

_MOST = 20
_TIMES = (("s", 1.0), ("ms", 1e-3), ("us", 1e-6), ("ns", 1e-9))
_SIZES = (("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("B", 1.0))


def timed(record: Record) -> list[tuple[str, str, TimingEvidence]]:
    """(case, kernel, timing) of every launch that was timed, the longest first."""
    found = [
        (verdict.case, launch.kernel, launch.timing)
        for verdict in record.verdicts
        for launch in verdict.evidence.launches
        if launch.timing is not None
    ]
    return sorted(found, key=lambda row: (-row[2].cycles, row[0]))


def timing_lines(record: Record) -> list[str]:
    """A sentence on the whole run, then a row for each of the longest launches; empty where nothing was timed."""
    return launch_lines([(case, timing) for case, _, timing in timed(record)])


def launch_lines(rows: Sequence[tuple[str, TimingEvidence]], label: str = "case", most: int = _MOST) -> list[str]:
    """The same of launches with a label each, at most `most` of them, in their order."""
    if not rows:
        return []
    known = [timing for _, timing in rows if not timing.reason]
    unknown = len(rows) - len(known)
    total = f"{len(known)} launches on {rows[0][1].machine}: {sum(one.cycles for one in known)} cycles"
    lines = [f"{total}, {_readable(sum(one.seconds for one in known), _TIMES)}"]
    if unknown:
        lines[0] += f"; without cycles: {unknown}, for a reason that the report has"
    engines = list(known[0].busy) if known else []
    head = ("cycles", "time", *engines, "in", "out", "bound", "roofline", label)
    table = [head, *(_row(case, one, engines) for case, one in rows[:most] if not one.reason)]
    widths = [max(len(row[column]) for row in table) for column in range(len(head))]
    for row in table if known else []:
        *numbers, case = zip(row, widths, strict=True)
        lines.append("  ".join([*(text.rjust(width) for text, width in numbers), case[0]]))
    if len(known) > most:
        lines.append(f"... and {len(known) - most} shorter ones, in the report")
    return lines


def _row(case: str, one: TimingEvidence, engines: Sequence[str]) -> tuple[str, ...]:
    shares = tuple(f"{one.busy[engine]:.0%}" for engine in engines)
    moved = (_readable(one.bytes_in, _SIZES), _readable(one.bytes_out, _SIZES))
    return (str(one.cycles), _readable(one.seconds, _TIMES), *shares, *moved, one.bound, f"{one.achieved:.0%}", case)


def _readable(amount: float, units: Sequence[tuple[str, float]]) -> str:
    name, size = next((unit for unit in units if amount >= unit[1]), units[-1])
    return f"{amount / size:.3g} {name}"
