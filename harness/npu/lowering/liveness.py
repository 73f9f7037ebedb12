"""When every value that has storage is alive: intervals of positions, two positions an op.

An op at position p reads its operands at p; a result may be written while they are read, so it is alive from p on
too, unless the op is one that may work in place (see `Liveness.in_place`). What is copied into a loop's or a
block's arguments is written at p + 1.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Block, Operation, Region, SSAValue

from harness.ir import operation_name
from harness.npu.lowering.edges import Edge, entering, is_loaded_ahead, passed, receivers
from harness.npu.lowering.placed import is_tile, placement_of, shape_of, width_of
from harness.npu.lowering.views import Views, is_constant
from harness.semantics import ELEMENTWISE

_STEP = 2
_ACCUMULATING = {"tt.dot": 2, "tt.dot_scaled": 2}  # the operand that the result may replace
_STARTS = frozenset({"npu.start_load", "npu.start_store"})
_WITHOUT_STORAGE = frozenset({"tt.tensordesc", "npu.token"})


@dataclass(eq=False)
class Interval:
    """From where to where `value` is alive, both ends included."""

    value: SSAValue | None
    start: int
    end: int

    def reach(self, position: int) -> None:
        self.start, self.end = min(self.start, position), max(self.end, position)


@dataclass(eq=False)
class _Loop:
    """A loop around the position; `outer` are the values from outside that are used in it."""

    start: int
    outer: set[SSAValue] = field(default_factory=set)


@dataclass
class Liveness:
    """The intervals of a function's values.

    copies      positions at which a carried value is written, beside its own interval
    joined      values that are one storage whatever happens: a loop's argument and its result
    edges       every place where values are passed on, with its position
    in_place    roots that the result of an op may replace, where their lives end at that op
    """

    intervals: dict[SSAValue, Interval] = field(default_factory=dict)
    copies: dict[SSAValue, list[Interval]] = field(default_factory=dict)
    joined: list[tuple[SSAValue, SSAValue]] = field(default_factory=list)
    edges: list[tuple[int, Edge]] = field(default_factory=list)
    in_place: dict[SSAValue, set[SSAValue]] = field(default_factory=dict)


def has_place(value: SSAValue) -> bool:
    """Whether the value takes bytes or a register, if it is no constant: tokens and descriptors do not."""
    return is_tile(value) or value.type.name not in _WITHOUT_STORAGE


def liveness(function: Operation, views: Views) -> Liveness:
    """One walk over the function."""
    walk = _Walk(views)
    walk.region(function.regions[0])
    return walk.result


class _Walk:
    def __init__(self, views: Views) -> None:
        self.result = Liveness()
        self._views = views
        self._position = 0
        self._loops: list[_Loop] = []
        self._depth: dict[SSAValue, int] = {}
        self._pending: dict[SSAValue, list[SSAValue]] = {}  # token -> what its transfer reads

    # --- regions

    def region(self, region: Region) -> None:
        blocks = list(region.blocks)
        if len(blocks) == 1:
            self._define(blocks[0].args)
            self._block(blocks[0])
            return
        self._blocks(blocks)

    def _blocks(self, blocks: list[Block]) -> None:
        """Blocks in the order they are encoded in; a jump back makes a loop of what lies between."""
        ordered = reverse_post_order(blocks[0])
        opened, closed = _cycles(ordered)
        for block in ordered:
            for argument in block.args:
                self._define([argument])
        for number, block in enumerate(ordered):
            for _ in range(opened.get(number, 0)):
                self._open()
            for argument in block.args:
                self._touch(argument)
            self._block(block)
            for _ in range(closed.get(number, 0)):
                self._close()

    def _block(self, block: Block) -> None:
        for operation in block.ops:
            self._operation(operation)

    def _advance(self) -> int:
        self._position += _STEP
        return self._position

    def _open(self) -> None:
        self._loops.append(_Loop(self._advance()))

    def _close(self) -> int:
        loop, end = self._loops.pop(), self._advance()
        for value in loop.outer:
            self.result.intervals[value].reach(end)
        return end

    # --- values

    def _define(self, values: Iterable[SSAValue]) -> None:
        for value in values:
            if has_place(value) and self._views.has_storage(value):
                at = self._position + (0 if is_tile(value) else 1)
                self.result.intervals[value] = Interval(value, at, at)
                self._depth[value] = len(self._loops)

    def _touch(self, value: SSAValue) -> None:
        """The value is read here; one from outside a loop is needed until that loop has ended."""
        if not has_place(value):
            return
        root = self._views.of(value).root
        if is_constant(root):
            return
        self.result.intervals[root].reach(self._position)
        depth = self._depth[root]
        if depth < len(self._loops):
            self._loops[depth].outer.add(root)

    def _written(self, value: SSAValue, start: int, end: int | None = None) -> None:
        if has_place(value) and self._views.has_storage(value):
            self.result.copies.setdefault(value, []).append(Interval(None, start, start if end is None else end))

    # --- ops

    def _operation(self, operation: Operation) -> None:
        self._advance()
        name = operation_name(operation)
        if name == "scf.for":
            self._for(operation)
        elif name == "scf.while":
            self._while(operation)
        elif name == "scf.if":
            self._if(operation)
        elif name in ("cf.br", "cf.cond_br"):
            self._branch(operation)
        else:
            self._plain(operation, name)

    def _plain(self, operation: Operation, name: str) -> None:
        results = operation.results
        if results and name != "npu.wait" and not any(self._views.has_storage(value) for value in results):
            return  # views and constants: whoever uses them reads their roots
        for value in operation.operands:
            self._touch(value)
        for region in operation.regions:
            self._combiner(region)
        self._transfers(operation, name)
        self._define(results)
        if results and (name in ELEMENTWISE or name in _ACCUMULATING or name == "tt.addptr"):
            self._may_replace(operation, name)

    def _combiner(self, region: Region) -> None:
        """The region of a fold: what it reads from outside it reads while the op runs."""
        inside: set[SSAValue] = set()
        for block in region.blocks:
            inside.update(block.args)
        for operation in region.walk():
            inside.update(operation.results)
            for nested in operation.regions:
                inside.update(argument for block in nested.blocks for argument in block.args)
        for operation in region.walk():
            for value in operation.operands:
                if value not in inside:
                    self._touch(value)

    def _transfers(self, operation: Operation, name: str) -> None:
        """What a transfer reads or writes is its own until the wait."""
        if name in _STARTS:
            self._pending[operation.results[-1]] = [value for value in operation.operands if is_tile(value)]
        elif name == "npu.wait":
            for value in self._pending.get(operation.operands[0], ()):
                self._touch(value)

    def _may_replace(self, operation: Operation, name: str) -> None:
        """An elementwise op writes an element after it has read it; a product is added to where its sum lies."""
        result = operation.results[0]
        views = self._views
        if not is_tile(result) or not views.has_storage(result):
            return
        own = views.own(result)
        whole: set[SSAValue] = set()
        otherwise: set[SSAValue] = set()
        for index, value in enumerate(operation.operands):
            if not is_tile(value):
                continue
            view = views.of(value)
            allowed = _ACCUMULATING.get(name, index) == index
            same = view.layout == own and same_storage(view.root, result)
            (whole if allowed and same else otherwise).add(view.root)
        if whole - otherwise:
            self.result.in_place[result] = whole - otherwise

    # --- structured control flow

    def _edge(self, operation: Operation, pairs: Sequence[tuple[SSAValue, SSAValue]], way: int = 0) -> None:
        pairs = [(value, target) for value, target in pairs if has_place(target)]
        self.result.edges.append((self._position, Edge(operation, tuple(pairs), way)))
        for value, _ in pairs:
            self._touch(value)

    def _carry_tokens(self, operation: Operation, targets: Sequence[tuple[SSAValue, SSAValue]]) -> None:
        """A transfer that goes on around a loop: what it reads lives as long as the loop."""
        for value, target in targets:
            reads = self._pending.get(value)
            if reads is not None:
                self._pending.setdefault(target, []).extend(reads)

    def _for(self, operation: Operation) -> None:
        body = operation.regions[0].block
        low, high, step = operation.operands[:3]
        carried = list(zip(operation.operands[3:], body.args[1:], strict=True))
        for value in (low, high, step):
            self._touch(value)
        self._edge(operation, carried)
        self._carry_tokens(operation, carried)
        entry = self._position + 1
        self._open()
        self._define(body.args)
        self._block_of_loop(body)
        yielded, at = body.last_op, self._position
        assert yielded is not None
        for argument in body.args[1:]:
            self._written(argument, entry, self.result.intervals[argument].start if self._stored(argument) else entry)
        for value in (high, step, body.args[0]):
            self._touch(value)
        end = self._close()
        for argument in body.args[1:]:
            self._written(argument, at + 1, end)
        for value in (high, step):
            self._touch(value)
        self._induction(body.args[0], entry, end)
        self._define(operation.results)
        self._keep_going(yielded, entry, end)
        self._buffers(operation, entry, end)
        self._join(zip(body.args[1:], operation.results, strict=True))
        self._carry_tokens(operation, list(zip(yielded.operands, operation.results, strict=True)))

    def _keep_going(self, yielded: Operation, entry: int, end: int) -> None:
        """A transfer that was started in one trip and ends in the next uses its tiles all the while."""
        for token in yielded.operands:
            for value in (*self._pending.get(token, ()), *self._started(token)):
                interval = self.result.intervals.get(self._views.of(value).root)
                if interval is not None:
                    interval.reach(entry)
                    interval.reach(end)

    def _buffers(self, loop: Operation, entry: int, end: int) -> None:
        """The tile that a trip works on and the one that it loads change places: each is taken all the while."""
        body = loop.regions[0].block
        assert body.last_op is not None
        for value, argument in zip(body.last_op.operands, body.args[1:], strict=True):
            root = self._views.of(value).root
            if is_tile(value) and is_loaded_ahead(root, loop):
                for one in (root, argument):
                    self.result.intervals[one].reach(entry)
                    self.result.intervals[one].reach(end)

    def _started(self, token: SSAValue) -> list[SSAValue]:
        """The tile that the load with this token fills."""
        owner = token.owner
        is_load = isinstance(owner, Operation) and owner.name == "npu.start_load" and token is owner.results[1]
        return [owner.results[0]] if is_load else []  # pyright: ignore[reportAttributeAccessIssue]

    def _stored(self, value: SSAValue) -> bool:
        return value in self.result.intervals

    def _induction(self, value: SSAValue, entry: int, end: int) -> None:
        self.result.intervals[value].reach(entry)
        self.result.intervals[value].reach(end)

    def _block_of_loop(self, body: Block) -> None:
        """The body, its terminator last, which passes values to the next trip."""
        for inner in body.ops:
            if inner is body.last_op:
                self._advance()
                parent = inner.parent_op()
                assert parent is not None
                pairs = list(zip(inner.operands, receivers(parent), strict=True))
                self._edge(inner, pairs)
                self._carry_tokens(inner, pairs)
            else:
                self._operation(inner)

    def _join(self, pairs: Iterable[tuple[SSAValue, SSAValue]]) -> None:
        for one, other in pairs:
            if has_place(one):
                self.result.joined.append((one, other))

    def _while(self, operation: Operation) -> None:
        before, after = operation.regions[0].block, operation.regions[1].block
        carried = [(operation.operands[index], target) for index, target in entering(operation)]
        self._edge(operation, carried)
        self._carry_tokens(operation, carried)
        entry = self._position + 1
        self._open()
        self._define(before.args)
        for argument in before.args:
            self._written(argument, entry, self._position)
        for inner in before.ops:
            if inner is not before.last_op:
                self._operation(inner)
        condition = before.last_op
        assert condition is not None
        self._advance()
        self._touch(condition.operands[0])
        for way, targets in enumerate((after.args, operation.results)):
            pairs = list(zip(condition.operands[1:], targets, strict=True))
            self._edge(condition, pairs, way)
            self._carry_tokens(condition, pairs)
        decided = self._position
        self._advance()
        self._define(after.args)
        for argument in after.args:
            self._written(argument, decided + 1, self._position)
        self._block_of_loop(after)
        at = self._position
        end = self._close()
        for argument in before.args:
            self._written(argument, at + 1, end)
        self._define(operation.results)
        for result in operation.results:
            self._written(result, decided + 1)

    def _if(self, operation: Operation) -> None:
        self._touch(operation.operands[0])
        written = []
        for region in operation.regions:
            if region.blocks:
                self._block_of_loop(region.block)
                written.append(self._position + 1)
        self._advance()
        self._define(operation.results)
        for result in operation.results:
            for position in written[:-1]:
                self._written(result, position)
            self._written(result, written[-1], self._position)

    def _branch(self, operation: Operation) -> None:
        if operation.name == "cf.cond_br":
            self._touch(operation.operands[0])
        for way, pairs in enumerate(passed(operation)):
            self._edge(operation, pairs, way)
            for _, target in pairs:
                if self._stored(target):
                    self.result.intervals[target].reach(self._position + 1)


def same_storage(one: SSAValue, other: SSAValue) -> bool:
    """Whether two tiles take the same bytes in the same space."""
    return (
        is_tile(one)
        and is_tile(other)
        and width_of(one.type) == width_of(other.type)
        and shape_of(one) == shape_of(other)
        and placement_of(one) == placement_of(other)
    )


def reverse_post_order(entry: Block) -> list[Block]:
    """The blocks that can be reached, each before its successors but for jumps back."""
    ordered: list[Block] = []
    seen = {entry}
    stack = [(entry, iter(_successors(entry)))]
    while stack:
        block, rest = stack[-1]
        following = next((target for target in rest if target not in seen), None)
        if following is None:
            ordered.append(block)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(_successors(following))))
    return ordered[::-1]


def _successors(block: Block) -> list[Block]:
    # The last successor first, so that the first one comes right after its block.
    return list(block.last_op.successors)[::-1] if block.last_op else []


def _cycles(ordered: list[Block]) -> tuple[dict[int, int], dict[int, int]]:
    """How many loops begin before a block and end after one, by number; loops that overlap count as one."""
    number = {block: index for index, block in enumerate(ordered)}
    spans = sorted(
        {(number[target], index) for index, block in enumerate(ordered) for target in _successors(block)
         if number[target] <= index}
    )  # fmt: skip
    merged: list[tuple[int, int]] = []
    for first, last in spans:
        while merged and merged[-1][0] <= first <= merged[-1][1] < last:
            first, last = merged[-1][0], max(last, merged.pop()[1])
        merged.append((first, last))
    opened: dict[int, int] = {}
    closed: dict[int, int] = {}
    for first, last in set(merged):
        opened[first] = opened.get(first, 0) + 1
        closed[last] = closed.get(last, 0) + 1
    return opened, closed
