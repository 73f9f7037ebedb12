"""What a group reads that others computed: its forms at run time, and how each is read in the code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.ir import Operation, SSAValue

from harness.executor.analysis import constant_value
from harness.executor.memory import Allocation
from harness.executor.native.arithmetic import filled
from harness.executor.native.lanes import I32, SIZES, TYPES, Lane, number
from harness.executor.types import element, extents
from harness.executor.values import Affine, Box, Pointer, dense
from harness.semantics import numpy_dtype
from harness.semantics.types import Array

if TYPE_CHECKING:
    from harness.executor.native.emitter import Emitter


_ALIGNMENT = 8  # an address as the kernel sees it is aligned as the bytes are


class NoForm(Exception):
    """A value that native code does not read: NumPy runs the group."""


@dataclass(frozen=True)
class Leaf:
    """`form` and `detail` are what the code is compiled for:

    scalar  one element a program
    array   elements in memory; detail has for each axis "zero" (one element for all), "unit" (next to each other)
            or "any"
    affine  base + sum(stride * index); detail has the strides
    box     bounds on axes; detail has the pairs (axis, "lower" or "upper")
    """

    value: SSAValue
    form: str
    detail: tuple[Any, ...]

    @property
    def is_pointer(self) -> bool:
        return element(self.value.type) == "ptr"

    @property
    def kind(self) -> str:
        """Of one element in memory; a pointer's is its offset."""
        return "i64" if self.is_pointer else element(self.value.type)

    @property
    def key(self) -> tuple[Any, ...]:
        return self.form, self.detail

    @property
    def parameters(self) -> int:
        """Two (an address, and the bytes between programs) for each array; an array's axes have a stride each."""
        if self.form == "box":
            return 2 * len(self.detail)
        return 2 + (len(self.detail) if self.form == "array" else 0)

    def lane(self, emitter: Emitter, entries: tuple[int, ...]) -> Lane:
        return _READERS[self.form](self, emitter, emitter.layout.leaves[self.value], entries)


def _column(emitter: Emitter, position: int, kind: str) -> Lane:
    """One element a program, from the array whose address and stride are parameters."""
    around = emitter.around
    start, step = emitter.parameter(position), emitter.parameter(position + 1)
    address = around.add(start, around.mul(emitter.program, step))
    return emitter.read(Lane(address, 0, 0), kind)


def _scalar(leaf: Leaf, emitter: Emitter, position: int, entries: tuple[int, ...]) -> Lane:
    return _column(emitter, position, leaf.kind)


def _array(leaf: Leaf, emitter: Emitter, position: int, entries: tuple[int, ...]) -> Lane:
    kind = leaf.kind
    around = emitter.around
    start, step = emitter.parameter(position), emitter.parameter(position + 1)
    address = Lane(around.add(start, around.mul(emitter.program, step)), 0, 0)
    for axis, (entry, spacing) in enumerate(zip(entries, leaf.detail, strict=True)):
        if entry < 0 or spacing == "zero":
            continue
        index = emitter.nest.index(entry)
        if spacing == "unit":
            address = emitter.add(address, emitter.scale(index, SIZES[kind]))
        else:
            address = emitter.add(address, emitter.multiply(index, emitter.parameter(position + 2 + axis)))
    return emitter.read(address, kind)


def _affine(leaf: Leaf, emitter: Emitter, position: int, entries: tuple[int, ...]) -> Lane:
    lane = _column(emitter, position, "i64")
    for entry, stride in zip(entries, leaf.detail, strict=True):
        if entry >= 0 and stride:
            lane = emitter.add(lane, emitter.scale(emitter.nest.index(entry), stride))
    type_ = TYPES[element(leaf.value.type)]
    builder = emitter.nest.builder(lane.depth)
    value = lane.value if lane.value.type == type_ else builder.trunc(lane.value, type_)
    return Lane(value, lane.stride, lane.depth)


def _box(leaf: Leaf, emitter: Emitter, position: int, entries: tuple[int, ...]) -> Lane:
    inside = Lane(filled(TYPES["i1"], 1), 0, 0)
    for offset, (axis, side) in enumerate(leaf.detail):
        bound = _column(emitter, position + 2 * offset, "i64")
        narrow = emitter.around.trunc(bound.value, I32)
        index = Lane(number(0), 0, 0) if entries[axis] < 0 else emitter.nest.index(entries[axis])
        builder = emitter.nest.builder(index.depth)
        counted = Lane(builder.trunc(index.value, I32), index.stride, index.depth)
        inside = emitter.both(inside, emitter.compare(">=" if side == "lower" else "<", counted, Lane(narrow, 0, 0)))
    return inside


_READERS = {"scalar": _scalar, "array": _array, "affine": _affine, "box": _box}


def splat_of(operation: Operation) -> int | float | None:
    """The one value of an arith.constant, as LLVM wants it; None where its elements differ."""
    value = constant_value(operation)
    values = value.base if isinstance(value, Affine) else value
    if values.size != 1:
        return None
    found = values.reshape(-1)[0].item()
    return int(found) if isinstance(found, bool) else found


# --- at run time --------------------------------------------------------------------------------------------------


@dataclass
class Held:
    """A leaf's value for one run: the parameters that describe it, what must stay alive, where pointers point."""

    leaf: Leaf
    parameters: list[int]
    alive: list[Any]
    allocation: Allocation | None = None


def held(value: SSAValue, current: Any) -> Held:
    """The form of a frame's value. Raises NoForm where it has none here."""
    allocation = None
    if isinstance(current, Pointer):
        allocation, current = current.allocation, current.offset
        if allocation is None or (allocation.address - allocation.bytes.ctypes.data) % _ALIGNMENT:
            raise NoForm
    if not extents(value.type):
        return _held_scalar(value, dense(current), allocation)
    if isinstance(current, Affine) and current.rest is None:
        leaf = Leaf(value, "affine", current.strides)
        return Held(leaf, _described(current.base), [current.base], allocation)
    if isinstance(current, Box):
        return _held_box(value, current)
    dtype = np.dtype(np.int64) if allocation is not None else numpy_dtype(element(value.type))
    return _held_array(value, dense(current, dtype), allocation)


def _described(values: Array) -> list[int]:
    """Address, and bytes from one program to the next."""
    return [values.ctypes.data, 0 if values.shape[0] == 1 else values.strides[0]]


def _held_scalar(value: SSAValue, values: Array, allocation: Allocation | None) -> Held:
    return Held(Leaf(value, "scalar", ()), _described(values), [values], allocation)


def _held_box(value: SSAValue, box: Box) -> Held:
    detail, parameters, alive = [], [], []
    for side, bounds in (("lower", box.lower), ("upper", box.upper)):
        for axis, bound in sorted(bounds.items()):
            bound = np.ascontiguousarray(bound, np.int64)
            detail.append((axis, side))
            parameters += _described(bound)
            alive.append(bound)
    return Held(Leaf(value, "box", tuple(detail)), parameters, alive)


def _held_array(value: SSAValue, values: Array, allocation: Allocation | None) -> Held:
    detail = tuple(
        "zero" if extent == 1 or stride == 0 else "unit" if stride == values.itemsize else "any"
        for extent, stride in zip(values.shape[1:], values.strides[1:], strict=True)
    )
    parameters = [*_described(values), *values.strides[1:]]
    return Held(Leaf(value, "array", detail), parameters, [values], allocation)
