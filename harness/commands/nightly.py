"""`harness nightly`: the whole suite in parallel, behind the gate, with its report."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from harness.commands.project import REPORT
from harness.errors import UsageError
from harness.reports import load_report, markdown

# pytest's exit statuses after which there is a report: passed, failed, interrupted.
_REPORTED = (0, 1, 2)
# Where a repository laid out like this one keeps its cases. Its own tests are no part of the nightly.
_CASE_FOLDERS = ("coverage_kernels", "lit_tests")
_WITH_A_VALUE = frozenset({"-c", "-k", "-m", "-n", "-o", "-p", "-r", "-W"})


def register(subcommands: Any) -> None:
    command: argparse.ArgumentParser = subcommands.add_parser(
        "nightly",
        help="run every case behind the allowlist gate",
        description=f"{__doc__} Further arguments go to pytest.",
    )
    command.add_argument("--report-dir", type=Path, default=REPORT, metavar="FOLDER")
    command.add_argument("pytest_arguments", nargs=argparse.REMAINDER, metavar="-- PYTEST ARGUMENTS")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """pytest's own exit status: 0 only when the gate is green. Raises UsageError where the report cannot be read."""
    status = subprocess.run(pytest_command(options), check=False).returncode
    step_summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if step_summary and status in _REPORTED:
        _append(Path(step_summary), markdown(load_report(options.report_dir)))
    return status


def pytest_command(options: argparse.Namespace) -> list[str]:
    """What `harness nightly` runs."""
    extra = [argument for argument in options.pytest_arguments if argument != "--"]
    # Paths of the user's own are instead of ours.
    paths = [] if any(map(_is_path, ["", *extra], extra)) else _folders()
    suite = [sys.executable, "-m", "pytest", "-n", "auto", "--gate", *paths]
    return [*suite, f"--report-dir={options.report_dir}", *extra]


def _is_path(before: str, argument: str) -> bool:
    """Whether it is a file, a folder or a node id, and not the value of the option before it."""
    takes_it = before in _WITH_A_VALUE
    return not takes_it and not argument.startswith("-") and Path(argument.partition("::")[0]).exists()


def _folders() -> list[str]:
    """None where the layout is another: then pytest's own testpaths decide."""
    return [folder for folder in _CASE_FOLDERS if Path(folder).is_dir()]


def _append(path: Path, text: str) -> None:
    try:
        with path.open("a", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(f"cannot write the step summary {path}: {error.strerror}") from error
