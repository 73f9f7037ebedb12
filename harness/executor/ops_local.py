"""Triton's GPU dialect: layouts, which change no value, and shared memory with its asynchronous copies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.ir import Attribute, Operation

from harness.cases.evidence import Finding
from harness.errors import UnsupportedOp
from harness.executor.access import load
from harness.executor.bounds import AccessType
from harness.executor.context import Context
from harness.executor.local import SHARED, LocalBuffer, LocalView, contiguous_strides, reshaped
from harness.executor.memory import Allocation
from harness.executor.ops_memory import accessed_parts, load_through
from harness.executor.ops_tensor import unary
from harness.executor.outstanding import COPIES, Global, Signal, Work, uncommitted
from harness.executor.plan import Frame, Planner, Step, op
from harness.executor.types import element, extents, get, pointee
from harness.executor.values import Pointer, affine_from_rest, dense, spread
from harness.ir import operand, source_location
from harness.semantics import numpy_dtype
from harness.semantics.dot import decode_scaled
from harness.semantics.types import Array

TOKEN = np.zeros(1, np.bool_)  # what tokens are: nothing depends on their value


def local_shape(type_: Attribute) -> tuple[int, ...]:
    """The extents of a `!ttg.memdesc`."""
    return type_.get_shape()  # type: ignore[attr-defined]


def local_dtype(type_: Attribute) -> np.dtype[Any]:
    """How the elements of a `!ttg.memdesc` are held."""
    return numpy_dtype(element(type_.element_type))  # type: ignore[attr-defined]


def new_buffer(context: Context, size: int, dtype: np.dtype[Any], where: Any, kind: str = SHARED) -> LocalBuffer:
    """A buffer for all programs of the batch; full checks look out for what nobody wrote."""
    return LocalBuffer(context.local.programs.size, size, dtype, where, context.shadow is not None, kind)


@op("ttg.convert_layout")
def _convert_layout(planner: Planner, operation: Operation) -> Step:
    return unary(lambda value: value)(planner, operation)


@op("ttg.fp4_to_fp")
def _fp4_to_fp(planner: Planner, operation: Operation) -> Step:
    axis = get(operation, "axis") + 1
    source, target = operation.operands[0].type, operation.results[0].type
    dtype = numpy_dtype(element(target))

    def convert(value: Any) -> Array:
        packed = spread(dense(value, numpy_dtype(element(source))), extents(source))
        return decode_scaled(packed, None, "e2m1", axis, axis).astype(dtype)

    return unary(convert)(planner, operation)


# --- allocations and views --------------------------------------------------------------------------------------


@op("ttg.local_alloc")
def _local_alloc(planner: Planner, operation: Operation) -> Step:
    type_ = operation.results[0].type
    shape, dtype, where = local_shape(type_), local_dtype(type_), source_location(operation)
    strides, size = contiguous_strides(shape), int(np.prod(shape, dtype=np.int64))
    source = planner.slot(operation.operands[0]) if operation.operands else None
    (target,) = planner.slots_of(operation.results)

    def run(context: Context, frame: Frame) -> None:
        buffer = new_buffer(context, size, dtype, where)
        view = LocalView(buffer, shape, strides, np.zeros(1, np.int64))
        if source is not None:
            write_local(view, spread(dense(frame[source], dtype), shape), context, where)
        frame[target] = view

    return run


@op("ttg.local_dealloc", "ttng.fence_async_shared", "ttng.inval_barrier")
def _nothing(planner: Planner, operation: Operation) -> Step:
    """A buffer lives as long as somebody refers to it."""

    def run(_: Context, __: Frame) -> None:
        return

    return run


@op("ttg.memdesc_index")
def _memdesc_index(planner: Planner, operation: Operation) -> Step:
    (source, index), (target,) = planner.slots_of(operation.operands), planner.slots_of(operation.results)
    shape = local_shape(operation.results[0].type)

    def run(_: Context, frame: Frame) -> None:
        view: LocalView = frame[source]
        by = frame[index].astype(np.int64)
        # Outside, hardware reads whatever lies there: the kernel is wrong, and must not crash the executor.
        frame[target] = view.moved(shape, view.strides[1:], np.clip(by, 0, view.shape[0] - 1) * view.strides[0])

    return run


@op("ttg.memdesc_subview")
def _memdesc_subview(planner: Planner, operation: Operation) -> Step:
    (source, *offsets), (target,) = planner.slots_of(operation.operands), planner.slots_of(operation.results)
    shape = local_shape(operation.results[0].type)

    def run(_: Context, frame: Frame) -> None:
        view: LocalView = frame[source]
        # Outside: as for memdesc_index.
        inside = [
            np.clip(frame[at].astype(np.int64), 0, extent - 1) for at, extent in zip(offsets, view.shape, strict=True)
        ]
        by = sum(at * stride for at, stride in zip(inside, view.strides, strict=True))
        frame[target] = view.moved(shape, view.strides[len(view.strides) - len(shape) :], by)

    return run


@op("ttg.memdesc_subslice")
def _memdesc_subslice(planner: Planner, operation: Operation) -> Step:
    offsets, shape = get(operation, "offsets"), local_shape(operation.results[0].type)

    def slice_(view: LocalView) -> LocalView:
        by = sum(offset * stride for offset, stride in zip(offsets, view.strides, strict=True))
        return view.moved(shape, view.strides, by)

    return unary(slice_)(planner, operation)


@op("ttg.memdesc_trans")
def _memdesc_trans(planner: Planner, operation: Operation) -> Step:
    order, shape = get(operation, "order"), local_shape(operation.results[0].type)
    return unary(lambda view: view.moved(shape, tuple(view.strides[axis] for axis in order)))(planner, operation)


@op("ttg.memdesc_reshape")
def _memdesc_reshape(planner: Planner, operation: Operation) -> Step:
    shape = local_shape(operation.results[0].type)
    return unary(lambda view: reshaped(view, shape))(planner, operation)


@op("ttg.memdesc_reinterpret")
def _memdesc_reinterpret(planner: Planner, operation: Operation) -> Step:
    """Only where no byte is read as another element: which one it would be depends on the layouts."""
    source, target = operation.operands[0].type, operation.results[0].type
    if local_dtype(source) != local_dtype(target) or local_shape(source) != local_shape(target):
        raise UnsupportedOp("unsupported ttg.memdesc_reinterpret of another shape or element type")
    return unary(lambda view: view)(planner, operation)


# --- loads and stores -------------------------------------------------------------------------------------------


def read_local(view: LocalView, context: Context, where: Any) -> Array:
    """What the context's programs have there, (P, *shape)."""
    raced = context.local.is_busy and context.local.outstanding.check(view, context, where, writes=False)
    if not raced:
        check_written(view, context, where)
    return view.read(context.local.rows(context))


