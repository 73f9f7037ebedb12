"""Triton's dialect for NVIDIA GPUs: barriers, copies through tensor descriptors, descriptors in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation

from harness.errors import UnsupportedOp
from harness.executor.access import load
from harness.executor.barriers import Barrier
from harness.executor.bounds import AccessType
from harness.executor.context import Context
from harness.executor.local import LocalView
from harness.executor.operands import chosen, ctas_of, maybe_slot, narrowed_to, slot_of, value_of, values_of
from harness.executor.ops_local import begin_copy, local_dtype, local_shape, read_local
from harness.executor.ops_memory import (
    accessed_parts,
    block_access,
    descriptor_block,
    descriptor_padding,
    descriptor_reduction,
    gathered_rows,
    load_through,
    reduce_through,
    store_through,
)
from harness.executor.outstanding import BARRIERS, STORES, Work
from harness.executor.plan import Frame, Planner, Step, op
from harness.executor.types import element, extents, get
from harness.executor.values import BlockPointer, Descriptor, Pointer, dense, merged, spread
from harness.ir import source_location
from harness.ir.enums import DESCRIPTOR_REDUCTION
from harness.semantics import numpy_dtype
from harness.semantics.types import Array

# --- barriers ---------------------------------------------------------------------------------------------------


@op("ttng.init_barrier")
def _init_barrier(planner: Planner, operation: Operation) -> Step:
    (source,) = planner.slots_of(operation.operands)
    count = get(operation, "count")

    def run(context: Context, frame: Frame) -> None:
        Barrier(frame[source], context).initialise(count)

    return run


@op("ttng.barrier_expect", "ttng.arrive_barrier")
def _arrive(planner: Planner, operation: Operation) -> Step:
    """`size` is what one of the program's CTAs announces."""
    source, predicate = slot_of(planner, operation, "alloc"), maybe_slot(planner, operation, "pred")
    count, size = get(operation, "count", 1), get(operation, "size", 0) * ctas_of(operation)

    def run(context: Context, frame: Frame) -> None:
        found = chosen(context, frame, predicate)
        if found is not None:
            here, positions = found
            Barrier(narrowed_to(frame[source], positions), here).arrive(count, size)

    return run


@op("ttng.wait_barrier")
def _wait_barrier(planner: Planner, operation: Operation) -> Step:
    source, parity = slot_of(planner, operation, "alloc"), slot_of(planner, operation, "phase")
    predicate = maybe_slot(planner, operation, "pred")
    where = source_location(operation)

    def run(context: Context, frame: Frame) -> None:
        found = chosen(context, frame, predicate)
        if found is None:
            return
        here, positions = found
        wanted = np.broadcast_to(narrowed_to(frame[parity], positions), (here.programs,)) & 1
        Barrier(narrowed_to(frame[source], positions), here).wait(wanted, where)

    return run


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
    descriptor, barrier, target, predicate = (slot_of(planner, operation, name) for name in names)
    is_boolean = local_dtype(value_of(operation, "result").type) == np.bool_

    def run(context: Context, frame: Frame) -> None:
        found = chosen(context, frame, predicate)
        if found is None:
            return
        here, positions = found
        padding = descriptor_padding(frame[descriptor], access)
        view: LocalView = narrowed_to(frame[target], positions)

        def fetch(pointer: Pointer, mask: Any, now: Context) -> Array:
            values = spread(dense(load_through(pointer, mask, padding, access, now, load)), access.extents)
            values = values.reshape(values.shape[0], *view.shape)
            return values != 0 if is_boolean else values

        size = view.size * view.buffer.data.itemsize
        phases, signal = Barrier(narrowed_to(frame[barrier], positions), here).signal(size=size)
        pointer, mask = locate(frame, positions)
        begin_copy(BARRIERS, view, (pointer, mask, access), fetch, here, phases, signal)

    return run


def _access(verb: str, descriptor: Any, operation: Operation, shape: tuple[int, ...] | None = None) -> AccessType:
    block = descriptor_block(descriptor.type)
    kind = element(block)
    dtype = np.dtype(np.int8) if kind == "i1" else numpy_dtype(kind)
    return AccessType(verb, dtype, extents(block) if shape is None else shape, source_location(operation))


@op("ttng.async_tma_copy_global_to_local")
def _tma_load(planner: Planner, operation: Operation) -> Step:
    if values_of(operation, "offsets"):
        raise UnsupportedOp("unsupported ttng.async_tma_copy_global_to_local with offsets (im2col)")
    descriptor = slot_of(planner, operation, "desc")
    coordinates = planner.slots_of(values_of(operation, "coord"))

    def locate(frame: Frame, positions: Array | None) -> tuple[Pointer, Any]:
        starts = [narrowed_to(frame[slot], positions) for slot in coordinates]
        return _block(narrowed_to(frame[descriptor], positions), starts)

    return _begin_load(planner, operation, locate, _access("load", value_of(operation, "desc"), operation))


