"""Every deliberate fault is caught, in the right bucket, on a case that passes without it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.cases.evidence import Verdict
from harness.cases.targets import DEFAULT_TARGET
from harness.collection.cases import EXECUTION
from harness.isolation import IsolatedRunner

from .fault import Fault, FaultNotInjected
from .faults import ROOT, a_pass, faults_by_name, verdict_with, verdict_without
from .run_faults import RunFault, run_faults, without_fault

TOGETHER = 16


@pytest.fixture(scope="module")
def runner(pytestconfig: pytest.Config) -> IsolatedRunner:
    """The one that runs this pytest's own cases: another would import torch once more."""
    return pytestconfig.stash[EXECUTION].processes_for(DEFAULT_TARGET)


@pytest.fixture(scope="module")
def control(runner: IsolatedRunner) -> Callable[[Fault], Verdict]:
    """The verdict without the fault; once for all faults on one case.

    Those of the faults that come next are found with it: what passes one after another shares a process.
    """
    faults = list(faults_by_name().values())
    known: dict[tuple[object, ...], Verdict] = {}

    def verdict(fault: Fault) -> Verdict:
        if _run_without(fault) not in known:
            here = faults.index(fault)
            together = {_run_without(one): one for one in faults[here : here + TOGETHER]}
            known.update({key: verdict_without(runner, one) for key, one in together.items() if key not in known})
        return known[_run_without(fault)]

    return verdict


def _run_without(fault: Fault) -> tuple[object, ...]:
    return fault.case, fault.checks, fault.control


@pytest.mark.parametrize("fault", faults_by_name().values(), ids=lambda fault: fault.name)
def test_a_fault_is_caught_in_its_bucket(
    fault: Fault, runner: IsolatedRunner, control: Callable[[Fault], Verdict]
) -> None:
    right = control(fault)
    assert right.outcome == "pass", right.summary
    wrong = verdict_with(runner, fault)
    failure = wrong.evidence.failure
    assert failure is None or failure.kind != FaultNotInjected.__name__, failure.message
    assert wrong.bucket == fault.bucket, wrong.summary


@pytest.fixture(scope="module")
def passed(runner: IsolatedRunner) -> Verdict:
    return a_pass(runner)


@pytest.mark.parametrize("fault", run_faults(), ids=lambda fault: fault.name)
def test_a_fault_of_the_run_is_caught(fault: RunFault, passed: Verdict, tmp_path: Path) -> None:
    found, message = fault.happens(tmp_path, passed)
    assert found == fault.expected, message


def test_the_run_without_a_fault_is_green(passed: Verdict, tmp_path: Path) -> None:
    record = without_fault(tmp_path, passed)
    assert not record.void
    assert record.gate is not None and record.gate.is_green and record.gate.gated == 1


def test_the_page_lists_every_fault_with_its_bucket() -> None:
    page = (ROOT / "docs" / "mutation.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w-]+)` \| .* \| `([\w-]+)` \| ", page, re.MULTILINE)
    faults = [(fault.name, fault.bucket) for fault in faults_by_name().values()]
    assert rows == faults + [(fault.name, fault.expected) for fault in run_faults()]
