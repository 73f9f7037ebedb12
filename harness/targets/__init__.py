"""Where a case can run, and the run of one case from its buffers to its evidence."""

from harness.targets.registry import DEFAULT_TARGET, target_named, targets
from harness.targets.run_case import run_case, run_case_on
from harness.targets.target import Target
from harness.targets.warm_up import warm_up

__all__ = ["DEFAULT_TARGET", "Target", "run_case", "run_case_on", "target_named", "targets", "warm_up"]
