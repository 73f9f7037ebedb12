"""Loads, stores and atomics, through pointers, block pointers and tensor descriptors."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from xdsl.ir import Attribute, Operation

from harness.executor import access as accesses
from harness.executor.analysis import feeds_dot
from harness.executor.atomics import compare_and_swap, read_modify_write
from harness.executor.bounds import NOWHERE, AccessType, hits_one_allocation, resolve
from harness.executor.clocks import RELAXED, Ordering
from harness.executor.context import Context
from harness.executor.ops_tensor import item_bytes
from harness.executor.plan import Frame, Planner, Step, op
from harness.executor.types import element, extents, get, ordering_of, pointee
from harness.executor.values import (
    Affine,
    BlockPointer,
    Both,
    Box,
    Descriptor,
    Pointer,
    affine_from_rest,
    dense,
    spread,
)
from harness.ir import operand, source_location
from harness.ir.enums import ATOMIC_OPERATION, DESCRIPTOR_REDUCTION, PADDING_OPTION
from harness.semantics import numpy_dtype
from harness.semantics.types import Array


def settled_mask(mask: Any, context: Context) -> Any:
    """None where the mask is true everywhere; arrays of one element are decided here."""
    if mask is None:
        return None
    if isinstance(mask, np.ndarray):
        return None if mask.all() else mask
    if isinstance(mask, Both):
        box = settled_mask(mask.box, context)
        if mask.bits.all():
            return box
        return mask.bits if box is None else mask
    full = all(not bound.any() for bound in mask.lower.values())
    return None if full and all((bound == mask.extents[a]).all() for a, bound in mask.upper.items()) else mask


def accessed_parts(pointer: Pointer, mask: Any, access: AccessType, context: Context) -> Iterator[tuple[Pointer, Any]]:
    """The access as one access per allocation; almost always there is just one."""
    if hits_one_allocation(pointer, mask, context.memory):
        yield resolve(pointer, mask, context.memory, access, context), mask
        return
    addresses = dense(pointer.offset)
    left = np.ones((1,) * addresses.ndim, np.bool_) if mask is None else dense(mask)
    for allocation in context.memory.allocations:
        end = allocation.address + allocation.bytes.size
        inside = left & (addresses >= allocation.address) & (addresses < end)
        if inside.any():
            yield resolve(pointer, inside, context.memory, access, context), inside
            left = left & ~inside
    if left.any():
        resolve(pointer, left, context.memory, access, context)


Load = Callable[[Pointer, Any, "Array | None", AccessType, Context], Any]


def load_through(
    pointer: Pointer,
    mask: Any,
    other: Array | None,
    access: AccessType,
    context: Context,
    load: Load = accesses.load,
) -> Any:
    """A masked load, recorded under full checks. `load` may be `accesses.load_shared`."""
    mask = settled_mask(mask, context)
    result: Any = None
    for part, part_mask in accessed_parts(pointer, mask, access, context):
        assert part.allocation is not None
        if part.allocation is not NOWHERE:
            if context.shadow is not None:
                context.shadow.load(part, part_mask, access, context)
            if context.local.is_busy:
                context.local.outstanding.check_global([(part, part_mask, access)], context, writes=False)
            context.result.loads.add(part.allocation.name)
        values = load(part, part_mask, other, access, context)
        result = values if result is None else np.where(dense(part_mask), dense(values), dense(result))
    assert result is not None
    return result


def store_through(pointer: Pointer, values: Array, mask: Any, access: AccessType, context: Context) -> None:
    """A masked store, recorded under full checks."""
    mask = settled_mask(mask, context)
    for part, part_mask in accessed_parts(pointer, mask, access, context):
        assert part.allocation is not None
        if part.allocation is NOWHERE:
            continue
        if context.shadow is not None:
            context.shadow.store(part, values, part_mask, access, context)
        if context.local.is_busy:
            context.local.outstanding.check_global([(part, part_mask, access)], context, writes=True)
        context.result.stores.add(part.allocation.name)
        context.changed = True
        accesses.store(part, values, part_mask, access, context)


def reduce_through(
    pointer: Pointer, values: Array, mask: Any, reduction: str, access: AccessType, context: Context
) -> None:
    """Atomics whose old values nobody wants; `reduction` is a keyword of enums.ATOMIC_OPERATION or more (inc, dec)."""
    for part, part_mask in accessed_parts(pointer, settled_mask(mask, context), access, context):
        if context.local.is_busy:
            context.local.outstanding.check_global([(part, part_mask, access)], context, writes=True)
        read_modify_write(part, values, part_mask, reduction, access, context, wanted=False)
        context.changed = True


def _access(
    operation: Operation, verb: str, type_: Attribute, block: tuple[int, ...] | None = None, atomic: bool = False
) -> AccessType:
    """The access of an op to elements of `type_`, in the shape of `block` where that is another one."""
    kind = element(type_)
    dtype = np.dtype(np.int8) if kind == "i1" else numpy_dtype(kind)
    ordering = ordering_of(operation) if atomic else _volatile(operation)
    return AccessType(verb, dtype, extents(type_) if block is None else block, source_location(operation), ordering)


def plain_access(operation: Operation, verb: str, type_: Attribute) -> AccessType:
    """Of an op that reads or writes memory elements of the tensor `type_`, all of them once."""
    return _access(operation, verb, type_)


def _volatile(operation: Operation) -> Ordering | None:
    """Volatile loads are what PTX makes of them (`ld.volatile`): atomic, and relaxed."""
    return RELAXED if get(operation, "isVolatile", 0) else None


def from_memory(values: Any, type_: Attribute) -> Any:
    """Loaded elements as a value of the op's type: i1 is a byte in memory, a pointer an address."""
    kind = element(type_)
    if kind == "i1":
        return dense(values) != 0
    if kind != "ptr":
        return values
    shape = extents(type_)
    return Pointer(None, affine_from_rest(values, shape) if shape else values)


