"""Triton's dialect for NVIDIA GPUs up to Hopper: barriers, copies through tensor descriptors, products of tiles in
shared memory.

A barrier is one 64-bit element of shared memory. Here it holds how many of its phases have ended, and in its upper
half how many have begun; the copies that end them are looked up in `outstanding`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue

from harness.errors import Deadlock, UnsupportedOp
from harness.executor.access import load
from harness.executor.bounds import AccessType
from harness.executor.context import Context
from harness.executor.local import LocalView, Rows
from harness.executor.ops_local import begin_copy, local_dtype, local_shape, read_local
from harness.executor.ops_memory import (
    block_access,
    descriptor_block,
    descriptor_padding,
    descriptor_reduction,
    gathered_rows,
    load_through,
    reduce_through,
    store_through,
)
from harness.executor.outstanding import BARRIERS, PRODUCTS, STORES, Work
from harness.executor.plan import Frame, Planner, Step, op
from harness.executor.types import element, extents, get
from harness.executor.values import BlockPointer, Descriptor, Pointer, dense, merged, narrowed, spread
from harness.ir import operand, source_location
from harness.ir.enums import DESCRIPTOR_REDUCTION, INPUT_PRECISION
from harness.semantics import numpy_dtype
from harness.semantics.dot import dot_float, dot_integer
from harness.semantics.types import Array

_HALF = 32
_LOW = (1 << _HALF) - 1


def _chosen(context: Context, frame: Frame, predicate: int | None) -> tuple[Context, Array | None] | None:
    """The context of the programs where the predicate holds, and their positions; None positions mean all of them.
    None where it holds nowhere."""
    if predicate is None or frame[predicate].all():
        return context, None
    flags = np.broadcast_to(frame[predicate], (context.programs,))
    if not flags.any():
        return None
    positions = np.flatnonzero(flags)
    return context.subset(positions), positions


def _narrowed(value: Any, positions: Array | None) -> Any:
    return value if positions is None else narrowed(value, positions)


def _value(operation: Operation, name: str) -> SSAValue:
    value = operand(operation, name)
    assert value is not None
    return value


def _values(operation: Operation, name: str) -> Sequence[SSAValue]:
    """A list of operands by its name in the op's definition."""
    return getattr(operation, name)


def _of(planner: Planner, operation: Operation, name: str) -> int:
    return planner.slot(_value(operation, name))


def _maybe(planner: Planner, operation: Operation, name: str) -> int | None:
    value = operand(operation, name)
    return None if value is None else planner.slot(value)


# --- barriers ---------------------------------------------------------------------------------------------------


@op("ttng.init_barrier")
def _init_barrier(planner: Planner, operation: Operation) -> Step:
    (source,) = planner.slots_of(operation.operands)

    def run(context: Context, frame: Frame) -> None:
        frame[source].write(context.local.rows(context), 0)

    return run


@op("ttng.barrier_expect")
def _barrier_expect(planner: Planner, operation: Operation) -> Step:
    source, predicate = _of(planner, operation, "alloc"), _of(planner, operation, "pred")

    def run(context: Context, frame: Frame) -> None:
        found = _chosen(context, frame, predicate)
        if found is None:
            return
        here, positions = found
        barrier: LocalView = _narrowed(frame[source], positions)
        rows = here.local.rows(here)
        barrier.write(rows, barrier.read(rows) + (1 << _HALF))

    return run


def _phases(barrier: LocalView, rows: Rows) -> tuple[Array, Array]:
    """(ended, begun) of each program's barrier."""
    state = barrier.read(rows).reshape(-1)
    return state & _LOW, state >> _HALF


