"""`harness coverage`: every op the front end can produce against the cases that exercise it, holes named.

It reads what the cases of a recorded run executed; nothing is compiled or run again. Passes rewrite some
ops away (block pointers, for one): those show in a run with `--target ttir`, and records can be given together.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.cases.evidence import Verdict
from harness.commands.front_end_ops import ALIASES, FRONT_END_OPS, UNREACHABLE
from harness.commands.project import last_report
from harness.errors import UsageError
from harness.reports import Baseline, Record, load_report
from harness.reports.recorder import BASELINE
from harness.reports.words import plural

# What ends a region: counted with the op the region belongs to.
_STRUCTURE = ("tt.reduce.return", "tt.scan.return", "tt.map_elementwise.return", "scf.yield", "scf.condition")


@dataclass(frozen=True)
class OpCoverage:
    """One op: the passing cases that executed it, on what, and what it takes besides.

    `reason` says of an op that no case executed why none can.
    """

    op: str
    cases: tuple[str, ...]
    covered: tuple[str, ...]
    missing: tuple[str, ...]
    reason: str = ""

    @property
    def is_hole(self) -> bool:
        return not self.cases

    def to_plain(self) -> dict[str, Any]:
        """For JSON."""
        plain = {"op": self.op, "cases": list(self.cases), "covered": list(self.covered), "missing": list(self.missing)}
        return plain | ({"reason": self.reason} if self.reason else {})


@dataclass(frozen=True)
class CoverageMap:
    """`ops` as the table has them; `unlisted` are ops that a case executed and the table does not know.

    `runs` says of each record how many cases it holds, and what is missing from it.
    """

    ops: tuple[OpCoverage, ...]
    unlisted: tuple[str, ...]
    runs: tuple[str, ...] = ()


def coverage_map(verdicts: Iterable[Verdict], expected: Mapping[str, tuple[str, ...]] = FRONT_END_OPS) -> CoverageMap:
    """What passing cases executed against what could be. A case that fails shows nothing about an op."""
    cases: dict[str, list[str]] = {}
    seen: dict[str, set[str]] = {}
    for verdict in verdicts:
        if verdict.outcome != "pass":
            continue
        for name, variants in verdict.evidence.operations.items():
            op = ALIASES.get(name, name)
            cases.setdefault(op, []).append(verdict.case)
            seen.setdefault(op, set()).update(variants)
    ops = tuple(_coverage_of(op, takes, cases.get(op, []), seen.get(op, set())) for op, takes in expected.items())
    return CoverageMap(ops, tuple(sorted(set(cases) - set(expected) - set(_STRUCTURE))))


def _coverage_of(op: str, takes: tuple[str, ...], cases: list[str], seen: set[str]) -> OpCoverage:
    covered = tuple(one for one in takes if one in seen)
    missing = tuple(one for one in takes if one not in seen)
    return OpCoverage(op, tuple(cases), covered, missing, "" if cases else UNREACHABLE.get(op, ""))


def register(subcommands: Any) -> None:
    command: argparse.ArgumentParser = subcommands.add_parser(
        "coverage", help="ops of the front end against the cases that exercise them", description=__doc__
    )
    command.add_argument("records", nargs="*", type=Path, metavar="RECORD")
    command.add_argument("--format", choices=("text", "md", "json"), default="text")
    command.add_argument("--holes", action="store_true", help="only what no case exercises")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Raises UsageError for records in which no case says what it executed."""
    records = [(path, load_report(path)) for path in options.records or [last_report()]]
    verdicts = [verdict for _, record in records for verdict in record.verdicts]
    if not any(verdict.evidence.operations for verdict in verdicts):
        hint = "cases do that ran to their end on the npu or ttir target"
        raise UsageError("no case of the record says which ops it executed", hint=hint)
    found = replace(coverage_map(verdicts), runs=tuple(_told_of(path, record) for path, record in records))
    sys.stdout.write(_FORMATS[options.format](found, options.holes))
    return 0


def _told_of(path: Path, record: Record) -> str:
    """How much of what there is the record is about: a run of some cases says nothing about the others."""
    ran = {verdict.case for verdict in record.verdicts}
    left_out = sorted(set(Baseline.load(path / BASELINE).cases) - ran) if path.is_dir() else []
    early = ", which ended early" if record.interrupted else ""
    told = f"Of a run of {plural(len(ran), 'case')} ({' '.join(record.run.command)}){early}."
    if not left_out:
        return told
    return f"{told} Not part of it: {plural(len(left_out), 'case')} of earlier runs, such as {left_out[0]}."


def _text(found: CoverageMap, only_holes: bool) -> str:
    shown = [one for one in found.ops if not only_holes or one.is_hole or one.missing]
    width = max((len(one.op) for one in shown), default=0)
    lines = []
    for one in shown:
        missing = f"  missing: {' '.join(one.missing)}" if one.missing else ""
        reason = f"  {one.reason}" if one.reason else ""
        lines.append(f"{one.op:<{width}}  {len(one.cases) or 'NO':>4} cases{missing}{reason}")
    return "\n".join([*lines, "", *_conclusions(found)]) + "\n"


def _markdown(found: CoverageMap, only_holes: bool) -> str:
    shown = [one for one in found.ops if not only_holes or one.is_hole or one.missing]
    rows = [
        f"| `{one.op}` | {len(one.cases) or '**none**'} | {' '.join(one.covered)} | {_not_exercised(one)} |"
        for one in shown
    ]
    table = ["| op | cases | exercised on | not exercised on |", "|---|---|---|---|", *rows]
    return "\n".join([*table, "", *(f"{line}  " for line in _conclusions(found))]) + "\n"


def _not_exercised(one: OpCoverage) -> str:
    return one.reason or " ".join(one.missing)


def _json(found: CoverageMap, only_holes: bool) -> str:
    shown = [one.to_plain() for one in found.ops if not only_holes or one.is_hole or one.missing]
    return json.dumps({"ops": shown, "unlisted": list(found.unlisted), "runs": list(found.runs)}, indent=1) + "\n"


def _conclusions(found: CoverageMap) -> list[str]:
    holes = [one.op for one in found.ops if one.is_hole and not one.reason]
    explained = [one.op for one in found.ops if one.reason]
    total = sum(len(one.covered) + len(one.missing) for one in found.ops)
    covered = sum(len(one.covered) for one in found.ops)
    lines = [
        *found.runs,
        f"{sum(not one.is_hole for one in found.ops)} of {len(found.ops)} ops are exercised, "
        f"and {covered} of {total} of the types and kinds they take.",
        f"Ops no passing case exercises: {', '.join(holes) or 'none'}.",
    ]
    if explained:
        lines.append(f"And those that no case on the default target can: {', '.join(explained)}.")
    if found.unlisted:
        lines.append(f"Executed, and not in the table of what the front end produces: {', '.join(found.unlisted)}.")
    return lines


_FORMATS = {"text": _text, "md": _markdown, "json": _json}