def to_memory(value: Any, type_: Attribute) -> Array:
    kind = element(type_)
    values = dense(value, numpy_dtype(kind))
    return values.astype(np.int8) if kind == "i1" else values


def loader(operation: Operation) -> Load:
    """How the op loads: operands of matrix products are shared between programs, and trimmed."""
    if not feeds_dot(operation):
        return accesses.load
    uses = {(use.operation.name, use.index) for use in operation.results[0].uses}
    if len(extents(operation.results[0].type)) == 2 and uses in ({("tt.dot", 0)}, {("tt.dot", 1)}):
        return functools.partial(accesses.load_operand, terms=1 if uses == {("tt.dot", 0)} else 0)
    return accesses.load_shared


# --- tt.load, tt.store ---------------------------------------------------------------------------------------


@op("tt.load")
def _load(planner: Planner, operation: Operation) -> Step:
    pointer_value, mask_value, other_value = (operand(operation, name) for name in ("ptr", "mask", "other"))
    assert pointer_value is not None
    pointer = planner.slot(pointer_value)
    mask = None if mask_value is None else planner.slot(mask_value)
    other = None if other_value is None else planner.slot(other_value)
    (target,) = planner.slots_of(operation.results)
    type_ = operation.results[0].type
    access = _access(operation, "load", type_)
    boundary = tuple(get(operation, "boundaryCheck", ()))
    nan = get(operation, "padding") == PADDING_OPTION.values["nan"]
    load = loader(operation)

    def run(context: Context, frame: Frame) -> None:
        where, source = frame[pointer], None if mask is None else frame[mask]
        if isinstance(where, BlockPointer):
            where, source = block_access(where, boundary)
            padding = np.full((1,) * (len(access.extents) + 1), np.nan if nan else 0).astype(access.dtype)
            frame[target] = from_memory(load_through(where, source, padding, access, context, load), type_)
            return
        padding = None if other is None else to_memory(frame[other], type_)
        frame[target] = from_memory(load_through(where, source, padding, access, context, load), type_)

    return run


@op("tt.store")
def _store(planner: Planner, operation: Operation) -> Step:
    pointer_value, value_value, mask_value = (operand(operation, name) for name in ("ptr", "value", "mask"))
    assert pointer_value is not None and value_value is not None
    pointer, value = planner.slot(pointer_value), planner.slot(value_value)
    mask = None if mask_value is None else planner.slot(mask_value)
    type_ = value_value.type
    access = _access(operation, "store", type_)
    boundary = tuple(get(operation, "boundaryCheck", ()))

    def run(context: Context, frame: Frame) -> None:
        where, chosen = frame[pointer], None if mask is None else frame[mask]
        if isinstance(where, BlockPointer):
            where, chosen = block_access(where, boundary)
        store_through(where, to_memory(frame[value], type_), chosen, access, context)

    return run


