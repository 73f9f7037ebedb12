"""`npu-allocate` without any sharing: every tile at an address of its own, however many bytes that takes.

Slow, larger than any machine, and hard to get wrong: what a program does so is what it does where allocation is not
at fault (see `harness.npu.check_lowering`).
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from harness.ir import operation_name
from harness.npu.lowering.allocation import Allocator, Storage

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from harness.npu.machine import Machine

_ROOM = 1 << 30


def allocate_apart(module: ModuleOp, machine: Machine) -> Machine:
    """Leaves what `npu-allocate` leaves; returns the machine with as much room as that needs."""
    roomy = dataclasses.replace(
        machine,
        scratchpad_bytes=_ROOM,
        uniform_bytes=_ROOM,
        scalar=dataclasses.replace(machine.scalar, registers=_ROOM),
    )
    for function in module.body.block.ops:
        if operation_name(function) in ("tt.func", "func.func") and function.regions[0].blocks:
            _Apart(function, roomy).run()
    return roomy


class _Apart(Allocator):
    def _coalesce(self) -> None:
        """What is passed on is copied."""

    def _take_over(self) -> None:
        """A result has a place of its own."""

    def _lay_out(self, storages: list[Storage], space: str, budget: int) -> None:
        at = 0
        for storage in storages:
            storage.address = -(-at // storage.alignment) * storage.alignment
            at = storage.address + storage.size
