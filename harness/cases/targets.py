"""The targets by name, for whoever must know them before torch is imported, which takes seconds."""

from __future__ import annotations

from collections.abc import Mapping

from harness.errors import UsageError

DEFAULT_TARGET = "npu"

# The variables that each target wants to find set when Triton is imported.
ENVIRONMENTS: Mapping[str, Mapping[str, str]] = {
    "npu": {},
    "ttir": {},
    "interpreter": {"TRITON_INTERPRET": "1"},
    "gpu": {},
}


def check_target_name(name: str) -> None:
    """Raises UsageError, listing the known ones, where no target is called `name`."""
    if name not in ENVIRONMENTS:
        hint = f"one of: {', '.join(ENVIRONMENTS)}, or a GPU as BACKEND:ARCH, such as cuda:90"
        raise UsageError(f"there is no target {name!r}", hint=hint)