# --- block pointers ----------------------------------------------------------------------------------------


def _block_offsets(
    offset: Array, strides: Sequence[Array], starts: Sequence[Array], block: tuple[int, ...], itemsize: int
) -> Affine:
    """Byte offsets of a block whose first element is at `starts`, strides in elements."""
    rank = len(block)
    base = offset
    uniform = [0] * rank
    rest: Array | None = None
    for axis in range(rank):
        stride = strides[axis].astype(np.int64) * itemsize
        base = base + stride * starts[axis].astype(np.int64)
        if stride.size == 1 or (stride == stride[0]).all():
            uniform[axis] = int(stride[0]) if block[axis] > 1 else 0
            continue
        shape = [1] * (rank + 1)
        shape[axis + 1] = block[axis]
        part = stride.reshape(-1, *(1,) * rank) * np.arange(block[axis], dtype=np.int64).reshape(shape)
        rest = part if rest is None else rest + part
    return Affine(base, tuple(uniform), block, 0, 0, rest)


def _block_box(
    shape: Sequence[Array], starts: Sequence[Array], block: tuple[int, ...], axes: Sequence[int]
) -> Box | None:
    """The part of a block that lies inside the tensor, along the checked axes."""
    lower, upper = {}, {}
    for axis in axes:
        start = starts[axis].astype(np.int64)
        lower[axis] = np.clip(-start, 0, block[axis])
        upper[axis] = np.clip(shape[axis].astype(np.int64) - start, 0, block[axis])
    return Box(block, lower, upper) if axes else None


def block_access(value: BlockPointer, boundary: Sequence[int]) -> tuple[Pointer, Box | None]:
    """A block pointer as a tensor of pointers and the mask of its checked axes."""
    base = dense(value.pointer.offset)
    offsets = _block_offsets(base, value.strides, value.offsets, value.block, value.itemsize)
    return Pointer(value.pointer.allocation, offsets), _block_box(value.shape, value.offsets, value.block, boundary)


@op("tt.make_tensor_ptr")
def _make_tensor_pointer(planner: Planner, operation: Operation) -> Step:
    block_type = pointee(operation.results[0].type)
    block = extents(block_type)
    rank = len(block)
    base, *rest = planner.slots_of(operation.operands)
    (target,) = planner.slots_of(operation.results)
    size = item_bytes(block_type)

    def run(_: Context, frame: Frame) -> None:
        shape, strides, offsets = (tuple(frame[s] for s in rest[i * rank : (i + 1) * rank]) for i in range(3))
        frame[target] = BlockPointer(frame[base], size, shape, strides, offsets, block)

    return run


@op("tt.advance")
def _advance(planner: Planner, operation: Operation) -> Step:
    base, *steps = planner.slots_of(operation.operands)
    (target,) = planner.slots_of(operation.results)

    def run(_: Context, frame: Frame) -> None:
        old: BlockPointer = frame[base]
        moved = tuple(offset + frame[step] for offset, step in zip(old.offsets, steps, strict=True))
        frame[target] = BlockPointer(old.pointer, old.itemsize, old.shape, old.strides, moved, old.block)

    return run


# --- tensor descriptors --------------------------------------------------------------------------------------


@op("tt.make_tensor_descriptor")
def _make_descriptor(planner: Planner, operation: Operation) -> Step:
    block_type = descriptor_block(operation.results[0].type)
    block, size, kind = extents(block_type), item_bytes(block_type), element(block_type)
    rank = len(block)
    base, *rest = planner.slots_of(operation.operands)
    (target,) = planner.slots_of(operation.results)
    padding = "nan" if get(operation, "padding") == PADDING_OPTION.values["nan"] else "zero"

    def run(_: Context, frame: Frame) -> None:
        shape, strides = (tuple(frame[s] for s in rest[i * rank : (i + 1) * rank]) for i in range(2))
        frame[target] = Descriptor(frame[base], kind, size, shape, strides, block, padding)

    return run


