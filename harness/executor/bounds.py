"""What every access has in common: its type, the allocation its lanes hit, and the traps of those that miss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.cases.location import SourceLocation
from harness.errors import IllegalAccess, Misaligned, OutOfBounds
from harness.executor.clocks import Ordering
from harness.executor.memory import Allocation
from harness.executor.values import Affine, Pointer, affine_from_rest, dense
from harness.semantics.types import Array

NOWHERE = Allocation("nothing", np.zeros(0, np.uint8), 0)  # what an access of no lane at all goes to


@dataclass(frozen=True)
class AccessType:
    """What an access op knows before it runs."""

    verb: str  # "load", "store", "atomic"
    dtype: np.dtype[Any]
    extents: tuple[int, ...]
    where: SourceLocation | None
    ordering: Ordering | None = None  # of atomics, and of volatile loads, which are relaxed; None for plain accesses


def resolve(pointer: Pointer, mask: Any, memory: Any, access: AccessType, context: Any) -> Pointer:
    """A pointer without provenance (made from integers) with the one allocation that all its lanes hit.

    Raises IllegalAccess when a lane points into no allocation, or lanes point into several.
    """
    if pointer.allocation is not None:
        return pointer
    addresses = dense(pointer.offset)
    lanes, inside = lanes_of(addresses, None if mask is None else dense(mask))
    if inside is not None and not inside.any():
        return Pointer(NOWHERE, pointer.offset)
    first = int(lanes.reshape(-1)[0 if inside is None else int(np.argmax(inside))])
    allocation = memory.find(first)
    if allocation is None:
        program = context.program_of(0 if inside is None else row_of_first(inside))
        nearest = memory.nearest(first)
        raise IllegalAccess(
            f"{access.verb} through address {first:#x}{nearest and f' ({nearest})'} by program {program}: "
            "it points into no registered buffer",
            access.where,
            "a pointer made from an integer must point into a tensor that is an argument of the launch",
            program,
        )
    offset = pointer.offset
    if isinstance(offset, Affine):
        start = allocation.address
        return Pointer(
            allocation, offset.replaced(base=offset.base - start, low=offset.low - start, high=offset.high - start)
        )
    return Pointer(allocation, offset - allocation.address)


def hits_one_allocation(pointer: Pointer, mask: Any, memory: Any) -> bool:
    """Whether all lanes that take part point into the same allocation (or none does)."""
    if pointer.allocation is not None:
        return True
    lanes, inside = lanes_of(dense(pointer.offset), None if mask is None else dense(mask))
    used = lanes if inside is None else lanes[inside]
    if used.size == 0:
        return True
    allocation = memory.find(int(used.reshape(-1)[0]))
    if allocation is None:
        return True
    return bool(used.min() >= allocation.address and used.max() < allocation.address + allocation.bytes.size)


def lanes_of(offsets: Array, mask: Array | None) -> tuple[Array, Array | None]:
    if mask is None:
        return offsets, None
    shape = np.broadcast_shapes(offsets.shape, mask.shape)
    return np.broadcast_to(offsets, shape), np.broadcast_to(mask, shape)


def row_of_first(inside: Array) -> int:
    flat = int(np.argmax(inside))
    return flat // max(1, inside[0].size)


def typed(allocation: Allocation, dtype: np.dtype[Any]) -> tuple[Array, int]:
    """All of an allocation as elements of `dtype`, and the byte at which the first aligned one starts."""
    skip = -allocation.address % dtype.itemsize
    count = max(0, (allocation.bytes.size - skip) // dtype.itemsize)
    return np.ndarray((count,), dtype, buffer=allocation.bytes, offset=skip if count else 0), skip


def as_affine_offset(offset: Affine | Array) -> Affine:
    if isinstance(offset, Affine):
        return offset
    return affine_from_rest(offset, ()).replaced(base=offset, rest=None)


def aligned(offsets: Array, address: int, itemsize: int) -> bool:
    """Whether address + offset is a multiple of `itemsize` (a power of two) for every offset."""
    if itemsize == 1 or offsets.size == 0:
        return True
    if address % itemsize == 0:
        return int(np.bitwise_or.reduce(offsets, axis=None)) % itemsize == 0
    return not ((offsets + address) % itemsize).any()


def raise_trap(pointer: Pointer, mask: Any, access: AccessType, context: Any) -> None:
    """Raises the trap of the first lane (in program order) that is out of bounds or misaligned."""
    allocation = pointer.allocation
    assert allocation is not None
    offsets, inside = lanes_of(dense(as_affine_offset(pointer.offset)), None if mask is None else dense(mask))
    itemsize = access.dtype.itemsize
    outside = (offsets < 0) | (offsets + itemsize > allocation.bytes.size)
    crooked = (offsets + allocation.address) % itemsize != 0
    bad = outside | crooked if inside is None else (outside | crooked) & inside
    flat = int(np.argmax(bad))
    lane = np.unravel_index(flat, bad.shape)
    offset = int(offsets[lane])
    program = context.program_of(int(lane[0]))
    element = f"element {offset // allocation.itemsize}" if offset % allocation.itemsize == 0 else f"byte {offset}"
    count = allocation.bytes.size // allocation.itemsize
    if bool(outside[lane]):
        raise OutOfBounds(
            f"{access.verb} of {element} of buffer {allocation.name!r}, which has {count} elements, "
            f"by program {program}",
            access.where,
            program=program,
        )
    raise Misaligned(
        f"{access.verb} of {itemsize} bytes at {element} of buffer {allocation.name!r}, which is not a multiple of "
        f"{itemsize}, by program {program}",
        access.where,
        program=program,
    )
