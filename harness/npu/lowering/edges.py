"""Where control flow passes values on: what a loop, a branch or a yield copies into what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue


@dataclass(frozen=True)
class Edge:
    """The values that an op passes on, all at once, in one of the ways it can go: (value, what it becomes)."""

    operation: Operation
    pairs: tuple[tuple[SSAValue, SSAValue], ...]
    way: int = 0


def receivers(parent: Operation) -> Sequence[SSAValue]:
    """What the operands of an scf.yield in that op become."""
    if parent.name == "scf.for":
        return parent.regions[0].block.args[1:]
    if parent.name == "scf.while":
        return parent.regions[0].block.args
    return parent.results


def entering(operation: Operation) -> Iterator[tuple[int, SSAValue]]:
    """Operand index of a loop and the argument that it becomes first."""
    if operation.name == "scf.for":
        yield from enumerate(operation.regions[0].block.args[1:], 3)
    elif operation.name == "scf.while":
        yield from enumerate(operation.regions[0].block.args)


def passed(terminator: Operation) -> list[list[tuple[SSAValue, SSAValue]]]:
    """Of a terminator, per way it can go, the values and what they become."""
    operands = terminator.operands
    if terminator.name == "cf.br":
        return [list(zip(operands, terminator.successors[0].args, strict=True))]
    if terminator.name == "cf.cond_br":
        first, second = (block.args for block in terminator.successors)
        split = 1 + len(first)
        return [
            list(zip(operands[1:split], first, strict=True)),
            list(zip(operands[split:], second, strict=True)),
        ]
    parent = terminator.parent_op()
    assert parent is not None
    if terminator.name == "scf.condition":
        after = parent.regions[1].block.args
        return [list(zip(operands[1:], targets, strict=True)) for targets in (after, parent.results)]
    return [list(zip(operands, receivers(parent), strict=True))]


def is_loaded_ahead(root: SSAValue, loop: Operation) -> bool:
    """Whether a trip of the loop starts the load of this tile; if it is carried, the next trip works on it."""
    owner = root.owner
    return isinstance(owner, Operation) and owner.name == "npu.start_load" and owner.parent is loop.regions[0].block


@dataclass(frozen=True)
class Move:
    """What a value is copied to, and from: storages, told apart by `==`. `source` is None for constants.
    `same`: the value is the target's very bytes already, if the storages are one."""

    target: object
    source: object
    same: bool = True

    @property
    def is_needed(self) -> bool:
        return self.target != self.source or not self.same


def in_sequence(moves: Sequence[Move]) -> tuple[list[int], list[int]]:
    """An order for moves that all happen at once, and those whose source must be saved aside before the first:
    a move before them overwrites it. Both by index; moves that change nothing are left out."""
    pending = {index: move for index, move in enumerate(moves) if move.is_needed}
    saved = [index for index, move in pending.items() if move.target == move.source]
    order: list[int] = []
    while pending:
        reads = {index: move.source for index, move in pending.items() if index not in saved}
        free = next((i for i, move in pending.items() if not _read_by_another(move.target, i, reads)), None)
        if free is None:
            saved.append(next(index for index in pending if index not in saved))
            continue
        order.append(free)
        del pending[free]
    return order, saved


def _read_by_another(target: object, mover: int, reads: dict[int, object]) -> bool:
    return any(source == target and index != mover for index, source in reads.items())
