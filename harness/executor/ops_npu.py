"""The `npu` dialect: transfers described by strides, bounds and wrap-around, and what waits for them.

Placements change no value. Of what is started and waited for, memory is read or written at the start or at the
wait, as the option `copies` says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.ir import Operation

from harness.executor.bounds import AccessType
from harness.executor.context import Context
from harness.executor.deferred import Deferred
from harness.executor.memory import Allocation
from harness.executor.ops_local import TOKEN
from harness.executor.ops_memory import from_memory, load_through, loader, plain_access, store_through, to_memory
from harness.executor.ops_tensor import broadcast_box, unary
from harness.executor.plan import Frame, Planner, Step, op
from harness.executor.types import element, extents, get
from harness.executor.values import Affine, Both, Box, Descriptor, Pointer, bounded, dense, spread
from harness.ir import operand
from harness.ir.dialects.npu import Access
from harness.semantics import numpy_dtype
from harness.semantics.types import Array


@dataclass(frozen=True)
class Transfer:
    """A transfer of one tile in numbers, each int64 (P|1,): strides in elements; lower, upper and wrap (start, size)
    by axis. mask: any form of an i1 tensor whose extents are the tile's or 1."""

    pointer: Pointer
    strides: Sequence[Array]
    lower: Mapping[int, Array]
    upper: Mapping[int, Array]
    wrap: Mapping[int, tuple[Array, Array]]
    mask: Any = None


def located(transfer: Transfer, extents: tuple[int, ...], itemsize: int) -> tuple[Pointer, Any]:
    """The tile's pointers and the mask of what takes part (None: all of it)."""
    pointer = Pointer(transfer.pointer.allocation, _offsets(transfer, extents, itemsize))
    return pointer, _inside(transfer, extents)


def _offsets(transfer: Transfer, extents: tuple[int, ...], itemsize: int) -> Affine:
    """Bytes from the start of the allocation."""
    base, strides, rest = dense(transfer.pointer.offset), [0] * len(extents), None
    for axis, extent in enumerate(extents):
        step = transfer.strides[axis] * itemsize
        wrap = transfer.wrap.get(axis)
        if wrap is not None:
            first, irregular = _wrapped(*wrap, extent)
            if irregular is not None:
                rest = _plus(rest, step, irregular, axis, len(extents))
                continue
            base = base + step * first
        if extent == 1:
            continue
        if step.size == 1 or (step == step[0]).all():
            strides[axis] = int(step[0])
            continue
        rest = _plus(rest, step, np.arange(extent, dtype=np.int64)[None], axis, len(extents))
    return Affine(base, tuple(strides), extents, 0, 0, rest)


def _wrapped(start: Array, size: Array, extent: int) -> tuple[Array, Array | None]:
    """The first index where none of them wraps around; else also all of them, (P|1, extent)."""
    first = np.fmod(start, size)
    if ((first >= 0) & (first + extent <= size)).all():
        return first, None
    return first, np.fmod(start[:, None] + np.arange(extent, dtype=np.int64), size[:, None])


def _plus(rest: Array | None, step: Array, indices: Array, axis: int, rank: int) -> Array:
    """The irregular part with step * indices along one axis; indices are (P|1, extent)."""
    part = step[:, None] * indices
    part = part.reshape(part.shape[0], *(part.shape[1] if at == axis else 1 for at in range(rank)))
    return part if rest is None else rest + part


def _inside(transfer: Transfer, extents: tuple[int, ...]) -> Any:
    lower = {axis: _clipped(bound, extents[axis]) for axis, bound in transfer.lower.items()}
    upper = {axis: _clipped(bound, extents[axis]) for axis, bound in transfer.upper.items()}
    if not lower and not upper:
        return _spread(transfer.mask, extents)
    box, mask = Box(extents, lower, upper), _spread(transfer.mask, extents)
    if mask is None:
        return box
    if isinstance(mask, Box):
        return box.intersected(mask)
    if isinstance(mask, Both):
        box, mask = box.intersected(mask.box), mask.bits
    together = bounded(box, mask)
    return box.array() & mask if together is None else together


def _spread(mask: Any, extents: tuple[int, ...]) -> Any:
    """The mask over all of the tile; its axes of extent 1 are repeated."""
    if isinstance(mask, Both) and mask.extents != extents:
        mask = mask.array()
    if isinstance(mask, Box) and mask.extents != extents:
        return broadcast_box(mask, extents)
    return mask


def _clipped(bound: Array, extent: int) -> Array:
    return np.minimum(np.maximum(bound, 0), extent)


Locate = Callable[[Frame], "tuple[Pointer, Any]"]


def _locator(planner: Planner, operation: Operation, access: AccessType) -> Locate:
    """Reads the transfer's operands off the frame."""
    operands = Access.of(operation)
    base, mask = planner.slot(operands.base), None if operands.mask is None else planner.slot(operands.mask)
    strides = planner.slots_of(operands.strides)
    lower = {axis: planner.slot(value) for axis, value in operands.lower.items()}
    upper = {axis: planner.slot(value) for axis, value in operands.upper.items()}
    wrap = {axis: (planner.slot(start), planner.slot(size)) for axis, (start, size) in operands.wrap.items()}

    def locate(frame: Frame) -> tuple[Pointer, Any]:
        transfer = Transfer(
            frame[base],
            [frame[slot] for slot in strides],
            {axis: frame[slot] for axis, slot in lower.items()},
            {axis: frame[slot] for axis, slot in upper.items()},
            {axis: (frame[start], frame[size]) for axis, (start, size) in wrap.items()},
            None if mask is None else frame[mask],
        )
        return located(transfer, access.extents, access.dtype.itemsize)

    return locate