@op("ttng.wait_barrier")
def _wait_barrier(planner: Planner, operation: Operation) -> Step:
    source, parity = _of(planner, operation, "alloc"), _of(planner, operation, "phase")
    predicate = _maybe(planner, operation, "pred")
    where = source_location(operation)

    def run(context: Context, frame: Frame) -> None:
        found = _chosen(context, frame, predicate)
        if found is None:
            return
        here, positions = found
        barrier: LocalView = _narrowed(frame[source], positions)
        wanted = np.broadcast_to(_narrowed(frame[parity], positions), (here.programs,)) & 1
        ended, _ = _phases(barrier, here.local.rows(here))
        # Of the other parity is the phase before this one, which has ended.
        waiting = np.flatnonzero(ended & 1 == wanted)
        if waiting.size:
            _end_phase(here.subset(waiting), barrier.narrowed(waiting), where)

    return run


def _end_phase(context: Context, barrier: LocalView, where: Any) -> None:
    rows = context.local.rows(context)
    ended, begun = _phases(barrier, rows)
    if (begun <= ended).any():
        program = context.program_of(int(np.argmax(begun <= ended)))
        raise Deadlock(
            f"program {program} waits for a phase of a barrier that nothing ends",
            where,
            "no copy was announced to it",
            program,
        )
    context.local.outstanding.wait_phase(barrier, context.local.numbers(context), ended, context)
    barrier.write(rows, barrier.read(rows) + 1)


# --- copies through descriptors -------------------------------------------------------------------------------------


def _block(descriptor: Descriptor, starts: Sequence[Array]) -> tuple[Pointer, Any]:
    """The pointers of a block of the tensor, and the mask of those inside it."""
    window = BlockPointer(
        descriptor.pointer, descriptor.itemsize, descriptor.shape, descriptor.strides, tuple(starts), descriptor.block
    )
    return block_access(window, range(len(descriptor.block)))


def _begin_load(
    planner: Planner,
    operation: Operation,
    locate: Callable[[Frame, Array | None], tuple[Pointer, Any]],
    access: AccessType,
) -> Step:
    """The step of a copy to shared memory that tells a barrier. `locate`: pointers and mask."""
    names = ("desc", "barrier", "result", "pred")
    descriptor, barrier, target, predicate = (_of(planner, operation, name) for name in names)
    is_boolean = local_dtype(_value(operation, "result").type) == np.bool_

    def run(context: Context, frame: Frame) -> None:
        found = _chosen(context, frame, predicate)
        if found is None:
            return
        here, positions = found
        padding = descriptor_padding(frame[descriptor], access)
        view: LocalView = _narrowed(frame[target], positions)

        def fetch(pointer: Pointer, mask: Any, now: Context) -> Array:
            values = spread(dense(load_through(pointer, mask, padding, access, now, load)), access.extents)
            values = values.reshape(values.shape[0], *view.shape)
            return values != 0 if is_boolean else values

        told: LocalView = _narrowed(frame[barrier], positions)
        _, begun = _phases(told, here.local.rows(here))
        offsets = np.broadcast_to(told.offset, (here.programs,))
        pointer, mask = locate(frame, positions)
        begin_copy(BARRIERS, view, (pointer, mask, access), fetch, here, begun - 1, (told.buffer, offsets))

    return run


def _access(verb: str, descriptor: Any, operation: Operation, shape: tuple[int, ...] | None = None) -> AccessType:
    block = descriptor_block(descriptor.type)
    kind = element(block)
    dtype = np.dtype(np.int8) if kind == "i1" else numpy_dtype(kind)
    return AccessType(verb, dtype, extents(block) if shape is None else shape, source_location(operation))


@op("ttng.async_tma_copy_global_to_local")
def _tma_load(planner: Planner, operation: Operation) -> Step:
    if _values(operation, "offsets"):
        raise UnsupportedOp("unsupported ttng.async_tma_copy_global_to_local with offsets (im2col)")
    descriptor = _of(planner, operation, "desc")
    coordinates = planner.slots_of(_values(operation, "coord"))

    def locate(frame: Frame, positions: Array | None) -> tuple[Pointer, Any]:
        starts = [_narrowed(frame[slot], positions) for slot in coordinates]
        return _block(_narrowed(frame[descriptor], positions), starts)

    return _begin_load(planner, operation, locate, _access("load", _value(operation, "desc"), operation))


