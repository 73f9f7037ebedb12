"""Ops that make tensors and move their axes; most cost nothing, since broadcasts stay pending."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.ir import Operation

from harness.executor.context import Context
from harness.executor.ops_scalar import elementwise_step
from harness.executor.plan import Frame, Planner, Step, op
from harness.executor.products import Product, Shared
from harness.executor.types import element, extents, get, is_tensor, pointee
from harness.executor.values import (
    Affine,
    Box,
    Pointer,
    add_affine,
    affine_from_rest,
    dense,
    range_affine,
    scale_affine,
    splat_affine,
    spread,
)
from harness.semantics import numpy_dtype
from harness.semantics.types import Array

_ADDRESS_BOUNDS = (-(1 << 62), 1 << 62)


def unary(function: Callable[[Any], Any]) -> Callable[[Planner, Operation], Step]:
    """A step that maps one value to one value."""

    def make(planner: Planner, operation: Operation) -> Step:
        (source,), (target,) = planner.slots_of(operation.operands), planner.slots_of(operation.results)

        def run(_: Context, frame: Frame) -> None:
            frame[target] = function(frame[source])

        return run

    return make


def _mapped(
    operation: Operation, on_array: Callable[[Array], Array], on_affine: Callable[[Affine], Affine | None]
) -> Callable[[Any], Any]:
    """Applies a change of axes to whichever form the value has."""
    dtype = numpy_dtype(element(operation.operands[0].type))

    def apply(value: Any) -> Any:
        if isinstance(value, Shared):
            return Shared(on_array(value.rows), value.index)
        if isinstance(value, Pointer):
            moved = apply(value.offset)
            return Pointer(value.allocation, moved)
        if isinstance(value, Affine):
            changed = on_affine(value)
            if changed is not None:
                return changed
            if element(operation.operands[0].type) == "ptr":
                return affine_from_rest(on_array(value.array()), extents(operation.results[0].type), _ADDRESS_BOUNDS)
        return on_array(dense(value, dtype))

    return apply


# --- program ids, ranges, splats ---------------------------------------------------------------------


@op("tt.get_program_id")
def _program_id(planner: Planner, operation: Operation) -> Step:
    (target,) = planner.slots_of(operation.results)
    axis = get(operation, "axis")

    def run(context: Context, frame: Frame) -> None:
        ids = context.ids[axis]
        # What all programs of the batch share they share: the same value, once.
        frame[target] = ids[:1] if (ids == ids[0]).all() else ids

    return run


@op("tt.get_num_programs")
def _num_programs(planner: Planner, operation: Operation) -> Step:
    (target,) = planner.slots_of(operation.results)
    axis = get(operation, "axis")

    def run(context: Context, frame: Frame) -> None:
        frame[target] = np.array([context.grid[axis]], np.int32)

    return run


@op("tt.make_range")
def _make_range(planner: Planner, operation: Operation) -> Step:
    (target,) = planner.slots_of(operation.results)
    value = range_affine(get(operation, "start"), get(operation, "end"))

    def run(_: Context, frame: Frame) -> None:
        frame[target] = value

    return run


@op("tt.splat")
def _splat(planner: Planner, operation: Operation) -> Step:
    type_ = operation.results[0].type
    shape, kind = extents(type_), element(type_)
    column = (-1, *(1,) * len(shape))

    def splat(value: Any) -> Any:
        if isinstance(value, Pointer):
            return Pointer(value.allocation, _splat_offset(value.offset, shape))
        if kind.startswith("i") and kind != "i1":
            return splat_affine(value, shape)
        return value.reshape(column)

    return unary(splat)(planner, operation)


def _splat_offset(offset: Any, shape: tuple[int, ...]) -> Affine:
    return Affine(offset, (0,) * len(shape), shape, *_ADDRESS_BOUNDS)


@op("tt.unsplat")
def _unsplat(planner: Planner, operation: Operation) -> Step:
    dtype = numpy_dtype(element(operation.operands[0].type))

    def unsplat(value: Any) -> Any:
        if isinstance(value, Pointer):
            return Pointer(value.allocation, dense(value.offset).reshape(-1))
        values = dense(value, dtype)
        return values.reshape(values.shape[0])

    return unary(unsplat)(planner, operation)


# --- axes -----------------------------------------------------------------------------------------------


@op("tt.broadcast")
def _broadcast(planner: Planner, operation: Operation) -> Step:
    shape = extents(operation.results[0].type)

    def broadcast(value: Any) -> Any:
        if isinstance(value, Affine):
            return value.replaced(extents=shape)
        if isinstance(value, Pointer):
            return Pointer(value.allocation, broadcast(value.offset))
        if isinstance(value, Box):
            return broadcast_box(value, shape)
        return value

    return unary(broadcast)(planner, operation)


def broadcast_box(value: Box, shape: tuple[int, ...]) -> Box | Array:
    """A bound on an axis of extent 1 says all or nothing once that axis is spread."""
    grown = [a for a in set(value.lower) | set(value.upper) if value.extents[a] != shape[a]]
    if not grown:
        return Box(shape, value.lower, value.upper)
    return value.array()


@op("tt.expand_dims")
def _expand_dims(planner: Planner, operation: Operation) -> Step:
    axis = get(operation, "axis")
    shape = extents(operation.results[0].type)

    def expand(value: Any) -> Any:
        if isinstance(value, Pointer):
            return Pointer(value.allocation, expand(value.offset))
        if isinstance(value, Affine):
            strides = (*value.strides[:axis], 0, *value.strides[axis:])
            rest = None if value.rest is None else np.expand_dims(value.rest, axis + 1)
            return value.replaced(strides=strides, extents=shape, rest=rest)
        if isinstance(value, Box):
            return Box(shape, _shift(value.lower, axis), _shift(value.upper, axis))
        if isinstance(value, (Shared, Product)):
            value = value.array()
        dims = value.shape
        return value.reshape(*dims[: axis + 1], 1, *dims[axis + 1 :])

    return unary(expand)(planner, operation)


def _shift(bounds: dict[int, Array], axis: int) -> dict[int, Array]:
    return {a + (a >= axis): bound for a, bound in bounds.items()}


@op("tt.reshape")
def _reshape(planner: Planner, operation: Operation) -> Step:
    source, shape = extents(operation.operands[0].type), extents(operation.results[0].type)

    def on_array(value: Array) -> Array:
        if all(n == 1 for n in value.shape[1:]):
            return value.reshape(value.shape[0], *(1,) * len(shape))
        return spread(value, source).reshape(value.shape[0], *shape)

    def on_affine(value: Affine) -> Affine | None:
        if value.is_splat:
            return value.replaced(strides=(0,) * len(shape), extents=shape)
        if len(source) != 1 or value.rest is not None:
            return None
        strides, step = [], value.strides[0]
        for extent in reversed(shape):
            strides.append(step if extent > 1 else 0)
            step *= extent
        return value.replaced(strides=tuple(reversed(strides)), extents=shape)

    return unary(_mapped(operation, on_array, on_affine))(planner, operation)


@op("tt.trans")
def _trans(planner: Planner, operation: Operation) -> Step:
    order = tuple(get(operation, "order"))
    axes = (0, *(axis + 1 for axis in order))
    shape = extents(operation.results[0].type)

    def on_affine(value: Affine) -> Affine:
        rest = None if value.rest is None else value.rest.transpose(axes)
        return value.replaced(strides=tuple(value.strides[a] for a in order), extents=shape, rest=rest)

    return unary(_mapped(operation, lambda value: value.transpose(axes), on_affine))(planner, operation)


@op("tt.join")
def _join(planner: Planner, operation: Operation) -> Step:
    left, right = planner.slots_of(operation.operands)
    (target,) = planner.slots_of(operation.results)
    type_ = operation.operands[0].type
    dtype, shape = numpy_dtype(element(type_)), extents(type_)

    def run(_: Context, frame: Frame) -> None:
        a, b = _same_allocation(frame[left], frame[right])
        parts = np.broadcast_arrays(spread(dense(a, dtype), shape), spread(dense(b, dtype), shape))
        frame[target] = _rewrapped(np.stack(parts, axis=-1), a, (*shape, 2), frame[left], frame[right])

    return run


def _same_allocation(a: Any, b: Any) -> tuple[Any, Any]:
    if not isinstance(a, Pointer):
        return a, b
    if a.allocation is b.allocation:
        return a.offset, b.offset
    return a.address(), b.address()


def _rewrapped(values: Array, form: Any, shape: tuple[int, ...], a: Any, b: Any) -> Any:
    """Values made from two operands, as pointers again where the operands were."""
    if not isinstance(a, Pointer):
        return values
    allocation = a.allocation if a.allocation is b.allocation else None
    return Pointer(allocation, affine_from_rest(values, shape, _ADDRESS_BOUNDS))


@op("tt.cat")
def _cat(planner: Planner, operation: Operation) -> Step:
    left, right = planner.slots_of(operation.operands)
    (target,) = planner.slots_of(operation.results)
    type_ = operation.operands[0].type
    dtype, shape = numpy_dtype(element(type_)), extents(type_)

    def run(_: Context, frame: Frame) -> None:
        a, b = _same_allocation(frame[left], frame[right])
        parts = [spread(dense(a, dtype), shape), spread(dense(b, dtype), shape)]
        programs = max(part.shape[0] for part in parts)
        parts = [np.broadcast_to(part, (programs, *shape)) for part in parts]
        joined = np.concatenate(parts, axis=1)
        frame[target] = _rewrapped(joined, a, joined.shape[1:], frame[left], frame[right])

    return run


@op("tt.split")
def _split(planner: Planner, operation: Operation) -> Step:
    (source,) = planner.slots_of(operation.operands)
    left, right = planner.slots_of(operation.results)
    type_ = operation.operands[0].type
    dtype, shape = numpy_dtype(element(type_)), extents(type_)

    def run(_: Context, frame: Frame) -> None:
        value = frame[source]
        if isinstance(value, Pointer):
            values = spread(dense(value.offset), shape)
            halves = [affine_from_rest(values[..., i], shape[:-1], _ADDRESS_BOUNDS) for i in (0, 1)]
            frame[left], frame[right] = (Pointer(value.allocation, half) for half in halves)
            return
        values = dense(value, dtype)
        frame[left], frame[right] = values[..., 0], values[..., -1]

    return run


# --- pointers ------------------------------------------------------------------------------------------


def item_bytes(type_: Any) -> int:
    """Bytes of one element in memory: i1 takes a byte, a pointer eight."""
    return numpy_dtype(element(type_)).itemsize


@op("tt.addptr")
def _addptr(planner: Planner, operation: Operation) -> Step:
    pointer, index = planner.slots_of(operation.operands)
    (target,) = planner.slots_of(operation.results)
    type_ = operation.results[0].type
    size, shape = item_bytes(pointee(type_)), extents(type_)
    index_dtype = numpy_dtype(element(operation.operands[1].type))

    def scalar(_: Context, frame: Frame) -> None:
        base = frame[pointer]
        frame[target] = Pointer(base.allocation, base.offset + frame[index].astype(np.int64) * size)

    def tensor(_: Context, frame: Frame) -> None:
        base, step = frame[pointer], frame[index]
        moved = step if isinstance(step, Affine) else affine_from_rest(dense(step, index_dtype), shape, _ADDRESS_BOUNDS)
        frame[target] = Pointer(base.allocation, add_affine(base.offset, scale_affine(moved, size)))

    return tensor if is_tensor(type_) else scalar


@op("tt.bitcast")
def _bitcast(planner: Planner, operation: Operation) -> Step:
    """Pointers keep their bytes; numbers are read anew."""
    if element(operation.results[0].type) == "ptr":
        return unary(lambda value: value)(planner, operation)
    return elementwise_step(planner, operation)


@op("tt.ptr_to_int")
def _pointer_to_integer(planner: Planner, operation: Operation) -> Step:
    return unary(lambda value: value.address())(planner, operation)


@op("tt.int_to_ptr")
def _integer_to_pointer(planner: Planner, operation: Operation) -> Step:
    shape = extents(operation.results[0].type)

    def convert(value: Any) -> Pointer:
        if isinstance(value, Affine) or not shape:
            return Pointer(None, value)
        return Pointer(None, affine_from_rest(value, shape, _ADDRESS_BOUNDS))

    return unary(convert)(planner, operation)
