"""Loops and branches with other results: ops made anew around the regions they had."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import UnknownLoc
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

# Operands of an scf.for before those it carries, of an scf.if, and of a while none.
_FIXED = {"scf.for": 3, "scf.if": 1, "scf.while": 0}


def add_argument(block: Block, type_: Attribute) -> BlockArgument:
    """A further block argument."""
    argument = block.insert_arg(type_, len(block.args))
    argument.location = UnknownLoc()  # pyright: ignore[reportAttributeAccessIssue]
    return argument


def with_more_results(
    op: Operation, types: Sequence[Attribute], initial: Sequence[SSAValue], yielded: Sequence[Sequence[SSAValue]]
) -> Operation:
    """In place of `op`, an scf.for or scf.if that gives further results, of these types. `initial` are the further
    values a loop starts with, whose block arguments are there already; `yielded`, per region, what it passes on."""
    for region, values in zip(op.regions, yielded, strict=True):
        _end_of(region.blocks[0]).operands = [*_end_of(region.blocks[0]).operands, *values]
    results = list(op.results)
    new = _around(op, [*op.operands, *initial], [*(result.type for result in results), *types])
    return _instead(op, new, dict(enumerate(results)))


def with_results(op: Operation, kept: Sequence[int]) -> Operation:
    """In place of `op`, an scf.for or scf.if that gives only the results at these positions. Nobody may use the
    others, nor in a loop their block arguments."""
    for region in op.regions:
        _keep_arguments(op, region.blocks[0], kept)
    fixed, results = _FIXED[op.name], list(op.results)
    carried = [op.operands[position + fixed] for position in kept] if op.name == "scf.for" else []
    new = _around(op, [*op.operands[:fixed], *carried], [results[position].type for position in kept])
    return _instead(op, new, {place: results[position] for place, position in enumerate(kept)})


def with_carried(op: Operation, carried: Sequence[int], handed_on: Sequence[int]) -> Operation:
    """In place of `op`, an scf.while with only these of the values that go round and of those that its condition hands
    on, as its terminators are already. Nobody may use the others."""
    if len(carried) == len(op.operands) and len(handed_on) == len(op.results):
        return op
    for region, kept in zip(op.regions, (carried, handed_on), strict=True):
        block = region.blocks[0]
        for argument in reversed(block.args):
            if argument.index not in kept:
                block.erase_arg(argument)
    results = list(op.results)
    new = _around(op, [op.operands[at] for at in carried], [results[at].type for at in handed_on])
    return _instead(op, new, {place: results[at] for place, at in enumerate(handed_on)})


def _keep_arguments(op: Operation, block: Block, kept: Sequence[int]) -> None:
    last = _end_of(block)
    last.operands = [last.operands[position] for position in kept]
    if op.name != "scf.for":
        return
    for argument in reversed(block.args[1:]):
        if argument.index - 1 not in kept:
            block.erase_arg(argument)


def _end_of(block: Block) -> Operation:
    last = block.last_op
    assert last is not None
    return last


def _around(op: Operation, operands: Sequence[SSAValue], types: Sequence[Attribute]) -> Operation:
    new = type(op).create(
        operands=operands,
        result_types=types,
        properties=dict(op.properties),
        attributes=dict(op.attributes),
        location=op.location,
        regions=[op.detach_region(0) for _ in range(len(op.regions))],
    )
    block = op.parent
    assert block is not None
    block.insert_op_before(new, op)
    return new


def _instead(op: Operation, new: Operation, results: dict[int, SSAValue]) -> Operation:
    """Every use of the old results is one of the new results at their places."""
    for place, result in results.items():
        result.replace_all_uses_with(new.results[place])
    op.detach()
    op.erase()
    return new
