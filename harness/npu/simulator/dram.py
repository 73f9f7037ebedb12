"""Accesses to DRAM: from pointers that hold the number of their buffer to the executor's memory model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from harness.errors import IllegalInstruction
from harness.executor.bounds import AccessType
from harness.executor.clocks import RELAXED
from harness.executor.context import Context
from harness.executor.memory import Allocation
from harness.executor.ops_memory import accessed_parts, load_through, settled_mask, store_through
from harness.executor.rows import fill_outside
from harness.executor.strided import window
from harness.executor.values import Box, Pointer, affine_from_rest, dense
from harness.npu.simulator.functions import ADDRESS_BITS, TAG_SHIFT
from harness.npu.simulator.loader import Loader
from harness.npu.simulator.state import State
from harness.semantics import numpy_dtype
from harness.semantics.types import Array

Buffers = Sequence[Allocation]  # what a pointer's number counts, from 1


def access_type(
    loader: Loader, pc: int, verb: str, element: str, extents: tuple[int, ...], ordering: Any
) -> AccessType:
    """An i1 is a byte in memory."""
    dtype = np.dtype(np.int8) if element == "i1" else numpy_dtype(element)
    return AccessType(verb, dtype, extents, loader.where(pc), ordering)


def volatile(flag: int) -> Any:
    """Volatile loads are atomic, and relaxed."""
    return RELAXED if flag else None


def to_memory(values: Array, element: str) -> Array:
    """What is stored of a value: a byte of an i1, a pointer without its buffer's number."""
    if element == "i1":
        return values.view(np.int8)
    return values & ADDRESS_BITS if element == "ptr" else values


def from_memory(values: Array, element: str) -> Array:
    return values != 0 if element == "i1" else values


# --- pointers -------------------------------------------------------------------------------------------------


def _pointer(addresses: Array, tag: int, buffers: Buffers, as_offset: Callable[[Array], Any]) -> Pointer:
    """Addresses that all carry one number."""
    if tag == 0:
        return Pointer(None, as_offset(addresses))
    if not 0 < tag <= len(buffers):
        raise IllegalInstruction(f"a pointer carries the number of a buffer that is none: {tag}")
    allocation = buffers[tag - 1]
    return Pointer(allocation, as_offset(addresses - ((tag << TAG_SHIFT) + allocation.address)))


def pointers(
    addresses: Array, mask: Any, buffers: Buffers, as_offset: Callable[[Array], Any]
) -> Iterator[tuple[Pointer, Any]]:
    """The access as one for each buffer, almost always one: pairs of (pointers, mask of the lanes that take part)."""
    if addresses.size == 1:
        yield _pointer(addresses, int(addresses.reshape(-1)[0]) >> TAG_SHIFT, buffers, as_offset), mask
        return
    low, high = int(addresses.min()) >> TAG_SHIFT, int(addresses.max()) >> TAG_SHIFT
    if low == high:
        yield _pointer(addresses, low, buffers, as_offset), mask
        return
    tags = addresses >> TAG_SHIFT
    inside = np.ones((1,) * addresses.ndim, np.bool_) if mask is None else dense(mask)
    shape = np.broadcast_shapes(tags.shape, inside.shape)
    tags, inside = np.broadcast_to(tags, shape), np.broadcast_to(inside, shape)
    found = np.unique(tags[inside])
    if found.size == 0:
        # Nobody takes part: any buffer will do.
        yield _pointer(np.zeros_like(addresses), 0, buffers, as_offset), np.zeros((1,) * addresses.ndim, np.bool_)
    for tag in found.tolist():
        chosen = inside & (tags == tag)
        # Lanes that do not take part must not spoil the range.
        only = np.where(chosen, addresses, addresses[np.unravel_index(int(chosen.argmax()), shape)])
        yield _pointer(only, tag, buffers, as_offset), chosen


def gathered(extents: tuple[int, ...]) -> Callable[[Array], Any]:
    """Offsets of a tile of pointers."""
    return lambda offsets: affine_from_rest(offsets, extents, (0, 0))


def scalar_offset(offsets: Array) -> Array:
    return offsets


def atomic_parts(
    addresses: Array, mask: Any, state: State, access: AccessType, as_offset: Callable[[Array], Any]
) -> Iterator[tuple[Pointer, Any]]:
    """As `pointers`, those that were loaded from memory resolved as well."""
    for pointer, chosen in pointers(addresses, mask, state.buffers, as_offset):
        yield from accessed_parts(pointer, settled_mask(chosen, state.context), access, state.context)


# --- loads and stores -----------------------------------------------------------------------------------------------


def load(parts: Iterator[tuple[Pointer, Any]], other: Array | None, access: AccessType, context: Context) -> Array:
    """(P|1, *extents, broadcasts pending) at the pointers, `other` (zero when None) elsewhere."""
    result: Array | None = None
    for pointer, mask in parts:
        values = dense(load_through(pointer, mask, other, access, context))
        result = values if result is None else np.where(dense(mask), values, result)
    assert result is not None
    return result


def load_into(
    target: Array, pointer: Pointer, mask: Any, other: Array | None, access: AccessType, context: Context
) -> None:
    """A load straight into a tile (P, *extents) where it is one strided copy, else by way of a fresh array."""
    mask = settled_mask(mask, context)
    if pointer.allocation is not None and context.shadow is None:
        simple = window(pointer, mask, access, None if mask is None else other)
        if simple is not None and (mask is None or other is None or other.shape[0] <= simple.programs):
            context.result.loads.add(pointer.allocation.name)
            if mask is not None:
                lower, upper = _bounds(mask)
                fill_outside(target, other, lower, upper)
                target = target[(slice(None), *map(slice, lower, upper))]
            if len(simple.counts) > 1:
                target = target.reshape(*simple.counts, *target.shape[1:])  # a view: an axis is cut
            np.copyto(target, simple.view)
            return
    holder = [load_through(pointer, mask, other, access, context)]
    target[...] = dense(holder[0])
    context.pool.give(holder)


def _bounds(box: Box) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(lower, upper) of a box that is the same for all programs, on every axis."""
    lower, upper = [], []
    for axis, extent in enumerate(box.extents):
        low, high = box.lower.get(axis), box.upper.get(axis)
        lower.append(0 if low is None else int(low[0]))
        upper.append(extent if high is None else int(high[0]))
    return tuple(lower), tuple(upper)


def store(parts: Iterator[tuple[Pointer, Any]], values: Array, access: AccessType, context: Context) -> None:
    for pointer, mask in parts:
        store_through(pointer, values, mask, access, context)