@op("ttng.async_tma_gather")
def _tma_gather(planner: Planner, operation: Operation) -> Step:
    descriptor, rows, column = (slot_of(planner, operation, name) for name in ("desc", "x_offsets", "y_offset"))
    shape = local_shape(value_of(operation, "result").type)

    def locate(frame: Frame, positions: Array | None) -> tuple[Pointer, Any]:
        picked = dense(narrowed_to(frame[rows], positions), np.dtype(np.int32))
        return gathered_rows(
            narrowed_to(frame[descriptor], positions), picked, narrowed_to(frame[column], positions), shape
        )

    return _begin_load(planner, operation, locate, _access("load", value_of(operation, "desc"), operation, shape))


def _store_step(
    planner: Planner,
    operation: Operation,
    access: AccessType,
    locate: Callable[[Frame], tuple[Pointer, Any]],
    write: Callable[[Pointer, Array, Any, AccessType, Context], None] = store_through,
) -> Step:
    """The step of a copy from shared memory: between here and the wait it reads the one and writes the other."""
    source = slot_of(planner, operation, "src")
    is_boolean = local_dtype(value_of(operation, "src").type) == np.bool_

    def carry_out(here: Context, work: Work) -> None:
        assert work.source is not None
        pointer, mask, _ = work.source
        values = read_local(work.reads[0], here, access.where)
        values = values.reshape(values.shape[0], *access.extents)
        write(pointer, values.astype(np.int8) if is_boolean else values, mask, access, here)

    def run(context: Context, frame: Frame) -> None:
        view: LocalView = frame[source]
        pointer, mask = locate(frame)
        rows, outstanding = context.local.numbers(context), context.local.outstanding
        stores = tuple((part, chosen, access) for part, chosen in accessed_parts(pointer, mask, access, context))
        outstanding.check(view, context, access.where, writes=False)
        outstanding.check_global(stores, context, writes=True)
        work = Work(rows, access.where, rows, reads=(view,), stores=stores, source=(pointer, mask, access))
        if context.options.copies == "latest":
            work.complete = carry_out
        else:
            carry_out(context, work)
        outstanding.begin(STORES, work)

    return run


def _block_of(planner: Planner, operation: Operation) -> Callable[[Frame], tuple[Pointer, Any]]:
    descriptor = slot_of(planner, operation, "desc")
    coordinates = planner.slots_of(values_of(operation, "coord"))
    return lambda frame: _block(frame[descriptor], [frame[slot] for slot in coordinates])


@op("ttng.async_tma_copy_local_to_global")
def _tma_store(planner: Planner, operation: Operation) -> Step:
    access = _access("store", value_of(operation, "desc"), operation)
    return _store_step(planner, operation, access, _block_of(planner, operation))


@op("ttng.async_tma_reduce")
def _tma_reduce(planner: Planner, operation: Operation) -> Step:
    access = _access("atomic", value_of(operation, "desc"), operation)
    kind = element(descriptor_block(value_of(operation, "desc").type))
    reduction = descriptor_reduction(DESCRIPTOR_REDUCTION.keywords[get(operation, "kind")], kind)

    def write(pointer: Pointer, values: Array, mask: Any, access: AccessType, context: Context) -> None:
        reduce_through(pointer, values, mask, reduction, access, context)

    return _store_step(planner, operation, access, _block_of(planner, operation), write)


@op("ttng.async_tma_scatter")
def _tma_scatter(planner: Planner, operation: Operation) -> Step:
    descriptor, rows, column = (slot_of(planner, operation, name) for name in ("desc", "x_offsets", "y_offset"))
    shape = local_shape(value_of(operation, "src").type)

    def locate(frame: Frame) -> tuple[Pointer, Any]:
        return gathered_rows(frame[descriptor], dense(frame[rows], np.dtype(np.int32)), frame[column], shape)

    return _store_step(planner, operation, _access("store", value_of(operation, "desc"), operation, shape), locate)


@op("ttng.async_tma_store_wait")
def _tma_store_wait(planner: Planner, operation: Operation) -> Step:
    newest = get(operation, "pendings")

    def run(context: Context, frame: Frame) -> None:
        context.local.outstanding.wait(STORES, context.local.numbers(context), newest, context)

    return run


# --- descriptors in memory --------------------------------------------------------------------------------------


@op("ttng.tensormap_create")
def _tensormap_create(planner: Planner, operation: Operation) -> Step:
    place, base = slot_of(planner, operation, "desc_ptr"), slot_of(planner, operation, "global_address")
    # Innermost axis first; the innermost stride is one element and not given.
    lengths, steps = (planner.slots_of(values_of(operation, name)) for name in ("global_dim", "global_stride"))
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
