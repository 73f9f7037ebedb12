"""`python -m tests.mutation > docs/mutation.md`: every fault, and what a user reads when it strikes.

Exit status 1 when a fault is not caught in its bucket.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from harness.isolation import IsolatedRunner

from .fault import Fault
from .faults import ROOT, a_pass, groups, verdict_with
from .run_faults import run_faults

INTRODUCTION = """\
# Deliberate faults

Would the harness notice? `tests/mutation` puts one fault at a time into the compiled program, the launch or the
harness itself, runs a small case through the same chain as any other (a process apart, the reference, the
simulator, the comparison, the verdict), and asserts the bucket; without the fault the same case must pass.

This page is the output of `python -m tests.mutation`: what a user would read for each."""

HEADER = "| fault | what is wrong | bucket | what a user reads | case |\n|---|---|---|---|---|"

LIMITS = """\
## What these faults do not show

Each is one fault in an otherwise right harness. Two that hide one another, such as a comparison that finds every
buffer equal, show only in that the faults above are no longer caught, so this test must run where the gate does.
A target that says "simulated" and computes on the host is taken at its word."""


def main() -> int:
    missed: list[str] = []
    print(INTRODUCTION)
    runner = IsolatedRunner()
    try:
        for title, rows in _sections(runner, missed):
            print(f"\n## {title}\n\n{HEADER}")
            for row in rows:
                print(f"| {' | '.join(_cell(text) for text in row)} |")
    finally:
        runner.close()
    print(f"\n{LIMITS}")
    for name in missed:
        print(f"not caught in its bucket: {name}", file=sys.stderr)
    return 1 if missed else 0


Row = tuple[str, str, str, str, str]


def _sections(runner: IsolatedRunner, missed: list[str]) -> Iterator[tuple[str, Iterator[Row]]]:
    for title, faults in groups().items():
        yield title, (_row_of_case(runner, fault, missed) for fault in faults)
    yield "In the run as a whole", _rows_of_run(runner, missed)


def _row_of_case(runner: IsolatedRunner, fault: Fault, missed: list[str]) -> Row:
    verdict = verdict_with(runner, fault)
    if verdict.bucket != fault.bucket:
        missed.append(fault.name)
    checks = " `--checks=full`" if fault.checks == "full" else ""
    return f"`{fault.name}`", fault.breaks, f"`{verdict.bucket}`", verdict.summary, f"`{fault.case}`{checks}"


def _rows_of_run(runner: IsolatedRunner, missed: list[str]) -> Iterator[Row]:
    passed = a_pass(runner)
    for one in run_faults():
        with tempfile.TemporaryDirectory() as folder:
            found, message = one.happens(Path(folder), passed)
        if found != one.expected:
            missed.append(one.name)
        yield f"`{one.name}`", one.breaks, f"`{found}`", message, f"`{passed.case}`"


def _cell(text: str) -> str:
    """Without what differs from one checkout or run to the next, and without what Markdown takes for its own."""
    text = re.sub(r"0x[0-9a-f]{6,}", "0x...", text.replace(f"{ROOT}/", ""))
    return text.replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    sys.exit(main())
