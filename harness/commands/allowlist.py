"""`harness allow` and `harness disallow`: changing allowlist.txt."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from harness.commands.collected import check_cases, collected_cases
from harness.commands.project import allowlist_file, last_report
from harness.errors import UsageError
from harness.gate import Gate, allow, covering_entries, disallow
from harness.reports import Baseline, Record, load_report
from harness.reports.recorder import BASELINE
from harness.reports.summary import capped
from harness.verdicts import bucket_named

_MOST = 10  # sentences about cases that nobody named


def register(subcommands: Any) -> None:
    adding: argparse.ArgumentParser = subcommands.add_parser("allow", help="cases that must pass from now on")
    adding.add_argument("node_ids", nargs="*", metavar="NODEID")
    adding.add_argument("--candidates", action="store_true", help="every candidate that the last gated run names")
    adding.add_argument(
        "--all-passing", action="store_true", help="every case whose last verdict is a pass: a first list"
    )
    adding.add_argument("--report", type=Path, metavar="RECORD")
    adding.set_defaults(run=run_allow)
    removing: argparse.ArgumentParser = subcommands.add_parser(
        "disallow", help="take a case off, or list how it is known to fail"
    )
    removing.add_argument("node_id", metavar="NODEID")
    removing.add_argument("--reason", required=True, help="stays in the file")
    removing.add_argument("--bucket", default="", metavar="BUCKET", help="it is known to fail so")
    removing.add_argument("--stage", default="", help="and only in this stage")
    removing.add_argument(
        "--split", action="store_true", help="of a pattern's line that it is on, list the other cases by name"
    )
    removing.set_defaults(run=run_disallow)
    for command in (adding, removing):
        command.add_argument("--allowlist", type=Path, metavar="FILE")


def run_allow(options: argparse.Namespace) -> int:
    """Raises UsageError where there is nothing to add, or a node id is no case's."""
    node_ids = options.node_ids + _reported(options)
    if not node_ids:
        hint = "name node ids, or pass --candidates after a gated run, or --all-passing after any"
        raise UsageError("there is nothing to allow", hint=hint)
    check_cases(options.node_ids)
    sentences = allow(options.allowlist or allowlist_file(), node_ids)
    print("\n".join(sentences if options.node_ids else capped(sentences, _MOST)))
    return 0


def run_disallow(options: argparse.Namespace) -> int:
    """Raises UsageError for what is not on the list, or, to be listed with its bucket, is no case's."""
    if options.bucket:
        bucket_named(options.bucket)
    allowlist = options.allowlist or allowlist_file()
    cases = _cases_beside(allowlist, options.node_id) if options.split else None
    if options.bucket and not (cases and options.node_id in cases):
        check_cases([options.node_id])
    print(disallow(allowlist, options.node_id, options.reason, options.bucket, options.stage, cases))
    return 0


def _cases_beside(allowlist: Path, node_id: str) -> list[str] | None:
    """Those of the patterns' lines that hold the case; None where there is no such line."""
    entries = covering_entries(Gate.load(allowlist).entries, node_id)
    return collected_cases(entries) if entries else None


def _reported(options: argparse.Namespace) -> list[str]:
    """What the report says is to be taken up."""
    if not (options.candidates or options.all_passing):
        return []
    report = options.report or last_report()
    record = load_report(report)
    passing = _passing(report, record) if options.all_passing else []
    return passing + (record.gate.candidates if options.candidates and record.gate else [])


def _passing(report: Path, record: Record) -> list[str]:
    """By their last verdicts, which a run of a few leaves alone; of a single record, by that."""
    if not report.is_dir():
        return [verdict.case for verdict in record.by_outcome("pass")]
    last = Baseline.load(report / BASELINE).updated(record.verdicts, [])
    return [case for case, past in sorted(last.cases.items()) if past.outcome == "pass"]
