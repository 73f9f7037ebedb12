"""The targets by name."""

from __future__ import annotations

from harness.cases.targets import DEFAULT_TARGET, check_target_name
from harness.targets.gpu import GpuTarget
from harness.targets.interpreter import InterpreterTarget
from harness.targets.npu import NPU, TTIR
from harness.targets.target import Target

__all__ = ["DEFAULT_TARGET", "target_named", "targets"]


def targets() -> dict[str, Target]:
    """Every target, by the name that `--target` takes."""
    known: tuple[Target, ...] = (NPU, TTIR, InterpreterTarget(), GpuTarget())
    return {target.name: target for target in known}


def target_named(name: str) -> Target:
    """The target called `name`. Raises UsageError, listing the known ones."""
    check_target_name(name)
    return targets()[name]
