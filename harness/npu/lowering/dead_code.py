"""Ops whose results nobody needs, what loops carry for nobody included, are erased."""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from harness.executor.analysis import is_pure_name
from harness.npu.lowering.rebuild import with_carried, with_results

_ALSO_PURE = frozenset(
    {
        "npu.apart",
        "npu.descriptor_base",
        "npu.descriptor_fill",
        "npu.relayout",
        "tt.gather",
        "tt.get_program_id",
        "tt.histogram",
        "tt.reduce",
        "tt.scan",
        "tt.map_elementwise",
        "ub.poison",
    }
)
_CARRIES = ("scf.for", "scf.if", "scf.while")
# Operands that count whatever becomes of those that are carried or handed on.
_FIXED = {"scf.for": 3, "scf.if": 1, "scf.while": 0, "scf.condition": 1}


def erase_dead_code(function: Operation) -> None:
    """Loads stay: they may trap."""
    live = _Live()
    for op in function.walk():
        if not _is_pure(op) and not op.regions and op.name != "scf.yield":
            live.keep(op)
    live.keep(function)
    live.spread()
    for region in function.regions:
        for block in reversed(region.blocks):
            _sweep(block, live)


def _is_pure(op: Operation) -> bool:
    return is_pure_name(op.name) or op.name in _ALSO_PURE


@dataclass
class _Live:
    """Ops and values that are needed, found backwards from the ops that do something."""

    ops: set[Operation] = field(default_factory=set)
    values: set[SSAValue] = field(default_factory=set)
    _found: list[SSAValue] = field(default_factory=list)

    def keep(self, op: Operation) -> None:
        """The op happens: so do the loops and branches around it."""
        if op in self.ops:
            return
        self.ops.add(op)
        self._found += op.operands[: _FIXED.get(op.name, len(op.operands))]
        if op.regions and op.name not in _CARRIES:
            self._keep_regions(op)
        parent = op.parent_op()
        if parent is not None:
            self.keep(parent)

    def _keep_regions(self, op: Operation) -> None:
        """Of a reduction all counts that its ends give."""
        for region in op.regions:
            for block in region.blocks:
                last = block.last_op
                if last is not None and op.name != "tt.func":
                    self.ops.add(last)
                    self._found += last.operands

    def spread(self) -> None:
        while self._found:
            value = self._found.pop()
            if value in self.values:
                continue
            self.values.add(value)
            if isinstance(value, BlockArgument):
                self._argument(value)
            elif value.owner.name in _CARRIES:  # pyright: ignore[reportAttributeAccessIssue]
                self._result(value)
            else:
                self.keep(value.owner)  # pyright: ignore[reportArgumentType]

    def _argument(self, value: BlockArgument) -> None:
        op = value.block.parent_op()
        if op is not None and op.name == "scf.for" and value.index > 0:
            self._found.append(op.results[value.index - 1])
        elif op is not None and op.name == "scf.while":
            self._found += _sources_in_while(op, value)

    def _result(self, value: SSAValue) -> None:
        """What is carried round a loop, or comes out of a branch, at one position."""
        op: Operation = value.owner  # pyright: ignore[reportAssignmentType]
        position = value.index  # pyright: ignore[reportAttributeAccessIssue]
        self.keep(op)
        if op.name == "scf.while":
            self._found.append(_ends(op)[0].operands[1 + position])
            return
        for region in op.regions:
            for block in region.blocks:
                last = block.last_op
                assert last is not None
                self._found.append(last.operands[position])
        if op.name == "scf.for":
            self._found += [op.operands[position + 3], op.regions[0].blocks[0].args[position + 1]]


def _ends(loop: Operation) -> list[Operation]:
    """The condition and the yield of an scf.while."""
    return [last for region in loop.regions if (last := region.block.last_op) is not None]


def _sources_in_while(loop: Operation, argument: BlockArgument) -> list[SSAValue]:
    condition, yielded = _ends(loop)
    if argument.block is loop.regions[1].block:
        return [condition.operands[1 + argument.index]]
    return [loop.operands[argument.index], yielded.operands[argument.index]]


def _sweep(block: Block, live: _Live) -> None:
    """Users before what they use."""
    for op in reversed(list(block.ops)):
        if op.name in ("scf.yield", "scf.condition"):
            continue
        if op not in live.ops and (_is_pure(op) or op.regions):
            _drop(op)
        elif op.name == "scf.while":
            _shrink_while(op, live)
        elif op.name in _CARRIES:
            _shrink(op, live)


def _drop(op: Operation) -> None:
    op.detach()
    op.erase()


def _shrink(op: Operation, live: _Live) -> None:
    kept = [position for position, result in enumerate(op.results) if result in live.values]
    if len(kept) < len(op.results):
        _cut(op, set(kept))
        op = with_results(op, kept)
    for region in op.regions:
        for block in region.blocks:
            _sweep(block, live)


def _shrink_while(op: Operation, live: _Live) -> None:
    """What goes round and what the condition hands on are told apart: they need not be the same values."""
    before, body = (region.block for region in op.regions)
    condition, yielded = _ends(op)
    carried = [at for at, argument in enumerate(before.args) if argument in live.values]
    handed_on = [
        at
        for at, (inside, after) in enumerate(zip(body.args, op.results, strict=True))
        if inside in live.values or after in live.values
    ]
    condition.operands = [condition.operands[0], *(condition.operands[1 + at] for at in handed_on)]
    yielded.operands = [yielded.operands[at] for at in carried]
    for block in (body, before):
        _sweep(block, live)
    with_carried(op, carried, handed_on)


def _cut(op: Operation, kept: set[int]) -> None:
    """What is dropped may still be used by what is dropped further on: it uses something else meanwhile."""
    if op.name != "scf.for":
        return
    for position, argument in enumerate(op.regions[0].blocks[0].args[1:]):
        if position not in kept:
            argument.replace_all_uses_with(op.operands[position + 3])