def check_written(view: LocalView, context: Context, where: Any) -> None:
    """Under full checks, reports a read of elements that nobody wrote."""
    written = view.written(context.local.rows(context))
    if written is None or written.all():
        return
    row, *index = (int(axis[0]) for axis in np.nonzero(~written))
    program, place = context.program_of(row), view.buffer.kind
    message = f"program {program} reads element {index} of a tile in {place}, which nobody wrote"
    context.result.report(Finding("uninitialised-read", place, message, where, view.buffer.where, (program,)))


def write_local(view: LocalView, values: Array, context: Context, where: Any) -> None:
    """Writes (P|1, *shape)."""
    if context.local.is_busy:
        context.local.outstanding.check(view, context, where, writes=True)
    view.write(context.local.rows(context), values)


def from_local(values: Array, type_: Attribute) -> Any:
    """Elements of shared memory as a value of the type: pointers are held as addresses."""
    if element(type_) != "ptr":
        return values
    return Pointer(None, affine_from_rest(values, extents(type_)))


@op("ttg.local_load")
def _local_load(planner: Planner, operation: Operation) -> Step:
    source, (target,) = planner.slot(operation.operands[0]), planner.slots_of(operation.results)
    type_, where = operation.results[0].type, source_location(operation)

    def run(context: Context, frame: Frame) -> None:
        frame[target] = from_local(read_local(frame[source], context, where), type_)

    return run


@op("ttg.local_store")
def _local_store(planner: Planner, operation: Operation) -> Step:
    source, target = planner.slots_of(operation.operands)
    type_, where = operation.operands[0].type, source_location(operation)
    shape, dtype = extents(type_), numpy_dtype(element(type_))

    def run(context: Context, frame: Frame) -> None:
        write_local(frame[target], spread(dense(frame[source], dtype), shape), context, where)

    return run


