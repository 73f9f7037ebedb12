"""Atomics in a defined order: lanes in row-major order, programs by number, x fastest.

Lanes that hit one element are told apart by their turn: each turn touches an element at most once, so it is
one vectorised read and write.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from harness.executor import access as accesses
from harness.executor.bounds import NOWHERE, AccessType, aligned, raise_trap, typed
from harness.executor.context import Context
from harness.executor.values import Pointer, dense
from harness.semantics.types import Array, unsigned

Update = Callable[[Array, Array], Array]


def _unsigned_pair(function: np.ufunc) -> Update:
    return lambda old, value: function(unsigned(old), unsigned(value)).view(old.dtype)


UPDATES: dict[str, Update] = {
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "add": np.add,
    "fadd": lambda old, value: (old + value).astype(old.dtype),
    "max": np.maximum,
    "min": np.minimum,
    "umax": _unsigned_pair(np.maximum),
    "umin": _unsigned_pair(np.minimum),
    "exch": lambda old, value: value,
}

# Updates that NumPy can apply in order by itself when nobody asks for the old values.
_IN_ORDER = {
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "add": np.add,
    "fadd": np.add,
    "max": np.maximum,
    "min": np.minimum,
}


class _Lanes:
    """The lanes of an atomic that take part, flat, in order: element index, and their positions."""

    def __init__(self, pointer: Pointer, mask: Any, access: AccessType, context: Context) -> None:
        allocation = pointer.allocation
        assert allocation is not None
        self.shape = (context.programs, *access.extents)
        offsets = np.broadcast_to(dense(pointer.offset), self.shape).reshape(-1)
        everyone = mask is None
        self.positions = None if everyone else np.flatnonzero(np.broadcast_to(dense(mask), self.shape))
        chosen = offsets if self.positions is None else offsets[self.positions]
        itemsize = access.dtype.itemsize
        self.memory, skip = typed(allocation, access.dtype)
        crooked = not aligned(chosen, allocation.address, itemsize)
        if chosen.size and (chosen.min() < 0 or chosen.max() + itemsize > allocation.bytes.size or crooked):
            raise_trap(pointer, mask, access, context)
        self.index = (chosen - skip if skip else chosen) // itemsize

    def values_of(self, values: Array) -> Array:
        flat = np.broadcast_to(values, self.shape).reshape(-1)
        return flat if self.positions is None else flat[self.positions]

    def spread(self, old: Array) -> Array:
        """Old values in the tensor's shape; zero where a lane did not take part."""
        if self.positions is None:
            return old.reshape(self.shape)
        result = np.zeros(int(np.prod(self.shape)), old.dtype)
        result[self.positions] = old
        return result.reshape(self.shape)


def _turns(index: Array) -> list[Array]:
    """Positions grouped by turn: the first lane of every element, then the second of each, and so on."""
    if index.size == 0:
        return []
    order = np.argsort(index, kind="stable")
    ordered = index[order]
    new = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    turn = np.arange(index.size) - np.repeat(new, np.diff(np.append(new, index.size)))
    if int(turn.max()) == 0:
        return [order]
    by_turn = np.argsort(turn, kind="stable")
    return np.split(order[by_turn], np.flatnonzero(np.diff(turn[by_turn])) + 1)


def read_modify_write(
    pointer: Pointer, values: Array, mask: Any, kind: str, access: AccessType, context: Context, wanted: bool
) -> Array:
    """tt.atomic_rmw of kind `kind`; the old values (zeros where nobody wants them), (P, *extents)."""
    if not wanted and kind in ("add", "fadd") and _added(pointer, values, mask, access, context):
        return np.zeros((1,) * (len(access.extents) + 1), access.dtype)
    lanes = _begin(pointer, mask, access, context)
    chosen = lanes.values_of(values)
    native = access.dtype.kind in "iuf"
    wanted |= context.shadow is not None  # which must know what changed
    if not wanted and native and kind in _IN_ORDER:
        _IN_ORDER[kind].at(lanes.memory, lanes.index, chosen)
        return np.zeros((1,) * len(lanes.shape), access.dtype)
    old = _update_in_order(kind, lanes.memory, lanes.index, chosen)
    if context.shadow is not None and pointer.allocation is not NOWHERE:
        everyone = np.ones(old.shape, np.bool_)
        context.shadow.atomic(pointer, old, UPDATES[kind](old, chosen), everyone, mask, access, context)
    return lanes.spread(old)


def _update_in_order(kind: str, memory: Array, index: Array, values: Array) -> Array:
    """The old values."""
    if kind == "add":
        return _add_in_order(memory, index, values)
    update = UPDATES[kind]
    old = np.zeros(values.shape, values.dtype)
    for turn in _turns(index):
        at = index[turn]
        old[turn] = memory[at]
        memory[at] = update(old[turn], values[turn])
    return old


def _added(pointer: Pointer, values: Array, mask: Any, access: AccessType, context: Context) -> bool:
    """Whether the values could be added as whole rows, which has happened then."""
    allocation = pointer.allocation
    if context.shadow is not None or allocation is None or allocation is NOWHERE:
        return False
    if not accesses.add(pointer, values, mask, access, context):
        return False
    context.result.loads.add(allocation.name)
    context.result.stores.add(allocation.name)
    return True


def _add_in_order(memory: Array, index: Array, values: Array) -> Array:
    """Integer fetch-and-add: old values are running sums within each element."""
    order = np.argsort(index, kind="stable")
    sums = np.cumsum(values[order], dtype=values.dtype)
    before = sums - values[order]
    ordered = index[order]
    first = np.concatenate(([True], ordered[1:] != ordered[:-1])) if index.size else np.zeros(0, np.bool_)
    starts = np.flatnonzero(first)
    lengths = np.diff(np.append(starts, index.size))
    old = np.empty_like(values)
    old[order] = before - np.repeat(before[starts], lengths) + memory[ordered]
    np.add.at(memory, index, values)
    return old


def compare_and_swap(
    pointer: Pointer, expected: Array, values: Array, mask: Any, access: AccessType, context: Context
) -> Array:
    """tt.atomic_cas: bits are compared, so that NaN equals itself; the old values, (P, *extents)."""
    lanes = _begin(pointer, mask, access, context)
    wanted, chosen = lanes.values_of(expected), lanes.values_of(values)
    bits = np.dtype(f"i{access.dtype.itemsize}")
    old = np.zeros(chosen.shape, access.dtype)
    for turn in _turns(lanes.index):
        at = lanes.index[turn]
        old[turn] = lanes.memory[at]
        same = old[turn].view(bits) == wanted[turn].view(bits)
        lanes.memory[at] = np.where(same, chosen[turn].view(bits), old[turn].view(bits)).view(access.dtype)
    if context.shadow is not None and pointer.allocation is not NOWHERE:
        swapped = old.view(bits) == wanted.view(bits)
        new = np.where(swapped, chosen.view(bits), old.view(bits)).view(access.dtype)
        context.shadow.atomic(pointer, old, new, swapped, mask, access, context)
    return lanes.spread(old)


def _begin(pointer: Pointer, mask: Any, access: AccessType, context: Context) -> _Lanes:
    assert pointer.allocation is not None
    lanes = _Lanes(pointer, mask, access, context)
    if pointer.allocation is NOWHERE:
        return lanes
    context.result.loads.add(pointer.allocation.name)
    context.result.stores.add(pointer.allocation.name)
    return lanes