@op("ttng.async_tma_gather")
def _tma_gather(planner: Planner, operation: Operation) -> Step:
    descriptor, rows, column = (_of(planner, operation, name) for name in ("desc", "x_offsets", "y_offset"))
    shape = local_shape(_value(operation, "result").type)

    def locate(frame: Frame, positions: Array | None) -> tuple[Pointer, Any]:
        picked = dense(_narrowed(frame[rows], positions), np.dtype(np.int32))
        return gathered_rows(
            _narrowed(frame[descriptor], positions), picked, _narrowed(frame[column], positions), shape
        )

    return _begin_load(planner, operation, locate, _access("load", _value(operation, "desc"), operation, shape))


def _store_step(
    planner: Planner,
    operation: Operation,
    access: AccessType,
    locate: Callable[[Frame], tuple[Pointer, Any]],
    write: Callable[[Pointer, Array, Any, AccessType, Context], None] = store_through,
) -> Step:
    """The step of a copy from shared memory, done at once: what it reads stays busy until it is waited for."""
    source = _of(planner, operation, "src")
    is_boolean = local_dtype(_value(operation, "src").type) == np.bool_

    def run(context: Context, frame: Frame) -> None:
        view: LocalView = frame[source]
        values = read_local(view, context, access.where)
        values = values.reshape(values.shape[0], *access.extents)
        pointer, mask = locate(frame)
        write(pointer, values.astype(np.int8) if is_boolean else values, mask, access, context)
        rows = context.local.numbers(context)
        outstanding = context.local.outstanding
        outstanding.begin(STORES, Work(view, rows, False, access.where, rows))
        outstanding.end_group(STORES, rows)

    return run


def _block_of(planner: Planner, operation: Operation) -> Callable[[Frame], tuple[Pointer, Any]]:
    descriptor = _of(planner, operation, "desc")
    coordinates = planner.slots_of(_values(operation, "coord"))
    return lambda frame: _block(frame[descriptor], [frame[slot] for slot in coordinates])


@op("ttng.async_tma_copy_local_to_global")
def _tma_store(planner: Planner, operation: Operation) -> Step:
    access = _access("store", _value(operation, "desc"), operation)
    return _store_step(planner, operation, access, _block_of(planner, operation))


@op("ttng.async_tma_reduce")
def _tma_reduce(planner: Planner, operation: Operation) -> Step:
    access = _access("atomic", _value(operation, "desc"), operation)
    kind = element(descriptor_block(_value(operation, "desc").type))
    reduction = descriptor_reduction(DESCRIPTOR_REDUCTION.keywords[get(operation, "kind")], kind)

    def write(pointer: Pointer, values: Array, mask: Any, access: AccessType, context: Context) -> None:
        reduce_through(pointer, values, mask, reduction, access, context)

    return _store_step(planner, operation, access, _block_of(planner, operation), write)


@op("ttng.async_tma_scatter")
def _tma_scatter(planner: Planner, operation: Operation) -> Step:
    descriptor, rows, column = (_of(planner, operation, name) for name in ("desc", "x_offsets", "y_offset"))
    shape = local_shape(_value(operation, "src").type)

    def locate(frame: Frame) -> tuple[Pointer, Any]:
        return gathered_rows(frame[descriptor], dense(frame[rows], np.dtype(np.int32)), frame[column], shape)

    return _store_step(planner, operation, _access("store", _value(operation, "desc"), operation, shape), locate)


@op("ttng.async_tma_store_wait")
def _tma_store_wait(planner: Planner, operation: Operation) -> Step:
    newest = get(operation, "pendings")

    def run(context: Context, frame: Frame) -> None:
        context.local.outstanding.wait(STORES, context.local.numbers(context), newest, context)

    return run


# --- products of tiles in shared memory ---------------------------------------------------------------------------


