"""Loops that load the next trip's tile beside the one that they work on: the two buffers change places every trip.

A carried tile that a load of the body fills for the next trip would have to be copied to where the trip looks for
it. Instead the body is encoded twice, the second time with the two addresses exchanged.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from harness.npu.lowering.edges import is_loaded_ahead
from harness.npu.lowering.emitter import Emitter
from harness.npu.lowering.placed import is_tile


@dataclass(frozen=True)
class Rotation:
    """Two buffers: the loop's argument, the tile that is loaded for the next trip, and what the loop gives."""

    argument: SSAValue
    loaded: SSAValue
    result: SSAValue

    def exchange(self, emitter: Emitter) -> None:
        """From here on each is where the other one was."""
        addresses = emitter.addresses
        here, there = addresses[self.argument], addresses[self.loaded]
        emitter.relocate(self.argument, there)
        emitter.relocate(self.loaded, here)


def rotations_of(loop: Operation, emitter: Emitter) -> tuple[Rotation, ...]:
    """Those of a loop without another one inside, which would be encoded four times."""
    body = loop.regions[0].block
    yielded = body.last_op
    assert yielded is not None
    found: list[Rotation] = []
    for value, argument, result in zip(yielded.operands, body.args[1:], loop.results, strict=True):
        if is_tile(value) and emitter.views.is_whole(value):
            root = emitter.views.of(value).root
            if is_loaded_ahead(root, loop) and emitter.addresses[root] != emitter.addresses[argument]:
                found.append(Rotation(argument, root, result))
    distinct = len({rotation.loaded for rotation in found}) == len(found)
    return tuple(found) if found and distinct and not _has_loop(loop) else ()


def _has_loop(loop: Operation) -> bool:
    return any(inner.name in ("scf.for", "scf.while") for inner in loop.regions[0].walk())
