"""Whether what the next trip of a loop loads may be loaded before this trip's stores.

Pointers that come from different arguments of the kernel point into different buffers, unless the launch gave it
one buffer twice: that is asked when the kernel runs (`npu.apart`). Where both come from one argument, the distance
between two trips' addresses says it, if it is known and larger than what a trip touches.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Block, BlockArgument, Operation, OpResult, Region, SSAValue

from harness.ir import operand
from harness.ir.dialects.npu import Access
from harness.npu.lowering.effects import Effects
from harness.npu.lowering.forms import extents_of
from harness.npu.lowering.ranges import width_of

# Two arguments of the kernel, pointers or descriptors, the first one first.
Pair = tuple[BlockArgument, BlockArgument]

_PLAIN_STORES = {"npu.store": "base", "npu.start_store": "base", "tt.store": "ptr"}
# Ops whose result points into the buffer that their first operand points into.
_KEEPS_BUFFER = frozenset(
    {
        "tt.addptr",
        "tt.bitcast",
        "tt.splat",
        "tt.broadcast",
        "tt.expand_dims",
        "tt.reshape",
        "tt.trans",
        "npu.relayout",
        "npu.descriptor_base",
    }
)
_FUNCTIONS = frozenset({"tt.func", "func.func"})
_FARTHEST = 1 << 31  # elements: offsets of 32 bits may wrap around, and then differ by more


@dataclass(frozen=True)
class Stores:
    """The stores of a loop, and the arguments whose buffers each of them may write."""

    roots: dict[Operation, frozenset[BlockArgument]]

    @classmethod
    def of(cls, loop: Operation, effects: Effects) -> Stores | None:
        """None where the loop writes memory in another way, or nobody knows where."""
        found: dict[Operation, frozenset[BlockArgument]] = {}
        for op in loop.regions[0].walk():
            if op.regions or not effects.of(op).writes:
                continue
            pointer = operand(op, _PLAIN_STORES[op.name]) if op.name in _PLAIN_STORES else None
            roots = None if pointer is None else roots_of(pointer)
            if roots is None:
                return None
            found[op] = roots
        return cls(found)

    def pairs(self, load: Operation, loop: Operation) -> frozenset[Pair] | None:
        """Arguments that must be of different buffers, for the load of the next trip to be started before the
        stores of this one; None where that does not help."""
        if not self.roots:
            return frozenset()
        base = operand(load, "base")
        mine = None if base is None else roots_of(base)
        if mine is None:
            return None
        found: set[Pair] = set()
        for store, theirs in self.roots.items():
            if not mine & theirs:
                found.update(map(_in_order, product(mine, theirs)))
            elif len(mine | theirs) > 1 or not _pass_by(load, store, loop):
                return None
        return frozenset(found)


def _in_order(pair: tuple[BlockArgument, BlockArgument]) -> Pair:
    one, other = pair
    return pair if one.index < other.index else (other, one)


# --- whose buffer -----------------------------------------------------------------------------------------------------


def roots_of(pointer: SSAValue) -> frozenset[BlockArgument] | None:
    """The arguments of the kernel whose buffers a pointer, or a tile of them, may point into; None where it comes
    from elsewhere, such as memory or an integer."""
    found: set[BlockArgument] = set()
    seen: set[SSAValue] = set()
    left = [pointer]
    while left:
        value = left.pop()
        if value in seen:
            continue
        seen.add(value)
        sources = _sources(value)
        if sources is None:
            return None
        if isinstance(value, BlockArgument) and not sources:
            found.add(value)
        left += sources
    return frozenset(found)


def _sources(value: SSAValue) -> list[SSAValue] | None:
    """Where a pointer comes from; nowhere, an argument of the kernel; None: not known."""
    if isinstance(value, OpResult):
        return _sources_of_result(value.op, value.index)
    assert isinstance(value, BlockArgument)
    parent = value.block.parent_op()
    assert parent is not None
    if parent.name in _FUNCTIONS and value.block is parent.regions[0].blocks.first:
        return []
    return _carried(parent, value.index - 1) if parent.name == "scf.for" and value.index else None


def _sources_of_result(op: Operation, position: int) -> list[SSAValue] | None:
    if op.name in _KEEPS_BUFFER:
        return [op.operands[0]]
    if op.name == "arith.select":
        return list(op.operands[1:])
    if op.name == "scf.for":
        return _carried(op, position)
    return [_passed_on(region)[position] for region in op.regions] if op.name == "scf.if" else None


def _carried(loop: Operation, position: int) -> list[SSAValue]:
    """What a loop starts with, and what a trip passes on."""
    return [loop.operands[position + 3], _passed_on(loop.regions[0])[position]]


def _passed_on(region: Region) -> Sequence[SSAValue]:
    last = region.block.last_op
    assert last is not None
    return last.operands


# --- one buffer, other elements --------------------------------------------------------------------------------------


def _pass_by(load: Operation, store: Operation, loop: Operation) -> bool:
    """Whether the load of a trip reads no element that the store of the trip before writes: both walk alike."""
    body = loop.regions[0].block
    if store.parent is not body or not store.name.startswith("npu."):
        return False
    mine, theirs = Access.of(load), Access.of(store)
    value = operand(store, "value")
    assert value is not None
    reach = _reach(mine, extents_of(load.results[0].type))
    written = _reach(theirs, extents_of(value.type))
    if reach is None or written is None or mine.base.type != theirs.base.type:
        return False
    step = _Walk(loop, body).step(mine.base) if _same(mine.base, theirs.base, body) else None
    if step is None or abs(step) + reach + written >= _FARTHEST:
        return False
    return step >= written or step <= -reach


def _reach(access: Access, extents: tuple[int, ...]) -> int | None:
    """How many elements there are from the first that a transfer may touch to past the last one."""
    strides = [_constant(stride) for stride in access.strides]
    if access.wrap or any(stride is None or stride < 0 for stride in strides):
        return None
    return 1 + sum((extent - 1) * (stride or 0) for extent, stride in zip(extents, strides, strict=True))


def _constant(value: SSAValue) -> int | None:
    owner = value.owner
    if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr):
        return owner.value.value.data
    return None


def _same(a: SSAValue, b: SSAValue, body: Block) -> bool:
    """Whether two values of one trip are made in the same way of the same."""
    one, other = a.owner, b.owner
    if a is b or (a.type == b.type and _constant(a) is not None and _constant(a) == _constant(b)):
        return True
    if not isinstance(one, Operation) or not isinstance(other, Operation):
        return False
    alike = one.name == other.name and one.name in _WALKED and a.type == b.type
    inside = one.parent is body and other.parent is body
    return alike and inside and all(_same(x, y, body) for x, y in zip(one.operands, other.operands, strict=True))


_WALKED = frozenset({"tt.addptr", "arith.addi", "arith.subi", "arith.muli", "arith.extsi", "arith.extui"})


@dataclass(frozen=True)
class _Walk:
    """By how much scalars of a body differ from trip to trip, up to multiples of 2^32."""

    loop: Operation
    body: Block

    def step(self, value: SSAValue) -> int | None:
        """None where nothing says that it is the same in every trip."""
        owner = value.owner
        if isinstance(value, BlockArgument) and owner is self.body:
            return self._step_of_argument(value)
        if not isinstance(owner, Operation) or owner.parent is not self.body:
            return 0
        if owner.name not in _WALKED or (0 < width_of(value.type) < 32):
            return None
        if owner.name == "arith.muli":
            return self._step_of_product(owner)
        return _total((self.step(one) for one in owner.operands), -1 if owner.name == "arith.subi" else 1)

    def _step_of_argument(self, value: BlockArgument) -> int | None:
        if value.index == 0:
            return _constant(self.loop.operands[2])
        following = _passed_on(self.loop.regions[0])[value.index - 1].owner
        if not isinstance(following, Operation) or following.name != "tt.addptr" or following.operands[0] is not value:
            return None
        return _constant(following.operands[1])

    def _step_of_product(self, op: Operation) -> int | None:
        for one, other in (op.operands, op.operands[::-1]):
            factor, step = _constant(one), self.step(other)
            if step == 0 and self.step(one) == 0:
                return 0
            if factor is not None:
                return None if step is None else factor * step
        return None


def _total(steps: Iterable[int | None], sign: int) -> int | None:
    """The sum of one or two; the second one may count negatively."""
    first, *rest = steps
    if first is None or None in rest:
        return None
    return first + sign * sum(step or 0 for step in rest)
