"""`python -m harness.targets FILE[::case[parameter-id]] [--target NAME]`: tries cases, one line each.

Everything runs in this one process: a crash ends it. `pytest` runs each case in its own.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from pathlib import Path

from harness.cases.evidence import Evidence
from harness.cases.loading import load_templates
from harness.cases.options import CHECKS, RunOptions
from harness.errors import HarnessError, UsageError
from harness.process_end import leave
from harness.targets.registry import DEFAULT_TARGET, target_named
from harness.targets.run_case import run_case
from harness.targets.target import EnterStage
from harness.verdicts import classify


def main(arguments: list[str]) -> int:
    """Returns the exit status: 0 when every case passed, 1 when one did not, 2 for a mistake in the command."""
    options = _parser().parse_args(arguments)
    try:
        target_named(options.target).check()
        return _run(options)
    except HarnessError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m harness.targets", description=__doc__)
    parser.add_argument("case", help="FILE, FILE::case or FILE::case[parameter-id]")
    parser.add_argument("--target", default=DEFAULT_TARGET)
    parser.add_argument("--checks", choices=CHECKS, default=CHECKS[0])
    parser.add_argument("--artifacts", default="", help="folder for the failure folders")
    parser.add_argument("--traceback", action="store_true", help="show the Python traceback of a failure")
    return parser


def _run(options: argparse.Namespace) -> int:
    file, _, wanted = options.case.partition("::")
    found = failed = 0
    for template in load_templates(Path(file)):
        for instance in template.instances():
            name = f"{template.name}[{instance.parameter_id}]"
            if wanted not in ("", template.name, name):
                continue
            found += 1
            folder = str(Path(options.artifacts) / name.replace("/", "_")) if options.artifacts else ""
            run_options = RunOptions(checks=options.checks, artifacts=folder)
            verdict = classify(run_case(instance, name, options.target, run_options, _no_stage))
            failed += verdict.outcome != "pass"
            seconds = sum(verdict.evidence.seconds.values())
            print(f"{verdict.outcome:4} {name} {seconds:.2f} s {verdict.bucket} {verdict.summary}".rstrip(), flush=True)
            if options.traceback:
                _show_traceback(verdict.evidence)
    if not found:
        raise UsageError(f"{file} declares no case {wanted!r}")
    return 1 if failed else 0


def _show_traceback(evidence: Evidence) -> None:
    if evidence.failure is not None:
        print(evidence.failure.traceback, file=sys.stderr)


def _ignore_stage(stage: str) -> None:
    """One line a case is enough."""


_no_stage: EnterStage = _ignore_stage


def _set_environment(arguments: list[str]) -> None:
    """Sets what the target wants to find in the environment, before Triton is imported."""
    options = _parser().parse_args(arguments)
    with contextlib.suppress(HarnessError):  # `main` reports it
        os.environ.update(target_named(options.target).environment)


if __name__ == "__main__":
    _set_environment(sys.argv[1:])
    leave(main(sys.argv[1:]))