def descriptor_block(type_: Attribute) -> Attribute:
    """The block's tensor type of a `!tt.tensordesc`."""
    return type_.block  # type: ignore[attr-defined]


def _descriptor_access(value: Descriptor, starts: Sequence[Array]) -> tuple[Pointer, Box | None]:
    base = dense(value.pointer.offset)
    offsets = _block_offsets(base, value.strides, starts, value.block, value.itemsize)
    return Pointer(value.pointer.allocation, offsets), _block_box(
        value.shape, starts, value.block, range(len(value.block))
    )


def descriptor_padding(value: Descriptor, access: AccessType) -> Array:
    """What a load through the descriptor gives outside its tensor."""
    fill = np.nan if value.padding == "nan" and access.dtype.kind != "i" else 0
    return np.full((1,) * (len(value.block) + 1), fill).astype(access.dtype)


@op("tt.descriptor_load")
def _descriptor_load(planner: Planner, operation: Operation) -> Step:
    descriptor, *indices = planner.slots_of(operation.operands)
    (target,) = planner.slots_of(operation.results)
    type_ = operation.results[0].type
    block = extents(descriptor_block(operation.operands[0].type))
    access = _access(operation, "load", type_, block)
    shape = extents(type_)
    load = accesses.load_shared if feeds_dot(operation) else accesses.load

    def run(context: Context, frame: Frame) -> None:
        value: Descriptor = frame[descriptor]
        pointer, box = _descriptor_access(value, [frame[s] for s in indices])
        loaded = load_through(pointer, box, descriptor_padding(value, access), access, context, load)
        if shape != block:
            loaded = dense(loaded)
            loaded = spread(loaded, block).reshape(loaded.shape[0], *shape)
        frame[target] = from_memory(loaded, type_)

    return run


@op("tt.descriptor_store", "tt.descriptor_reduce")
def _descriptor_store(planner: Planner, operation: Operation) -> Step:
    descriptor_value, source_value = operand(operation, "desc"), operand(operation, "src")
    assert descriptor_value is not None and source_value is not None
    descriptor, source = planner.slot(descriptor_value), planner.slot(source_value)
    indices = planner.slots_of([v for v in operation.operands if v is not descriptor_value and v is not source_value])
    type_ = source_value.type
    block = extents(descriptor_block(descriptor_value.type))
    kind = get(operation, "kind")
    access = _access(operation, "store", type_, block, atomic=kind is not None)
    shape = extents(type_)
    reduction = None if kind is None else descriptor_reduction(DESCRIPTOR_REDUCTION.keywords[kind], element(type_))

    def run(context: Context, frame: Frame) -> None:
        pointer, box = _descriptor_access(frame[descriptor], [frame[s] for s in indices])
        values = to_memory(frame[source], type_)
        if shape != block:
            values = spread(values, shape).reshape(values.shape[0], *block)
        if reduction is None:
            store_through(pointer, values, box, access, context)
        else:
            reduce_through(pointer, values, box, reduction, access, context)

    return run


def descriptor_reduction(keyword: str, kind: str) -> str:
    """The atomic operation a descriptor reduction performs; its min and max are signed for signless integers."""
    if keyword == "add" and not kind.startswith("i"):
        return "fadd"
    return keyword


@op("tt.descriptor_gather")
def _descriptor_gather(planner: Planner, operation: Operation) -> Step:
    descriptor, rows, column = planner.slots_of(operation.operands)
    (target,) = planner.slots_of(operation.results)
    type_ = operation.results[0].type
    access = _access(operation, "load", type_)
    row_dtype = numpy_dtype(element(operation.operands[1].type))

    def run(context: Context, frame: Frame) -> None:
        value: Descriptor = frame[descriptor]
        pointer, mask = gathered_rows(value, dense(frame[rows], row_dtype), frame[column], access.extents)
        frame[target] = from_memory(
            load_through(pointer, mask, descriptor_padding(value, access), access, context), type_
        )

    return run


