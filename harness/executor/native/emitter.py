"""A group of ops as one LLVM function that runs programs one after the other.

    i64 group(i64 first, i64 last, ptr parameters)

returns the number of the first program it did not finish; `last` when all went well. `parameters` are i64: what
`Leaf.parameters` and `Result` say, in order (see `layout`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from llvmlite import ir
from xdsl.ir import Operation, SSAValue

from harness.executor.native import engine, folds
from harness.executor.native.access import Memory, Place
from harness.executor.native.arithmetic import emitted, filled
from harness.executor.native.lanes import I64, POINTER, SIZES, TYPES, Lane, number, spread
from harness.executor.native.leaves import Leaf, splat_of
from harness.executor.native.nest import Nest
from harness.executor.native.schedule import Root, Schedule, pointer_root
from harness.executor.types import element, extents, get, pointee
from harness.ir import operand

_FARTHEST = 1 << 24
Entries = tuple[int, ...]  # for each axis of a tensor, the axis of the nest that counts along it; -1 where it is zero


@dataclass
class Layout:
    """The parameters, by position: for each leaf (`leaves`), each root that is a result (`results`), each allocation
    a pointer leaf points into (`allocations`, two: address and size), and of the scratch memory its address."""

    count: int = 0
    leaves: dict[SSAValue, int] = field(default_factory=dict)
    results: dict[SSAValue, int] = field(default_factory=dict)
    allocations: dict[SSAValue, int] = field(default_factory=dict)
    scratch: int = 0

    def take(self, count: int) -> int:
        self.count += count
        return self.count - count


def layout_of(leaves: Sequence[Leaf], schedule: Schedule) -> Layout:
    layout = Layout()
    for leaf in leaves:
        layout.leaves[leaf.value] = layout.take(leaf.parameters)
        if leaf.is_pointer:
            layout.allocations[leaf.value] = layout.take(2)
    for value in schedule.results:
        layout.results[value] = layout.take(1)
    layout.scratch = layout.take(1)
    return layout


def compile_group(
    members: Sequence[Operation], leaves: Sequence[Leaf], schedule: Schedule, layout: Layout
) -> engine.Function:
    """The machine code of a group, for leaves of just these forms."""
    module = engine.module("group")
    arguments = [I64, I64, POINTER]
    function = ir.Function(module, ir.FunctionType(I64, arguments), "group")
    Emitter(function, members, leaves, schedule, layout).emit()
    return engine.compiled(module, "group", arguments)


class Emitter:
    def __init__(
        self,
        function: ir.Function,
        members: Sequence[Operation],
        leaves: Sequence[Leaf],
        schedule: Schedule,
        layout: Layout,
    ) -> None:
        self.schedule, self.layout = schedule, layout
        self.leaves = {leaf.value: leaf for leaf in leaves}
        first, last, self._parameters = function.args
        entry = function.append_basic_block("entry")
        self._entry = ir.IRBuilder(entry)
        body, self.stop = function.append_basic_block("program"), function.append_basic_block("stop")
        self._first, self._last = first, last
        self._loaded: dict[int, Any] = {}
        self.around = ir.IRBuilder(body)
        self.program = self.around.phi(I64, "program")
        self._around_memo: dict[tuple[SSAValue, Entries], Lane] = {}
        self._memo: dict[tuple[SSAValue, Entries], Lane] = {}
        self.slots: dict[SSAValue, Any] = {}
        self._ready: set[SSAValue] = set()  # in scratch (or a slot), from an earlier nest
        self._inside = set(members)
        self.nest = Nest(self.around, (), "none")

    # --- the whole function ---------------------------------------------------------------------------------

    def emit(self) -> None:
        for position, plan in enumerate(self.schedule.nests):
            self.nest = Nest(self.around, plan.extents, f"nest{position}")
            self._memo = {}
            for value in plan.early:
                self.lane(value, self.identity)
            for root in plan.roots:
                self._root(root)
            self.nest.close()
            self._ready.update(plan.kept())
        self._finish()

    def _finish(self) -> None:
        entry, function = self._entry, self._entry.function
        done = function.append_basic_block("done")
        nothing = entry.icmp_signed(">=", self._first, self._last)
        body = self.program.parent
        entry.cbranch(nothing, done, body)
        self.program.add_incoming(self._first, entry.block)
        following = self.around.add(self.program, number(1))
        self.program.add_incoming(following, self.around.block)
        self.around.cbranch(self.around.icmp_signed("<", following, self._last), body, done)
        ir.IRBuilder(done).ret(self._last)
        ir.IRBuilder(self.stop).ret(self.program)

    def parameter(self, position: int) -> Any:
        if position not in self._loaded:
            place = self._entry.gep(self._parameters, [number(position)], source_etype=I64)
            self._loaded[position] = self._entry.load(place, typ=I64)
        return self._loaded[position]

    def slot(self, type_: Any) -> Any:
        """A variable of the function."""
        return self._entry.alloca(type_)

    # --- roots ----------------------------------------------------------------------------------------------

    @property
    def identity(self) -> Entries:
        return tuple(range(self.nest.depth))

    def _root(self, root: Root) -> None:
        if root.kind == "store":
            self._store(root.operation)
            return
        assert root.value is not None
        if root.operation.name == "tt.reduce" and root.kind == "fold":
            folds.reduce(self, root.operation, root.value)
            return
        lane = self.lane(root.value, self.identity)
        if root.kind == "result":
            self._result(root.value, lane)
        else:
            self._keep(root.value, lane)

    def _keep(self, value: SSAValue, lane: Lane) -> None:
        """Into scratch, for the nests to come."""
        self._raw_write(self.scratch_of(value), value, lane, self.identity)

    def _result(self, value: SSAValue, lane: Lane) -> None:
        shape, kind = extents(value.type), element(value.type)
        size = SIZES[kind]
        for extent in shape:
            size *= extent
        start = self.parameter(self.layout.results[value])
        base = self.around.add(start, self.around.mul(self.program, number(size)))
        self._raw_write(base, value, lane, self.identity)

    def scratch_of(self, value: SSAValue) -> Any:
        return self.around.add(self.parameter(self.layout.scratch), number(self.schedule.scratch[value]))

    def raw_address(self, base: Any, shape: tuple[int, ...], itemsize: int, entries: Entries) -> Lane:
        """Of the element that the nest's indices name in a row-major array."""
        lane = Lane(base, 0, 0)
        stride = itemsize
        for extent, entry in zip(reversed(shape), reversed(entries), strict=True):
            if entry >= 0 and extent > 1:
                lane = self.add(lane, self.scale(self.nest.index(entry), stride))
            stride *= extent
        return lane

    def _raw_write(self, base: Any, value: SSAValue, lane: Lane, entries: Entries) -> None:
        kind = element(value.type)
        address = self.raw_address(base, extents(value.type), SIZES[kind], entries)
        builder = self.nest.builder(self.nest.depth)
        self.memory(kind).write(builder, address, self.stored(builder, lane, kind), None)

    def _read_kept(self, value: SSAValue, entries: Entries) -> Lane:
        kind = element(value.type)
        if value in self.slots:
            return Lane(self.around.load(self.slots[value], typ=TYPES[kind]), 0, 0)
        return self.read(self.raw_address(self.scratch_of(value), extents(value.type), SIZES[kind], entries), kind)

    def read(self, address: Lane, kind: str) -> Lane:
        """An element where nothing needs to be checked."""
        builder = self.nest.builder(address.depth)
        found = self.memory(kind).read(builder, address, None, None)
        return self.from_bytes(builder, found, kind, address.depth)

    def memory(self, kind: str) -> Memory:
        stored = TYPES["i8"] if kind == "i1" else TYPES[kind]
        return Memory(stored, SIZES[kind], self.nest.width)

    def from_bytes(self, builder: ir.IRBuilder, value: Any, kind: str, depth: int) -> Lane:
        if kind == "i1":
            value = builder.icmp_signed("!=", value, filled(value.type, 0))
        return Lane(value, None if isinstance(value.type, ir.VectorType) else 0, depth)

    def stored(self, builder: ir.IRBuilder, lane: Lane, kind: str) -> Lane:
        if kind != "i1":
            return lane
        width = ir.VectorType(TYPES["i8"], self.nest.width) if lane.is_vector else TYPES["i8"]
        return Lane(builder.zext(lane.value, width), lane.stride, lane.depth)

    # --- values ---------------------------------------------------------------------------------------------

    def lane(self, value: SSAValue, entries: Entries) -> Lane:
        """The value where the nest's indices stand, written once at each place."""
        key = (value, entries)
        known = self._around_memo.get(key) or self._memo.get(key)
        if known is not None:
            return known
        lane = self._lane(value, entries)
        (self._memo if lane.depth else self._around_memo)[key] = lane
        return lane

    def _lane(self, value: SSAValue, entries: Entries) -> Lane:
        if value in self._ready:
            return self._read_kept(value, entries)
        if value in self.leaves:
            return self.leaves[value].lane(self, entries)
        operation = value.owner
        assert isinstance(operation, Operation)
        written = _MOVES.get(operation.name)
        if written is not None:
            return written(self, operation, entries)
        return self._elementwise(operation, entries)

    def _elementwise(self, operation: Operation, entries: Entries) -> Lane:
        lanes = [self.lane(value, entries if extents(value.type) else ()) for value in operation.operands]
        depth = max((lane.depth for lane in lanes), default=0)
        straight = self._straight(operation, lanes, depth)
        if straight is not None:
            return straight
        builder = self.nest.builder(depth)
        if all(lane.is_uniform for lane in lanes):
            return Lane(emitted(operation, builder, [lane.value for lane in lanes]), 0, depth)
        keep = operation.name == "arith.select"
        values = [
            lane.value if keep and position == 0 and lane.is_uniform else spread(builder, lane, self.nest.width)
            for position, lane in enumerate(lanes)
        ]
        return Lane(emitted(operation, builder, values), None, depth)

    def _straight(self, operation: Operation, lanes: list[Lane], depth: int) -> Lane | None:
        """Index arithmetic that keeps lanes at even distances, so that their accesses are runs of memory."""
        if any(lane.is_vector for lane in lanes) or all(lane.is_uniform for lane in lanes):
            return None
        name = operation.name
        if name == "arith.addi":
            return self.add(*lanes)
        if name == "arith.subi":
            return self.add(lanes[0], self.scale(lanes[1], -1))
        if name == "arith.muli":
            factor = next((lane for lane in lanes if _constant(lane) is not None), None)
            other = lanes[1] if factor is lanes[0] else lanes[0]
            return None if factor is None else self.scale(other, _constant(factor))  # type: ignore[arg-type]
        if name in ("arith.extsi", "arith.index_cast"):
            return self.widened(lanes[0], element(operation.operands[0].type))
        return None

    def add(self, left: Lane, right: Lane) -> Lane:
        depth = max(left.depth, right.depth)
        builder = self.nest.builder(depth)
        if left.is_vector or right.is_vector:
            values = (spread(builder, lane, self.nest.width) for lane in (left, right))
            return Lane(builder.add(*values), None, depth)
        assert left.stride is not None and right.stride is not None
        return self._run(Lane(builder.add(left.value, right.value), left.stride + right.stride, depth))

    def scale(self, lane: Lane, factor: int) -> Lane:
        builder = self.nest.builder(lane.depth)
        bits = lane.type.width
        value = builder.mul(lane.value, filled(lane.value.type, factor & (1 << bits) - 1))
        return self._run(Lane(value, None if lane.stride is None else lane.stride * factor, lane.depth))

    def _run(self, lane: Lane) -> Lane:
        """Lanes so far apart that they might wrap around within a vector are no run of memory."""
        if lane.stride is None or abs(lane.stride) < _FARTHEST:
            return lane
        return Lane(spread(self.nest.builder(lane.depth), lane, self.nest.width), None, lane.depth)

    def multiply(self, lane: Lane, factor: Any) -> Lane:
        """By an i64 that only the run knows: lanes at even distances become a vector."""
        builder = self.nest.builder(lane.depth)
        if lane.is_uniform:
            return Lane(builder.mul(lane.value, factor), 0, lane.depth)
        factors = spread(builder, Lane(factor, 0, 0), self.nest.width)
        return Lane(builder.mul(spread(builder, lane, self.nest.width), factors), None, lane.depth)

    def compare(self, sign: str, left: Lane, right: Lane) -> Lane:
        return self._joined(left, right, lambda builder, a, b: builder.icmp_signed(sign, a, b))

    def both(self, left: Lane, right: Lane) -> Lane:
        return self._joined(left, right, lambda builder, a, b: builder.and_(a, b))

    def _joined(self, left: Lane, right: Lane, write: Callable[[ir.IRBuilder, Any, Any], Any]) -> Lane:
        depth = max(left.depth, right.depth)
        builder = self.nest.builder(depth)
        if left.is_uniform and right.is_uniform:
            return Lane(write(builder, left.value, right.value), 0, depth)
        values = (spread(builder, lane, self.nest.width) for lane in (left, right))
        return Lane(write(builder, *values), None, depth)

    def widened(self, lane: Lane, kind: str) -> Lane:
        """An integer as i64. A run of lanes stays one: a run that wraps around in its own type stops the program."""
        builder = self.nest.builder(lane.depth)
        if TYPES[kind] == I64:
            return lane
        wide = I64 if not lane.is_vector else ir.VectorType(I64, self.nest.width)
        value = builder.sext(lane.value, wide)
        if lane.stride:
            last = builder.add(value, number(lane.stride * (self.nest.width - 1)))
            back = builder.sext(builder.trunc(last, TYPES[kind]), I64)
            onwards = builder.function.append_basic_block("straight")
            builder.cbranch(builder.icmp_signed("!=", back, last), self.stop, onwards)
            builder.position_at_end(onwards)
        return Lane(value, lane.stride, lane.depth)

    # --- memory ---------------------------------------------------------------------------------------------

    def _place(self, pointer: SSAValue) -> Place:
        position = self.layout.allocations[pointer_root(pointer, self._inside)]
        return Place(self.parameter(position), self.parameter(position + 1), self.stop)

    def load(self, operation: Operation, entries: Entries) -> Lane:
        pointer, mask, other = (operand(operation, name) for name in ("ptr", "mask", "other"))
        assert pointer is not None
        kind = element(operation.results[0].type)
        offset = self.lane(pointer, entries)
        on = None if mask is None else self.lane(mask, entries)
        default = None if other is None else self.lane(other, entries)
        depth = max(lane.depth for lane in (offset, on, default) if lane is not None)
        builder = self.nest.builder(depth)
        memory = self.memory(kind)
        ragged = any(lane is not None and not lane.is_uniform for lane in (on, default))
        if offset.is_uniform and ragged:
            offset = Lane(spread(builder, offset, self.nest.width), None, depth)
        if default is not None:
            default = self.stored(builder, default, kind)
        filler = None if default is None else default.value
        if default is not None and not offset.is_uniform:
            filler = spread(builder, default, self.nest.width)
        address = memory.checked(builder, offset, on, self._place(pointer))
        return self.from_bytes(builder, memory.read(builder, address, on, filler), kind, depth)

    def _store(self, operation: Operation) -> None:
        pointer, value, mask = (operand(operation, name) for name in ("ptr", "value", "mask"))
        assert pointer is not None and value is not None
        kind = element(value.type)
        offset, lane = self.lane(pointer, self.identity), self.lane(value, self.identity)
        on = None if mask is None else self.lane(mask, self.identity)
        builder = self.nest.builder(self.nest.depth)
        memory = self.memory(kind)
        if offset.is_uniform and self.nest.width > 1:
            offset = Lane(spread(builder, offset, self.nest.width), None, self.nest.depth)
        address = memory.checked(builder, offset, on, self._place(pointer))
        memory.write(builder, address, self.stored(builder, lane, kind), on)

    def add_pointer(self, operation: Operation, entries: Entries) -> Lane:
        pointer, offset = operation.operands
        size = SIZES[element(pointee(pointer.type))]
        kind = element(offset.type)
        lane = self.widened(self.lane(offset, entries), kind)
        return self.add(self.lane(pointer, entries), self.scale(lane, size))


