"""From TTIR to a machine program: passes over a module, in order.

A pass changes the module in place. Its name is its flag in `harness opt`; after each one the module still has a
meaning in the executor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from harness.npu.lowering import allocation, double_buffer, expand, inline, placement, pointers, schedule

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from harness.npu.machine import Machine

Pass = Callable[["ModuleOp", "Machine"], None]

# By flag, in the order they run.
PASSES: dict[str, Pass] = {
    "npu-inline": inline.run,
    "npu-expand-descriptors": expand.run,
    "npu-analyze-pointers": pointers.run,
    "npu-place-lanes": placement.run,
    "npu-schedule": schedule.run,
    "npu-double-buffer": double_buffer.run,
    "npu-allocate": allocation.run,
}
PIPELINE: tuple[str, ...] = tuple(PASSES)


def lower(module: ModuleOp, machine: Machine, after: Callable[[str, ModuleOp], None] | None = None) -> None:
    """Runs every pass; `after` hears of each one that has run, with the module as it is then.

    Raises Refusal for a kernel that the machine cannot run, with the reason and the kernel's line.
    """
    run_passes(module, machine, PIPELINE, after)


def run_passes(
    module: ModuleOp,
    machine: Machine,
    names: tuple[str, ...],
    after: Callable[[str, ModuleOp], None] | None = None,
) -> None:
    """Runs the passes of these names."""
    for name in names:
        PASSES[name](module, machine)
        if after is not None:
            after(name, module)
