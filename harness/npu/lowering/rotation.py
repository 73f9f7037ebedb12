"""Loops that start a transfer in one trip and wait for it in the next."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from harness.npu.lowering.emitter import Emitter


@dataclass(frozen=True)
class Rotation:
    """Tiles that a loop carries while they are being loaded: (argument, the load that fills the next one)."""

    tiles: tuple[tuple[SSAValue, SSAValue], ...]


def rotation_of(loop: Operation, emitter: Emitter) -> Rotation | None:
    return None
