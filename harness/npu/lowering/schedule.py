"""`npu-schedule`: transfers are started where they stood and waited for where they are needed, so that the engines
run side by side.

A load is waited for at the first use of its tile, or before anything that may write memory; a store before anything
that may read or write it, and at the end of its block. Any two addresses may be the same: kernels' arguments alias.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue

from harness.ir import operand
from harness.ir.dialects.npu import TOKEN, Access, StartLoadOp, StartStoreOp, WaitOp, transfer
from harness.npu.lowering.effects import Effects

if TYPE_CHECKING:
    from harness.npu.machine import Machine


def run(module: ModuleOp, machine: Machine) -> None:
    """The pass; how long anything takes has no say in it."""
    for function in module.body.block.ops:
        effects = Effects()
        for region in function.regions:
            for block in region.blocks:
                _schedule(block, effects)


@dataclass
class _Started:
    """Transfers of one block that nobody has waited for, oldest first. A load's tile is `old` to its users."""

    loads: dict[Operation, SSAValue] = field(default_factory=dict)
    stores: list[Operation] = field(default_factory=list)


def _schedule(block: Block, effects: Effects) -> None:
    started, ops = _Started(), list(block.ops)
    first_users = _first_users(block, ops)
    for op in ops:
        for load in [load for load, tile in started.loads.items() if first_users.get(tile) is op]:
            _wait_for_load(started, load, op)
        effect = effects.of(op)
        if effect.writes:
            for load in list(started.loads):
                _wait_for_load(started, load, op)
        if effect.is_any or op is block.last_op:
            for store in started.stores:
                _wait(store, [], op)
            started.stores.clear()
        if op is block.last_op:
            for load in list(started.loads):
                _wait_for_load(started, load, op)
        if op.name == "npu.load":
            started.loads[_start_load(op)] = op.results[0]
        elif op.name == "npu.store":
            started.stores.append(_start_store(op))
        for region in op.regions:
            for inner in region.blocks:
                _schedule(inner, effects)


def _first_users(block: Block, ops: list[Operation]) -> dict[SSAValue, Operation]:
    """The first op of the block that uses each tile loaded in it, in a region of its own perhaps."""
    order = {op: number for number, op in enumerate(ops)}
    found: dict[SSAValue, Operation] = {}
    for op in ops:
        if op.name != "npu.load":
            continue
        users = [user for use in op.results[0].uses if (user := _in_block(use.operation, block)) is not None]
        if users:
            found[op.results[0]] = min(users, key=order.__getitem__)
    return found


def _in_block(op: Operation, block: Block) -> Operation | None:
    """The op of the block that the op is, or is in."""
    current: Operation | None = op
    while current is not None and current.parent is not block:
        current = current.parent_op()
    return current


def _start_load(op: Operation) -> Operation:
    """Puts the start in front of the load, which stays until it is waited for."""
    tile = op.results[0].type
    start = transfer(
        StartLoadOp, Access.of(op), [tile, TOKEN], other=operand(op, "other"), attributes=dict(op.attributes)
    )
    _insert(start, op)
    for result in start.results:
        result.name_hint = op.results[0].name_hint
    return start


def _start_store(op: Operation) -> Operation:
    start = transfer(StartStoreOp, Access.of(op), [TOKEN], value=operand(op, "value"), attributes=dict(op.attributes))
    _insert(start, op)
    _erase(op)
    return start


def _wait_for_load(started: _Started, load: Operation, before: Operation) -> None:
    """The users of the load have what the wait gives."""
    tile = started.loads.pop(load)
    wait = _wait(load, [load.results[0]], before)
    owner = tile.owner
    tile.replace_all_uses_with(wait.results[0])
    assert isinstance(owner, Operation)
    _erase(owner)


def _wait(start: Operation, tiles: list[SSAValue], before: Operation) -> Operation:
    wait = WaitOp.create(operands=[start.results[-1], *tiles], result_types=[tile.type for tile in tiles])
    wait.location = start.location
    block = before.parent
    assert block is not None
    block.insert_op_before(wait, before)
    return wait


def _insert(new: Operation, op: Operation) -> None:
    block = op.parent
    assert block is not None
    new.location = op.location
    block.insert_op_before(new, op)


def _erase(op: Operation) -> None:
    op.detach()
    op.erase()