@op("ttg.local_gather")
def _local_gather(planner: Planner, operation: Operation) -> Step:
    source, index = planner.slots_of(operation.operands[:2])
    (target,) = planner.slots_of(operation.results)
    axis, where = get(operation, "axis") + 1, source_location(operation)
    type_ = operation.operands[1].type
    shape, dtype = extents(type_), numpy_dtype(element(type_))

    def run(context: Context, frame: Frame) -> None:
        values = read_local(frame[source], context, where)
        at = np.broadcast_to(spread(dense(frame[index], dtype), shape), (values.shape[0], *shape)).astype(np.int64)
        frame[target] = np.take_along_axis(values, np.clip(at, 0, values.shape[axis] - 1), axis)

    return run


# --- asynchronous copies ------------------------------------------------------------------------------------------


def begin_copy(
    queue: str,
    view: LocalView,
    source: Global,
    fetch: Callable[[Pointer, Any, Context], Array],
    context: Context,
    numbers: Array | None = None,
    signal: Signal | None = None,
) -> None:
    """Starts a copy of global memory into `view`, one for each program of the context.

    fetch    reads what the pointers and mask say, (P, *view.shape)
    numbers  the phases of its barrier; None for a copy that a commit puts into a group
    """
    state, (pointer, mask, access) = context.local, source
    loads = tuple((part, chosen, access) for part, chosen in accessed_parts(pointer, mask, access, context))
    state.outstanding.check(view, context, access.where, writes=True)
    state.outstanding.check_global(loads, context, writes=False)
    rows = state.numbers(context)
    late = context.options.copies == "latest"
    if not late:
        view.write(state.rows(context), fetch(pointer, mask, context))

    def complete(here: Context, work: Work) -> None:
        assert work.source is not None
        work.writes[0].write(here.local.rows(here), fetch(work.source[0], work.source[1], here))

    numbers = uncommitted(rows) if numbers is None else numbers
    work = Work(rows, access.where, numbers, writes=(view,), loads=loads, source=source, signal=signal)
    work.complete = complete if late else None
    state.outstanding.begin(queue, work)


@op("ttg.async_copy_global_to_local", "amdg.async_copy_global_to_local")
def _async_copy(planner: Planner, operation: Operation) -> Step:
    pointer_value, view_value, *optional = (operand(operation, name) for name in ("src", "result", "mask", "other"))
    assert pointer_value is not None and view_value is not None
    pointer, target = planner.slot(pointer_value), planner.slot(view_value)
    mask, other = (None if value is None else planner.slot(value) for value in optional)
    (token,) = planner.slots_of(operation.results)
    kind = element(pointee(pointer_value.type))
    dtype = np.dtype(np.int8) if kind == "i1" else numpy_dtype(kind)
    access = AccessType("load", dtype, extents(pointer_value.type), source_location(operation))

    def run(context: Context, frame: Frame) -> None:
        padding = None if other is None else dense(frame[other], dtype).astype(dtype)

        def fetch(where: Pointer, chosen: Any, here: Context) -> Array:
            # Rows complete together with the programs they belong to: so does the padding.
            fill = padding
            if fill is not None and fill.shape[0] not in (1, here.programs):
                fill = fill[np.searchsorted(rows, here.local.numbers(here))]
            values = spread(dense(load_through(where, chosen, fill, access, here, load)), access.extents)
            return values != 0 if kind == "i1" else values

        rows = context.local.numbers(context)
        chosen = None if mask is None else frame[mask]
        begin_copy(COPIES, frame[target], (frame[pointer], chosen, access), fetch, context)
        frame[token] = TOKEN

    return run


@op("ttg.async_commit_group")
def _async_commit(planner: Planner, operation: Operation) -> Step:
    (token,) = planner.slots_of(operation.results)

    def run(context: Context, frame: Frame) -> None:
        context.local.outstanding.commit(context.local.numbers(context))
        frame[token] = TOKEN

    return run


@op("ttg.async_wait")
def _async_wait(planner: Planner, operation: Operation) -> Step:
    (token,) = planner.slots_of(operation.results)
    newest = get(operation, "num")

    def run(context: Context, frame: Frame) -> None:
        context.local.outstanding.wait(COPIES, context.local.numbers(context), newest, context)
        frame[token] = TOKEN

    return run


# --- global scratch memory ----------------------------------------------------------------------------------------


@op("ttg.global_scratch_alloc")
def _global_scratch(planner: Planner, operation: Operation) -> Step:
    (target,) = planner.slots_of(operation.results)
    size = get(operation, "nbytes")

    def run(context: Context, frame: Frame) -> None:
        rows = context.local.numbers(context)
        content = np.zeros(context.local.programs.size * size, np.uint8)
        allocation = Allocation("global scratch memory", content, int(content.ctypes.data))
        frame[target] = Pointer(allocation, rows * size)

    return run
