"""Triton's dialect for AMD GPUs: accesses by a base pointer and a tensor of offsets, and conversions with scales."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.ir import Operation

from harness.errors import UnsupportedOp
from harness.executor.access import load
from harness.executor.bounds import AccessType
from harness.executor.context import Context
from harness.executor.ops_local import TOKEN, begin_copy
from harness.executor.ops_memory import Locate, atomic_step, cas, load_through, rmw, store_through
from harness.executor.ops_tensor import unary
from harness.executor.outstanding import COPIES
from harness.executor.plan import Frame, Planner, Step, op
from harness.executor.types import element, extents, get, pointee
from harness.executor.values import Affine, Pointer, affine_from_rest, dense, scale_affine, spread
from harness.ir import operand, source_location
from harness.ir.enums import SCALED_ELEMENT
from harness.semantics import numpy_dtype
from harness.semantics.dot import decode_scaled
from harness.semantics.types import Array


def _slots(planner: Planner, operation: Operation, *names: str) -> list[int | None]:
    """The slots of operands by name; None for one that is not there."""
    values = [operand(operation, name) for name in names]
    return [None if value is None else planner.slot(value) for value in values]


def _locate(planner: Planner, operation: Operation) -> Locate:
    """The pointers base + offsets; offsets count elements and are signed."""
    base, offsets = (operand(operation, name) for name in ("ptr", "offsets"))
    assert base is not None and offsets is not None
    size = numpy_dtype(element(pointee(base.type))).itemsize
    shape, dtype = extents(offsets.type), numpy_dtype(element(offsets.type))
    at, by = planner.slot(base), planner.slot(offsets)

    def locate(frame: Frame) -> Pointer:
        pointer, step = frame[at], frame[by]
        moved = step if isinstance(step, Affine) else affine_from_rest(dense(step, dtype), shape)
        moved = scale_affine(moved, size)
        return Pointer(pointer.allocation, moved.replaced(base=moved.base + pointer.offset))

    return locate


def _access(operation: Operation, verb: str) -> AccessType:
    base, offsets = operand(operation, "ptr"), operand(operation, "offsets")
    assert base is not None and offsets is not None
    kind = element(pointee(base.type))
    dtype = np.dtype(np.int8) if kind == "i1" else numpy_dtype(kind)
    return AccessType(verb, dtype, extents(offsets.type), source_location(operation))


@op("amdg.buffer_load")
def _buffer_load(planner: Planner, operation: Operation) -> Step:
    locate, access = _locate(planner, operation), _access(operation, "load")
    mask, other = _slots(planner, operation, "mask", "other")
    (target,) = planner.slots_of(operation.results)
    is_boolean = element(operation.results[0].type) == "i1"

    def run(context: Context, frame: Frame) -> None:
        padding = None if other is None else dense(frame[other], access.dtype).astype(access.dtype)
        chosen = None if mask is None else frame[mask]
        values = load_through(locate(frame), chosen, padding, access, context)
        frame[target] = dense(values) != 0 if is_boolean else values

    return run


@op("amdg.buffer_store")
def _buffer_store(planner: Planner, operation: Operation) -> Step:
    locate, access = _locate(planner, operation), _access(operation, "store")
    value, mask = _slots(planner, operation, "value", "mask")
    assert value is not None
    kept = numpy_dtype(element(operation.operands[0].type))

    def run(context: Context, frame: Frame) -> None:
        chosen = None if mask is None else frame[mask]
        values = dense(frame[value], kept).astype(access.dtype, copy=False)
        store_through(locate(frame), values, chosen, access, context)

    return run


@op("amdg.buffer_load_to_local")
def _buffer_load_to_local(planner: Planner, operation: Operation) -> Step:
    locate, access = _locate(planner, operation), _access(operation, "load")
    view, mask, other = _slots(planner, operation, "dest", "mask", "other")
    assert view is not None
    (token,) = planner.slots_of(operation.results)

    def run(context: Context, frame: Frame) -> None:
        padding = None if other is None else dense(frame[other], access.dtype)
        rows = context.local.numbers(context)

        def fetch(pointer: Pointer, chosen: Any, here: Context) -> Array:
            fill = padding
            if fill is not None and fill.shape[0] not in (1, here.programs):
                fill = fill[np.searchsorted(rows, here.local.numbers(here))]
            return spread(dense(load_through(pointer, chosen, fill, access, here, load)), access.extents)

        chosen = None if mask is None else frame[mask]
        begin_copy(COPIES, frame[view], (locate(frame), chosen, access), fetch, context)
        frame[token] = TOKEN

    return run


@op("amdg.async_wait")
def _async_wait(planner: Planner, operation: Operation) -> Step:
    """Counts instructions, and how many of them a copy becomes depends on its layouts: only "all of them" is known."""
    (token,) = planner.slots_of(operation.results)
    newest = get(operation, "num_inst")
    if newest:
        raise UnsupportedOp(f"unsupported amdg.async_wait that leaves {newest} instructions outstanding")

    def run(context: Context, frame: Frame) -> None:
        outstanding, rows = context.local.outstanding, context.local.numbers(context)
        outstanding.commit(rows)  # instructions belong to no group
        outstanding.wait(COPIES, rows, 0, context)
        frame[token] = TOKEN

    return run


@op("amdg.buffer_atomic_rmw")
def _buffer_atomic_rmw(planner: Planner, operation: Operation) -> Step:
    value, mask = _slots(planner, operation, "value", "mask")
    assert value is not None
    return atomic_step(planner, operation, _locate(planner, operation), [value], mask, rmw(operation))


@op("amdg.buffer_atomic_cas")
def _buffer_atomic_cas(planner: Planner, operation: Operation) -> Step:
    compared, new = _slots(planner, operation, "cmp", "val")
    assert compared is not None and new is not None
    return atomic_step(planner, operation, _locate(planner, operation), [compared, new], None, cas(operation))


@op("amdg.in_thread_transpose")
def _in_thread_transpose(planner: Planner, operation: Operation) -> Step:
    """Another layout of the same tensor."""
    return unary(lambda value: value)(planner, operation)


@op("amdg.scaled_upcast_fp4", "amdg.scaled_upcast_fp8")
def _scaled_upcast(planner: Planner, operation: Operation) -> Step:
    """One scale for each element of the result: a bf16 or f16 number, or the byte of an e8m0 power of two."""
    source, scale = planner.slots_of(operation.operands)
    (target,) = planner.slots_of(operation.results)
    types = [value.type for value in operation.operands]
    dtypes, shapes = [numpy_dtype(element(type_)) for type_ in types], [extents(type_) for type_ in types]
    packed = operation.name == "amdg.scaled_upcast_fp4"
    axis = get(operation, "axis") + 1 if packed else 0
    result = numpy_dtype(element(operation.results[0].type))
    if not packed and not element(types[0]).startswith("f8"):
        raise UnsupportedOp(f"unsupported amdg.scaled_upcast_fp8 of {element(types[0])}")

    def run(_: Context, frame: Frame) -> None:
        values, factors = (
            spread(dense(frame[slot], dtype), shape)
            for slot, dtype, shape in zip((source, scale), dtypes, shapes, strict=True)
        )
        wide = decode_scaled(values, None, "e2m1", axis, axis) if packed else values.astype(np.float32)
        if factors.dtype.kind == "i":
            exponents = factors.view(np.uint8).astype(np.int32)
            powers = np.ldexp(np.float32(1), exponents - 127).astype(np.float32)
            factors = np.where(exponents == 0xFF, np.float32(np.nan), powers)
        frame[target] = (wide * factors.astype(np.float32)).astype(result)

    return run


@op("amdg.upcast_mxfp")
def _upcast_mxfp(planner: Planner, operation: Operation) -> Step:
    """One scale, the byte of an e8m0 power of two, for each group along K: the axis that numbers are packed along."""
    source, scale = planner.slots_of(operation.operands)
    (target,) = planner.slots_of(operation.results)
    types = [value.type for value in operation.operands]
    dtypes, shapes = [numpy_dtype(element(type_)) for type_ in types], [extents(type_) for type_ in types]
    kind = SCALED_ELEMENT.keywords[get(operation, "fp_type")]
    if kind != "e2m1":
        raise UnsupportedOp(f"unsupported amdg.upcast_mxfp of {kind}")
    wide = extents(operation.results[0].type)
    axis = next(number for number, extent in enumerate(wide) if extent != shapes[0][number]) + 1
    result = numpy_dtype(element(operation.results[0].type))

    def run(_: Context, frame: Frame) -> None:
        values, scales = (
            spread(dense(frame[slot], dtype), shape)
            for slot, dtype, shape in zip((source, scale), dtypes, shapes, strict=True)
        )
        frame[target] = decode_scaled(values, scales, kind, axis, axis).astype(result)

    return run


@op("rocdl.s.setprio", "rocdl.sched.barrier", "rocdl.s.barrier")
def _scheduling(planner: Planner, operation: Operation) -> Step:
    """Says in which order instructions should run, not what they do."""

    def run(_: Context, __: Frame) -> None:
        return

    return run