def _fill(planner: Planner, operation: Operation, rank: int) -> Callable[[Frame], Array | None]:
    """What the elements that do not take part are, (P|1, *dims); None for zero."""
    other = operand(operation, "other")
    if other is None:
        return lambda frame: None
    slot, type_ = planner.slot(other), other.type

    def fill(frame: Frame) -> Array:
        values = to_memory(frame[slot], type_)
        return values.reshape(-1, *(1,) * rank) if values.ndim == 1 else values

    return fill


# --- loads ---------------------------------------------------------------------------------------------------


@op("npu.load", "npu.start_load")
def _load(planner: Planner, operation: Operation) -> Step:
    type_ = operation.results[0].type
    access = plain_access(operation, "load", type_)
    locate, fill = _locator(planner, operation, access), _fill(planner, operation, len(access.extents))
    target, *tokens = planner.slots_of(operation.results)
    load = loader(operation)

    def finish(context: Context, operands: tuple[Any, ...]) -> Any:
        pointer, mask, other = operands
        return from_memory(load_through(pointer, mask, other, access, context, load), type_)

    def at_once(context: Context, frame: Frame) -> None:
        frame[target] = finish(context, (*locate(frame), fill(frame)))

    def start(context: Context, frame: Frame) -> None:
        operands = (*locate(frame), fill(frame))
        late = context.options.copies == "latest"
        frame[target] = Deferred(finish, operands) if late else Deferred(_known, (finish(context, operands),))
        frame[tokens[0]] = TOKEN

    return start if tokens else at_once


def _known(_: Context, operands: tuple[Any, ...]) -> Any:
    return operands[0]


# --- stores --------------------------------------------------------------------------------------------------


@op("npu.store", "npu.start_store")
def _store(planner: Planner, operation: Operation) -> Step:
    stored = operand(operation, "value")
    assert stored is not None
    value, type_ = planner.slot(stored), stored.type
    access = plain_access(operation, "store", type_)
    locate = _locator(planner, operation, access)
    tokens = planner.slots_of(operation.results)

    def finish(context: Context, operands: tuple[Any, ...]) -> None:
        pointer, mask, values = operands
        store_through(pointer, values, mask, access, context)

    def run(context: Context, frame: Frame) -> None:
        operands = (*locate(frame), to_memory(frame[value], type_))
        if tokens and context.options.copies == "latest":
            frame[tokens[0]] = Deferred(finish, operands)
            return
        finish(context, operands)
        if tokens:
            frame[tokens[0]] = TOKEN

    return run


# --- the rest ------------------------------------------------------------------------------------------------


@op("npu.wait")
def _wait(planner: Planner, operation: Operation) -> Step:
    source = planner.slot(operation.operands[-1])
    targets = planner.slots_of(operation.results)

    def run(context: Context, frame: Frame) -> None:
        begun = frame[source]
        done = begun.complete(context) if isinstance(begun, Deferred) else None
        if targets:
            frame[targets[0]] = done

    return run


@op("npu.relayout")
def _relayout(planner: Planner, operation: Operation) -> Step:
    return unary(lambda value: value)(planner, operation)


@op("npu.descriptor_base")
def _descriptor_base(planner: Planner, operation: Operation) -> Step:
    return unary(lambda descriptor: descriptor.pointer)(planner, operation)


@op("npu.descriptor_fill")
def _descriptor_fill(planner: Planner, operation: Operation) -> Step:
    def fill(descriptor: Descriptor) -> Array:
        dtype = numpy_dtype(descriptor.element)
        nan = descriptor.padding == "nan" and dtype.kind != "i"
        return np.full(1, np.nan if nan else 0).astype(dtype)

    return unary(fill)(planner, operation)


@op("npu.apart")
def _apart(planner: Planner, operation: Operation) -> Step:
    one, other = planner.slots_of(operation.operands)
    target = planner.slot(operation.results[0])

    def run(context: Context, frame: Frame) -> None:
        first, second = (_allocation(frame[slot]) for slot in (one, other))
        frame[target] = np.array([first is not None and second is not None and first.is_apart(second)])

    return run


def _allocation(value: Pointer | Descriptor) -> Allocation | None:
    return value.pointer.allocation if isinstance(value, Descriptor) else value.allocation


# --- probes --------------------------------------------------------------------------------------------------


@op("npu.probe")
def _probe(planner: Planner, operation: Operation) -> Step:
    type_ = operation.operands[0].type
    source, number, shape = planner.slot(operation.operands[0]), get(operation, "number"), extents(type_)
    dtype = numpy_dtype(element(type_))

    def run(context: Context, frame: Frame) -> None:
        if context.options.probe is None:
            return
        values = spread(dense(frame[source], dtype), shape)
        programs = context.linear_ids()
        context.options.probe(number, programs, np.broadcast_to(values, (programs.size, *shape)))

    return run
