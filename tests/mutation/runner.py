"""What runs in the case's own process: the case with one fault in it, or its control."""

from __future__ import annotations

from harness.cases import CaseInstance
from harness.cases.evidence import Evidence
from harness.cases.options import RunOptions
from harness.targets import warm_up
from harness.targets.target import EnterStage

from .fault import CaseRun, Fault
from .faults import fault_named

__all__ = ["run", "run_control", "warm_up"]


def run(instance: CaseInstance, node_id: str, target: str, options: RunOptions, enter_stage: EnterStage) -> Evidence:
    """The fault is named by the node id: that is all a request carries."""
    return _fault(node_id).injection(CaseRun(instance, node_id, options, enter_stage))


def run_control(
    instance: CaseInstance, node_id: str, target: str, options: RunOptions, enter_stage: EnterStage
) -> Evidence:
    return _fault(node_id).control(CaseRun(instance, node_id, options, enter_stage))


def _fault(node_id: str) -> Fault:
    return fault_named(node_id.rpartition("@")[2])
