"""Reductions and scans by one op on two elements, inside a nest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from llvmlite import ir
from xdsl.ir import Operation, SSAValue

from harness.executor.native.arithmetic import BINARY, FLOAT_IDENTITIES, filled, integer_identity
from harness.executor.native.lanes import POINTER, SIZES, TYPES, Lane, number, spread
from harness.executor.native.sums import PairwiseSum, neighbours_folded
from harness.executor.types import element, extents, get

if TYPE_CHECKING:
    from harness.executor.native.emitter import Emitter, Entries


def reduce(emitter: Emitter, operation: Operation, value: SSAValue) -> None:
    source, axis = operation.operands[0], get(operation, "axis")
    lane = emitter.lane(source, emitter.identity)
    kind = element(source.type)
    fold = next(iter(operation.regions[0].block.ops)).name
    if axis == emitter.nest.depth - 1:
        _fold_rows(emitter, value, lane, fold, kind)
    else:
        _fold_columns(emitter, value, lane, fold, kind, axis)


def _fold_rows(emitter: Emitter, value: SSAValue, lane: Lane, fold: str, kind: str) -> None:
    """Along the innermost axis: one running vector, its elements combined at the end of each row."""
    if fold == "arith.addf":
        _add_rows(emitter, value, lane, kind)
        return
    depth, width = emitter.nest.depth, emitter.nest.width
    type_ = ir.VectorType(TYPES[kind], width) if width > 1 else TYPES[kind]
    running = emitter.slot(type_)
    emitter.nest.builder(depth - 1).store(filled(type_, _identity(fold, kind)), running)
    inner = emitter.nest.builder(depth)
    current = lane.value if width == 1 else spread(inner, lane, width)
    inner.store(BINARY[fold](inner, inner.load(running, typ=type_), current), running)
    entries = tuple(range(depth - 1))

    def finish(builder: ir.IRBuilder) -> None:
        total = neighbours_folded(builder, builder.load(running, typ=type_), fold)
        _keep_folded(emitter, builder, value, Lane(total, 0, depth - 1), entries)

    emitter.nest.level(depth - 1).after.append(finish)


def _add_rows(emitter: Emitter, value: SSAValue, lane: Lane, kind: str) -> None:
    depth = emitter.nest.depth
    sums = PairwiseSum(TYPES[kind], emitter.nest.extents[-1], emitter.nest.width, emitter.slot)
    sums.start(emitter.nest.builder(depth - 1))
    inner = emitter.nest.builder(depth)
    sums.add(inner, emitter.nest.index(depth - 1).value, spread(inner, lane, emitter.nest.width))
    entries = tuple(range(depth - 1))
    emitter.nest.level(depth - 1).after.append(
        lambda builder: _keep_folded(emitter, builder, value, Lane(sums.total(builder), 0, depth - 1), entries)
    )


def _keep_folded(emitter: Emitter, builder: ir.IRBuilder, value: SSAValue, lane: Lane, entries: Entries) -> None:
    if not entries:
        emitter.slots[value] = emitter.slot(lane.type)
        builder.store(lane.value, emitter.slots[value])
        return
    kind = element(value.type)
    base = emitter.scratch_of(value)
    offset = base
    stride = SIZES[kind]
    for extent, entry in zip(reversed(extents(value.type)), reversed(entries), strict=True):
        offset = builder.add(offset, builder.mul(emitter.nest.index(entry).value, number(stride)))
        stride *= extent
    scalar = emitter.stored(builder, lane, kind).value
    builder.store(scalar, builder.inttoptr(offset, POINTER), align=SIZES[kind])


def _fold_columns(emitter: Emitter, value: SSAValue, lane: Lane, fold: str, kind: str, axis: int) -> None:
    """Along an outer axis: the result's elements run along, in scratch."""
    depth = emitter.nest.depth
    builder = emitter.nest.builder(depth)
    entries = tuple(entry for entry in range(depth) if entry != axis)
    address = emitter.raw_address(emitter.scratch_of(value), extents(value.type), SIZES[kind], entries)
    memory = emitter.memory(kind)
    before = emitter.from_bytes(builder, memory.read(builder, address, None, None), kind, depth)
    starts = builder.icmp_signed("==", emitter.nest.index(axis).value, number(0))
    old = before.value
    running = builder.select(starts, filled(old.type, _identity(fold, kind)), old)
    current = spread(builder, lane, emitter.nest.width) if emitter.nest.width > 1 else lane.value
    total = Lane(BINARY[fold](builder, running, current), before.stride, depth)
    memory.write(builder, address, emitter.stored(builder, total, kind), None)


def scan(emitter: Emitter, operation: Operation, entries: Entries) -> Lane:
    """Running along the innermost axis, element by element as NumPy goes."""
    depth, width = emitter.nest.depth, emitter.nest.width
    source = operation.operands[0]
    kind = element(source.type)
    fold = next(iter(operation.regions[0].block.ops)).name
    lane = emitter.lane(source, entries)
    carry = emitter.slot(TYPES[kind])
    emitter.nest.builder(depth - 1).store(filled(TYPES[kind], _first(fold, kind)), carry)
    builder = emitter.nest.builder(depth)
    running = builder.load(carry, typ=TYPES[kind])
    if width == 1:
        running = BINARY[fold](builder, running, lane.value)
        builder.store(running, carry)
        return Lane(running, 0, depth)
    values = spread(builder, lane, width)
    result: Any = ir.Constant(values.type, ir.Undefined)
    for position in range(width):
        index = ir.Constant(TYPES["i32"], position)
        running = BINARY[fold](builder, running, builder.extract_element(values, index))
        result = builder.insert_element(result, running, index)
    builder.store(running, carry)
    return Lane(result, None, depth)


def _identity(fold: str, kind: str) -> Any:
    if fold in FLOAT_IDENTITIES:
        return FLOAT_IDENTITIES[fold]
    bits = TYPES[kind].width
    start = integer_identity(fold, bits)
    assert start is not None
    return start & ((1 << bits) - 1) if bits == 1 else start


def _first(fold: str, kind: str) -> Any:
    """What leaves even the sign of a zero alone: NumPy's prefixes start with the first element itself."""
    return -0.0 if fold == "arith.addf" else _identity(fold, kind)
