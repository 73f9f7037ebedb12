"""The targets by name."""

from __future__ import annotations

from harness.errors import UsageError
from harness.targets.gpu import GpuTarget
from harness.targets.interpreter import InterpreterTarget
from harness.targets.npu import NPU, TTIR
from harness.targets.target import Target

DEFAULT_TARGET = "npu"


def targets() -> dict[str, Target]:
    """Every target, by the name that `--target` takes."""
    known: tuple[Target, ...] = (NPU, TTIR, InterpreterTarget(), GpuTarget())
    return {target.name: target for target in known}


def target_named(name: str) -> Target:
    """The target called `name`. Raises UsageError, listing the known ones."""
    known = targets()
    if name not in known:
        hint = f"one of: {', '.join(known)}, or a GPU as BACKEND:ARCH, such as cuda:90"
        raise UsageError(f"there is no target {name!r}", hint=hint)
    return known[name]