@op("ttng.warp_group_dot")
def _warp_group_dot(planner: Planner, operation: Operation) -> Step:
    names = ("a", "b", "c")
    left, right, accumulator = (_of(planner, operation, name) for name in names)
    use = _maybe(planner, operation, "useC")
    (target,) = planner.slots_of(operation.results)
    where, waits = source_location(operation), bool(get(operation, "isAsync", False))
    precision = INPUT_PRECISION.keywords[get(operation, "inputPrecision", INPUT_PRECISION.values["ieee"])]
    type_ = operation.results[0].type
    shape = extents(type_)
    is_integer = element(type_).startswith("i")
    left_type = operation.operands[0].type

    def tile(value: Any, context: Context) -> Array:
        if isinstance(value, LocalView):
            return read_local(value, context, where)
        return spread(dense(value, numpy_dtype(element(left_type))), extents(left_type))

    def run(context: Context, frame: Frame) -> None:
        a, b = tile(frame[left], context), tile(frame[right], context)
        summed = spread(dense(frame[accumulator]), shape)
        if use is not None and not frame[use].all():
            keep = np.broadcast_to(frame[use], (context.programs,)).reshape(-1, *(1,) * len(shape))
            summed = np.where(keep, summed, summed.dtype.type(0))
        frame[target] = dot_integer(a, b, summed) if is_integer else dot_float(a, b, summed, precision)
        if waits:
            _read_on(context, [frame[left], frame[right]], where)

    return run


def _read_on(context: Context, tiles: Sequence[Any], where: Any) -> None:
    """The product was computed at once; its tiles stay busy until it is waited for."""
    rows = context.local.numbers(context)
    for tile in tiles:
        if isinstance(tile, LocalView):
            context.local.outstanding.begin(PRODUCTS, Work(tile, rows, False, where, rows))
    context.local.outstanding.end_group(PRODUCTS, rows)


@op("ttng.warp_group_dot_wait")
def _warp_group_dot_wait(planner: Planner, operation: Operation) -> Step:
    sources, targets = planner.slots_of(operation.operands), planner.slots_of(operation.results)
    newest = get(operation, "pendings")

    def run(context: Context, frame: Frame) -> None:
        context.local.outstanding.wait(PRODUCTS, context.local.numbers(context), newest, context)
        for source, target in zip(sources, targets, strict=True):
            frame[target] = frame[source]

    return run


# --- descriptors in memory --------------------------------------------------------------------------------------


@op("ttng.tensormap_create")
def _tensormap_create(planner: Planner, operation: Operation) -> Step:
    place, base = _of(planner, operation, "desc_ptr"), _of(planner, operation, "global_address")
    # Innermost axis first; the innermost stride is one element and not given.
    lengths, steps = (planner.slots_of(_values(operation, name)) for name in ("global_dim", "global_stride"))
    padding = "nan" if get(operation, "fill_mode") else "zero"

    def run(context: Context, frame: Frame) -> None:
        shape = tuple(frame[slot].astype(np.int64) for slot in reversed(lengths))
        strides = tuple(frame[slot].astype(np.int64) for slot in reversed(steps))
        # What an element is, and so how many of them a stride is, comes with the type it is read back as.
        written = Descriptor(frame[base], "i8", 1, shape, strides, (), padding)
        context.local.describe(frame[place], written, context)

    return run


@op("ttng.tensormap_fenceproxy_acquire")
def _acquire(planner: Planner, operation: Operation) -> Step:
    def run(_: Context, __: Frame) -> None:
        return

    return run


@op("ttng.reinterpret_tensor_descriptor")
def _reinterpret_descriptor(planner: Planner, operation: Operation) -> Step:
    block = descriptor_block(operation.results[0].type)
    kind, shape = element(block), extents(block)
    size = 1 if kind == "i1" else numpy_dtype(kind).itemsize

    (place,), (target,) = planner.slots_of(operation.operands), planner.slots_of(operation.results)

    def run(context: Context, frame: Frame) -> None:
        parts = context.local.described(frame[place], context)
        found: Descriptor = parts[0][1] if len(parts) == 1 else merged(parts, context.programs)
        strides = (*(stride // size for stride in found.strides), np.ones(1, np.int64))
        frame[target] = Descriptor(found.pointer, kind, size, found.shape, strides, shape, found.padding)

    return run
