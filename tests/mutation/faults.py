"""The table of all faults, and what becomes of one."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

from harness.cases.evidence import Verdict
from harness.cases.options import RunOptions
from harness.isolation import CaseRequest, IsolatedRunner
from harness.verdicts import classify

from .fault import Fault
from .harness_faults import harness_faults
from .launch_faults import launch_faults
from .program_faults import program_faults

ROOT = Path(__file__).parents[2]


def groups() -> dict[str, list[Fault]]:
    """Every fault that is put into the run of a case, by where it is put."""
    return {
        "In the compiled program": program_faults(),
        "In the launch": launch_faults(),
        "In the harness": harness_faults(),
    }


def all_faults() -> list[Fault]:
    return [fault for faults in groups().values() for fault in faults]


@cache
def faults_by_name() -> dict[str, Fault]:
    """Once in a process: to compile the expressions of all takes longer than many a case."""
    return {fault.name: fault for fault in all_faults()}


def verdict_with(runner: IsolatedRunner, fault: Fault) -> Verdict:
    """The verdict on the case with the fault in it, as a user would get it."""
    return _verdict(runner, fault, "run")


def verdict_without(runner: IsolatedRunner, fault: Fault) -> Verdict:
    return _verdict(runner, fault, "run_control")


def a_pass(runner: IsolatedRunner) -> Verdict:
    """The verdict on a case with nothing wrong."""
    fault = all_faults()[0]
    return replace(verdict_without(runner, fault), case=fault.case)


def _verdict(runner: IsolatedRunner, fault: Fault, function: str) -> Verdict:
    file, name, parameter_id = _parts(fault.case)
    request = CaseRequest(
        f"{fault.case}@{fault.name}",
        str(ROOT / file),
        name,
        parameter_id,
        "npu",
        RunOptions(checks=fault.checks),
        f"{__package__}.runner:{function}",
        fault.memory,
    )
    return classify(runner.run(request, fault.timeout))


def _parts(case: str) -> tuple[str, str, str]:
    file, name, parameter_id = re.fullmatch(r"(.+)::(\w+)\[(.*)\]", case).groups()  # type: ignore[union-attr]
    return file, name, parameter_id
