"""What runs in the case's own process: the case with one fault in it, or its control."""

from __future__ import annotations

from harness import targets
from harness.cases import CaseInstance
from harness.cases.evidence import Evidence
from harness.cases.options import RunOptions
from harness.targets.target import EnterStage

from .fault import CaseRun, Fault
from .faults import faults_by_name


def warm_up() -> None:
    """What every process would do, done once in the one that they are forked from."""
    targets.warm_up()
    faults_by_name()


def run(instance: CaseInstance, node_id: str, target: str, options: RunOptions, enter_stage: EnterStage) -> Evidence:
    """The fault is named by the node id: that is all a request carries."""
    return _fault(node_id).injection(CaseRun(instance, node_id, options, enter_stage))


def run_control(
    instance: CaseInstance, node_id: str, target: str, options: RunOptions, enter_stage: EnterStage
) -> Evidence:
    return _fault(node_id).control(CaseRun(instance, node_id, options, enter_stage))


def _fault(node_id: str) -> Fault:
    return faults_by_name()[node_id.rpartition("@")[2]]
