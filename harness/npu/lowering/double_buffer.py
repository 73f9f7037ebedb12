"""`npu-double-buffer`: a loop's loads are started one trip ahead, into a second buffer.

Of a counted loop, the loads whose address, bounds, strides and mask follow from the counter and from scalars that are
carried round without loading anything; a mask that is a tile is made once more, which must take less time than a load.
The loop then carries the tile: each trip starts the load of the next one,
works on its own, and waits at its end. In the last trip, and before a loop of no trips, what is started reads nothing.

A load overtakes the stores of its loop only where they write other elements (see `independence`). Where that holds
if certain arguments of the kernel are of different buffers, the loop is there twice: the launch decides which one runs.

A kernel that fits into the scratchpads only without second buffers has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i1, i64
from xdsl.ir import Block, Operation, Region, SSAValue

from harness.ir import operand
from harness.ir.dialects.npu import Access, ApartOp, StartLoadOp, WaitOp, transfer
from harness.ir.enums import INTEGER_PREDICATE
from harness.npu.lowering.allocation import Allocator
from harness.npu.lowering.dead_code import erase_dead_code
from harness.npu.lowering.effects import Effects
from harness.npu.lowering.forms import extents_of
from harness.npu.lowering.independence import Pair, Stores
from harness.npu.lowering.layouts import depth
from harness.npu.lowering.placed import is_tile, placement_of, shape_of, width_of
from harness.npu.lowering.rebuild import add_argument, with_more_results

if TYPE_CHECKING:
    from harness.npu.machine import Machine

Values = dict[SSAValue, SSAValue]

# Beside arithmetic, what may be done once more for the next trip.
_REPEATED = frozenset(
    {"tt.addptr", "tt.bitcast", "tt.splat", "tt.broadcast", "tt.expand_dims", "tt.make_range", "npu.relayout"}
)
_VIEWS = frozenset({"tt.splat", "tt.broadcast", "tt.expand_dims"})
_COPIES = 4  # that a loop makes of a tile: two versions, and a second buffer in each


def run(module: ModuleOp, machine: Machine) -> None:
    """The pass. What fits in no case is for the allocation to refuse."""
    for function in module.body.block.ops:
        loops = _outermost(function)
        if not loops:
            continue
        plain = None if _is_small(function, machine) else function.clone()
        visitor = _Loops(function, Effects(), machine)
        for loop in loops:
            visitor.visit(loop, frozenset())
        if plain is not None and not Allocator(function, machine).fits():
            function.add_region(plain.detach_region(0))
            function.detach_region(0).drop_all_references()
        erase_dead_code(function)


def _is_small(function: Operation, machine: Machine) -> bool:
    """Whether there is room for every tile at an address of its own, and for as many copies of it as loops can get."""
    needed = dict.fromkeys(("scratchpad", "uniform"), 0)
    for op in function.walk():
        tiles = [value for value in op.results if is_tile(value)]
        for tile in tiles:
            placement = placement_of(tile)
            size = depth(shape_of(tile), placement, machine.lanes) * width_of(tile.type)
            needed["uniform" if placement is None else "scratchpad"] += size
    copies = _COPIES ** _nesting(function)
    enough = machine.scratchpad_bytes // copies, machine.uniform_bytes // copies
    return needed["scratchpad"] <= enough[0] and needed["uniform"] <= enough[1]


def _nesting(op: Operation) -> int:
    """How many counted loops there are at most around one another in an op."""
    return max((1 + _nesting(loop) for loop in _outermost(op)), default=0)


def _outermost(op: Operation) -> list[Operation]:
    """The counted loops in an op that are in no other one of those."""
    found: list[Operation] = []
    for region in op.regions:
        for block in region.blocks:
            for inner in block.ops:
                found += [inner] if inner.name == "scf.for" else _outermost(inner)
    return found


@dataclass
class _Loops:
    """The loops of one function. `_checks`: what tells, at its top, whether two arguments are of different buffers."""

    function: Operation
    effects: Effects
    machine: Machine
    _checks: dict[Pair, SSAValue] = field(default_factory=dict)

    def visit(self, loop: Operation, apart: frozenset[Pair], may_split: bool = True) -> None:
        """`apart`: arguments that are of different buffers wherever the loop runs."""
        inner, loads = _outermost(loop), self._loads(loop)
        wanted = frozenset(pair for _, needed in loads for pair in needed) - apart
        if wanted and may_split:
            self.visit(self._with_other_version(loop, wanted), apart, may_split=False)
            apart |= wanted
        _double_buffer(loop, [load for load, needed in loads if needed <= apart])
        for one in inner:
            self.visit(one, apart)

    def _loads(self, loop: Operation) -> list[tuple[_Load, frozenset[Pair]]]:
        """Those that can be started ahead where these arguments are of different buffers."""
        loads = _candidates(loop, self.machine)
        stores = Stores.of(loop, self.effects) if loads else None
        if stores is None:
            return []
        pairs = [stores.pairs(load.start, loop) for load in loads]
        return [(load, needed) for load, needed in zip(loads, pairs, strict=True) if needed is not None]

    def _with_other_version(self, loop: Operation, pairs: frozenset[Pair]) -> Operation:
        """Puts the loop where it runs if these arguments are of different buffers, and gives its copy for where not."""
        block, copy = loop.parent, loop.clone()
        assert block is not None
        branch = scf.IfOp.create(
            operands=[self._all_apart(pairs, loop)],
            result_types=[result.type for result in loop.results],
            regions=[Region(Block()), Region(Block())],
            location=loop.location,
        )
        block.insert_op_before(branch, loop)
        for result, old in zip(branch.results, loop.results, strict=True):
            result.name_hint = old.name_hint
            old.replace_all_uses_with(result)
        loop.detach()
        for region, version in zip(branch.regions, (loop, copy), strict=True):
            region.block.add_ops([version, scf.YieldOp.create(operands=version.results, location=loop.location)])
        return copy

    def _all_apart(self, pairs: frozenset[Pair], loop: Operation) -> SSAValue:
        first, *others = [self._check(pair) for pair in sorted(pairs, key=lambda pair: (pair[0].index, pair[1].index))]
        block = loop.parent
        assert block is not None
        for other in others:
            both = arith.AndIOp.create(operands=[first, other], result_types=[i1], location=loop.location)
            block.insert_op_before(both, loop)
            first = both.results[0]
        return first

    def _check(self, pair: Pair) -> SSAValue:
        if pair not in self._checks:
            op = ApartOp.create(operands=pair, result_types=[i1], location=self.function.location)
            top = self.function.regions[0].blocks[0].first_op
            assert top is not None and top.parent is not None
            top.parent.insert_op_before(op, top)
            self._checks[pair] = op.results[0]
        return self._checks[pair]


@dataclass
class _Load:
    """A load that can be started ahead. `slice`: the ops of the body that its operands come from, in order; `carried`:
    those that the scalars come from that are carried into them next."""

    start: Operation
    wait: Operation
    slice: list[Operation]
    carried: list[Operation]


def _double_buffer(loop: Operation, loads: Sequence[_Load]) -> None:
    if not loads:
        return
    body = loop.regions[0].blocks[0]
    order = {op: number for number, op in enumerate(body.ops)}
    ahead = _Ahead(loop, body)
    for op in sorted({op for load in loads for op in load.carried}, key=order.__getitem__):
        ahead.to_top(op)
    begun = [ahead.before(load) for load in loads]
    first = [ahead.waited(start, loop) for start in begun]
    following = [ahead.next(load) for load in loads]
    for load in loads:
        tile = add_argument(body, load.start.results[0].type)
        tile.name_hint = load.start.results[0].name_hint
        load.wait.results[0].replace_all_uses_with(tile)
        _erase(load.wait)
        _erase(load.start)
    with_more_results(loop, [tile.type for tile in first], first, [following])


# --- which loads ----------------------------------------------------------------------------------------------------


def _candidates(loop: Operation, machine: Machine) -> list[_Load]:
    body = loop.regions[0].blocks[0]
    order = {op: number for number, op in enumerate(body.ops)}
    found = [_candidate(op, body, order) for op in order if op.name == "npu.start_load"]
    most = machine.dma.latency + machine.dram_latency
    return [load for load in found if load is not None and _cost(load.slice, machine) < most]


def _cost(ops: Iterable[Operation], machine: Machine) -> int:
    """Cycles of the vector unit, about, that doing tiles once more takes: a mask, say."""
    tiles = [result for op in ops for result in op.results if is_tile(result) and op.name not in _VIEWS]
    bits = [8 * depth(shape_of(tile), placement_of(tile), machine.lanes) * width_of(tile.type) for tile in tiles]
    return sum(one // machine.vector.register_bits + machine.vector.latency for one in bits)


def _candidate(op: Operation, body: Block, order: Mapping[Operation, int]) -> _Load | None:
    (wait,) = {use.operation for use in op.results[1].uses}
    if wait.parent is not body:
        return None
    needed = _slice(op.operands, body)
    if needed is None:
        return None
    last = body.last_op
    assert last is not None
    used = {value for one in (op, *needed) for value in one.operands}
    passed_on = [last.operands[argument.index - 1] for argument in body.args[1:] if argument in used]
    carried = _slice(passed_on, body)
    if carried is None or any(extents_of(value.type) for value in passed_on):
        return None
    return _Load(op, wait, sorted(needed, key=order.__getitem__), sorted(carried, key=order.__getitem__))


def _is_inside(value: SSAValue, body: Block) -> bool:
    owner = value.owner
    return owner is body or (isinstance(owner, Operation) and owner.parent is body)


def _slice(values: Iterable[SSAValue], body: Block) -> set[Operation] | None:
    """The ops of the body that values come from; None where it takes more than arithmetic."""
    found: set[Operation] = set()
    left = [value for value in values if _is_inside(value, body)]
    while left:
        owner = left.pop().owner
        if not isinstance(owner, Operation) or owner in found:
            continue
        if not owner.name.startswith("arith.") and owner.name not in _REPEATED:
            return None
        found.add(owner)
        left += [value for value in owner.operands if _is_inside(value, body)]
    return found


# --- starting them ahead ----------------------------------------------------------------------------------------------


@dataclass
class _Ahead:
    """Adds what starts loads ahead: in front of the loop, and at the top of its body."""

    loop: Operation
    body: Block
    _top: Operation | None = None
    _made: dict[Operation, dict[object, SSAValue]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._top = self.body.first_op

    def to_top(self, op: Operation) -> None:
        """What is carried on is known before the trip's work is done."""
        if op is self._top:
            self._top = op.next_op
            return
        assert self._top is not None
        op.detach()
        self.body.insert_op_before(op, self._top)

    def before(self, load: _Load) -> Operation:
        """Starts the load of the first trip."""
        low, high, _, *initial = self.loop.operands
        values: Values = dict(zip(self.body.args, (low, *initial), strict=True))
        predicate = "ult" if "unsignedCmp" in self.loop.properties else "slt"
        some = self._compare(predicate, low, high, self.loop)
        return self._started(load, values, some, self.loop)

    def next(self, load: _Load) -> SSAValue:
        """The tile of the next trip, waited for at the end of this one."""
        _, high, step = self.loop.operands[:3]
        last, top = self.body.last_op, self._top
        assert last is not None and top is not None
        counter = self.body.args[0]
        # In unsigned arithmetic the distance to the end does not overflow.
        left = self._binary(arith.SubiOp, high, counter, top)
        more = self._compare("ugt", left, step, top)
        following = self._binary(arith.AddiOp, counter, step, top)
        values: Values = dict(zip(self.body.args, (following, *last.operands), strict=True))
        start = self._started(load, values, more, top)
        return self.waited(start, last)

    def _started(
        self, load: _Load, values: dict[SSAValue, SSAValue], happens: SSAValue, anchor: Operation
    ) -> Operation:
        """The load with other operands, of nothing where it does not happen."""
        for op in load.slice:
            self._insert(op.clone_without_regions(values), anchor, op)
        access = _mapped(Access.of(load.start), values)
        extent = extents_of(load.start.results[0].type)[0]
        whole = access.upper[0] if 0 in access.upper else self._constant(extent)
        select = arith.SelectOp.create(operands=[happens, whole, self._constant(0)], result_types=[i64])
        upper = {**access.upper, 0: self._insert(select, anchor, load.start)}
        other = operand(load.start, "other")
        start = transfer(
            StartLoadOp,
            replace(access, upper=upper),
            [result.type for result in load.start.results],
            other=None if other is None else values.get(other, other),
            attributes=load.start.attributes,
        )
        self._insert(start, anchor, load.start)
        for new, old in zip(start.results, load.start.results, strict=True):
            new.name_hint = old.name_hint
        return start

    def waited(self, start: Operation, anchor: Operation) -> SSAValue:
        """The tile of a load, waited for in front of an op."""
        tile, token = start.results
        return self._insert(WaitOp.create(operands=[token, tile], result_types=[tile.type]), anchor, start)

    # --- pieces of IR, each at most once in front of one op ---------------------------------------------------

    def _compare(self, predicate: str, a: SSAValue, b: SSAValue, anchor: Operation) -> SSAValue:
        number = IntegerAttr(INTEGER_PREDICATE.values[predicate], i64)
        op = arith.CmpiOp.create(operands=[a, b], result_types=[i1], properties={"predicate": number})
        return self._once((predicate, a, b), op, anchor)

    def _binary(self, kind: type[Operation], a: SSAValue, b: SSAValue, anchor: Operation) -> SSAValue:
        return self._once((kind, a, b), kind.create(operands=[a, b], result_types=[a.type]), anchor)

    def _constant(self, number: int) -> SSAValue:
        return self._once(number, arith.ConstantOp(IntegerAttr(number, i64)), self.loop)

    def _once(self, key: object, op: Operation, anchor: Operation) -> SSAValue:
        made = self._made.setdefault(anchor, {})
        if key not in made:
            made[key] = self._insert(op, anchor, self.loop)
        return made[key]

    def _insert(self, op: Operation, anchor: Operation, origin: Operation) -> SSAValue:
        block = anchor.parent
        assert block is not None
        op.location = origin.location
        block.insert_op_before(op, anchor)
        return op.results[0]


def _mapped(access: Access, values: Values) -> Access:
    def of(value: SSAValue) -> SSAValue:
        return values.get(value, value)

    return Access(
        of(access.base),
        tuple(map(of, access.strides)),
        {axis: of(bound) for axis, bound in access.lower.items()},
        {axis: of(bound) for axis, bound in access.upper.items()},
        {axis: (of(start), of(size)) for axis, (start, size) in access.wrap.items()},
        None if access.mask is None else of(access.mask),
    )


def _erase(op: Operation) -> None:
    op.detach()
    op.erase()