@op("tt.descriptor_scatter")
def _descriptor_scatter(planner: Planner, operation: Operation) -> Step:
    descriptor, rows, column, source = planner.slots_of(operation.operands)
    type_ = operation.operands[3].type
    access = _access(operation, "store", type_)
    row_dtype = numpy_dtype(element(operation.operands[1].type))

    def run(context: Context, frame: Frame) -> None:
        pointer, mask = gathered_rows(frame[descriptor], dense(frame[rows], row_dtype), frame[column], access.extents)
        store_through(pointer, to_memory(frame[source], type_), mask, access, context)

    return run


def gathered_rows(value: Descriptor, rows: Array, column: Array, shape: tuple[int, ...]) -> tuple[Pointer, Array]:
    """Rows picked one by one and a run of columns, of a two-dimensional descriptor."""
    row_stride, column_stride = (dense(stride).astype(np.int64)[:, None, None] for stride in value.strides)
    height, width = (dense(extent).astype(np.int64)[:, None, None] for extent in value.shape)
    picked = rows.astype(np.int64)[:, :, None]
    columns = column.astype(np.int64)[:, None, None] + np.arange(shape[1], dtype=np.int64)
    offsets = (
        dense(value.pointer.offset)[:, None, None] + (picked * row_stride + columns * column_stride) * value.itemsize
    )
    inside = (picked >= 0) & (picked < height) & (columns >= 0) & (columns < width)
    return Pointer(value.pointer.allocation, affine_from_rest(offsets, shape)), inside


# --- atomics ---------------------------------------------------------------------------------------------------


Perform = Callable[[Pointer, "list[Array]", Any, AccessType, Context], Array]
Locate = Callable[[Frame], Pointer]


def atomic_step(
    planner: Planner, operation: Operation, locate: Locate, sources: Sequence[int], mask: int | None, perform: Perform
) -> Step:
    """The step of an atomic on the pointers that `locate` finds, with the values in the slots `sources`."""
    (target,) = planner.slots_of(operation.results)
    type_ = operation.results[0].type
    access = _access(operation, "atomic", type_, atomic=True)

    def run(context: Context, frame: Frame) -> None:
        chosen = settled_mask(None if mask is None else frame[mask], context)
        values = [to_memory(frame[slot], type_) for slot in sources]
        old = None
        for part, part_mask in accessed_parts(locate(frame), chosen, access, context):
            if context.local.is_busy:
                context.local.outstanding.check_global([(part, part_mask, access)], context, writes=True)
            if context.pause is None:
                result = perform(part, values, part_mask, access, context)
            else:
                before = accesses.load(part, part_mask, None, access, context)
                result = perform(part, values, part_mask, access, context)
                context.changed |= before.tobytes() != accesses.load(part, part_mask, None, access, context).tobytes()
            old = result if old is None else np.where(dense(part_mask), result, old)
        frame[target] = from_memory(old, type_) if old is not None else None

    return run


def _atomic(planner: Planner, operation: Operation, perform: Perform) -> Step:
    names = ("ptr", "val", "mask") if operation.name == "tt.atomic_rmw" else ("ptr", "cmp", "val")
    pointer_value, *others = (operand(operation, name) for name in names)
    assert pointer_value is not None
    pointer = planner.slot(pointer_value)
    mask_value = others.pop() if names[-1] == "mask" else None
    mask = None if mask_value is None else planner.slot(mask_value)
    sources = [planner.slot(value) for value in others if value is not None]
    return atomic_step(planner, operation, lambda frame: frame[pointer], sources, mask, perform)


def rmw(operation: Operation) -> Perform:
    """What an atomic read-modify-write does, by its attribute."""
    kind = ATOMIC_OPERATION.keywords[get(operation, "atomic_rmw_op")]
    wanted = bool(operation.results[0].uses)
    return lambda pointer, values, mask, access, context: read_modify_write(
        pointer, values[0], mask, kind, access, context, wanted
    )


def cas(operation: Operation) -> Perform:
    """What a compare-and-swap does with [compared, new]."""
    return lambda pointer, values, mask, access, context: compare_and_swap(
        pointer, values[0], values[1], mask, access, context
    )


@op("tt.atomic_rmw")
def _atomic_rmw(planner: Planner, operation: Operation) -> Step:
    return _atomic(planner, operation, rmw(operation))


@op("tt.atomic_cas")
def _atomic_cas(planner: Planner, operation: Operation) -> Step:
    return _atomic(planner, operation, cas(operation))