def _constant(lane: Lane) -> int | None:
    value = lane.value
    return value.constant if lane.is_uniform and isinstance(value, ir.Constant) else None


# --- ops that move elements, or make them out of nothing ----------------------------------------------------------


def _range(emitter: Emitter, operation: Operation, entries: Entries) -> Lane:
    start = get(operation, "start", 0)
    if entries[0] < 0:
        return Lane(filled(TYPES["i32"], start), 0, 0)
    index = emitter.nest.index(entries[0])
    builder = emitter.nest.builder(index.depth)
    value = builder.add(builder.trunc(index.value, TYPES["i32"]), filled(TYPES["i32"], start))
    return Lane(value, index.stride, index.depth)


def _splat_constant(emitter: Emitter, operation: Operation, entries: Entries) -> Lane:
    kind = element(operation.results[0].type)
    value = splat_of(operation)
    return Lane(filled(TYPES[kind], value), 0, 0)


def _expanded(emitter: Emitter, operation: Operation, entries: Entries) -> Lane:
    axis = get(operation, "axis")
    return emitter.lane(operation.operands[0], (*entries[:axis], *entries[axis + 1 :]))


def _broadcast(emitter: Emitter, operation: Operation, entries: Entries) -> Lane:
    shape = extents(operation.operands[0].type)
    kept = tuple(-1 if extent == 1 else entry for extent, entry in zip(shape, entries, strict=True))
    return emitter.lane(operation.operands[0], kept)


_MOVES = {
    "arith.constant": _splat_constant,
    "tt.make_range": _range,
    "tt.splat": lambda emitter, operation, entries: emitter.lane(operation.operands[0], ()),
    "tt.expand_dims": _expanded,
    "tt.broadcast": _broadcast,
    "tt.addptr": Emitter.add_pointer,
    "tt.load": Emitter.load,
    "tt.scan": folds.scan,
}
