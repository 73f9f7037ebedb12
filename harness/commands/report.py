"""`harness report`: any output of a run, of one that died too, and of shards together."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.commands.project import REPORT, allowlist_file, last_report
from harness.errors import UsageError
from harness.gate import Gate, Scope
from harness.reports import Record, html_page, junit_xml, load_report, markdown, terminal_table
from harness.reports.merge import merge, unfinished
from harness.reports.record import write_text

_FORMATS: dict[str, Callable[[Record], str]] = {
    "text": lambda record: terminal_table(record) + "\n",
    "json": Record.to_json,
    "md": markdown,
    "junit": junit_xml,
    "html": html_page,
}


def register(subcommands: Any) -> None:
    command: argparse.ArgumentParser = subcommands.add_parser(
        "report", help="print the report of a run", description=__doc__
    )
    command.add_argument(
        "records",
        nargs="*",
        type=Path,
        metavar="RECORD",
        help=f"a report folder, a record.json or a journal.jsonl (default: {REPORT} here or further up)",
    )
    command.add_argument("--format", choices=tuple(_FORMATS), default="text")
    command.add_argument("--merge", action="store_true", help="the records are the shards of one run")
    command.add_argument("--gate", action="store_true", help="check against the allowlist; exit 1 when it is red")
    command.add_argument("--strict-gate", action="store_true", help="as --gate, and cases off the list are red too")
    command.add_argument("--allowlist", type=Path, metavar="FILE")
    command.add_argument("--output", type=Path, metavar="FILE", help="write there instead of printing")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Raises UsageError for a record that cannot be read and a file that cannot be written."""
    records = [load_report(path) for path in options.records or [last_report()]]
    record = _one_of(records, options)
    asked_for_gate = options.gate or options.strict_gate
    if asked_for_gate:
        gate = Gate.load(options.allowlist or allowlist_file())
        alone = [("The run", "ended early")] if record.interrupted else []
        scope = Scope.of_verdicts(record.verdicts, unfinished(records) if options.merge else alone)
        record.gate = gate.check(record.verdicts, scope, strict=options.strict_gate)
    text = _FORMATS[options.format](record)
    if options.format == "text" and not options.merge:
        text = terminal_table(record, folder=_folder(options.records)) + "\n"
    if options.output:
        write_text(options.output, text)
    else:
        sys.stdout.write(text.encode(sys.stdout.encoding or "utf-8", "backslashreplace").decode(errors="replace"))
    return 1 if asked_for_gate and record.gate and not record.gate.is_green else 0


def _folder(given: list[Path]) -> str:
    """Of the report that is printed, as it is reached from here."""
    path = given[0] if given else last_report()
    return os.path.relpath(path if path.is_dir() else path.parent)


def _one_of(records: list[Record], options: argparse.Namespace) -> Record:
    if options.merge:
        return merge(records)
    if len(records) > 1:
        raise UsageError("more than one record", hint="pass --merge when they are the shards of one run")
    return records[0]
