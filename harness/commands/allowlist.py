"""`harness allow` and `harness disallow`: changing allowlist.txt."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from harness.commands.report import DEFAULT_FOLDER
from harness.errors import UsageError
from harness.gate import allow, disallow
from harness.reports import load_report
from harness.verdicts import BUCKET_NAMES


def register(subcommands: Any) -> None:
    adding: argparse.ArgumentParser = subcommands.add_parser("allow", help="cases that must pass from now on")
    adding.add_argument("node_ids", nargs="*", metavar="NODEID")
    adding.add_argument("--candidates", action="store_true", help="every candidate that the last gated run names")
    adding.add_argument("--report", type=Path, default=DEFAULT_FOLDER, metavar="RECORD")
    adding.set_defaults(run=run_allow)
    removing: argparse.ArgumentParser = subcommands.add_parser(
        "disallow", help="take a case off, or list how it is known to fail"
    )
    removing.add_argument("node_id", metavar="NODEID")
    removing.add_argument("--reason", required=True, help="stays in the file")
    removing.add_argument("--bucket", default="", choices=BUCKET_NAMES, metavar="BUCKET", help="it is known to fail so")
    removing.add_argument("--stage", default="", help="and only in this stage")
    removing.set_defaults(run=run_disallow)
    for command in (adding, removing):
        command.add_argument("--allowlist", type=Path, default=Path("allowlist.txt"), metavar="FILE")


def run_allow(options: argparse.Namespace) -> int:
    """Raises UsageError where there is nothing to add."""
    node_ids = options.node_ids + (_candidates(options.report) if options.candidates else [])
    if not node_ids:
        raise UsageError("there is nothing to allow", hint="name node ids, or pass --candidates after a gated run")
    for sentence in allow(options.allowlist, node_ids):
        print(sentence)
    return 0


def run_disallow(options: argparse.Namespace) -> int:
    print(disallow(options.allowlist, options.node_id, options.reason, options.bucket, options.stage))
    return 0


def _candidates(report: Path) -> list[str]:
    gate = load_report(report).gate
    return gate.candidates if gate else []
