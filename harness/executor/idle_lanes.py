"""Lanes that no program uses: a tile's axis of which the masks of all loads and stores leave only the first few.

A template's tiles are made for large problems. Of a depthwise convolution, whose groups have one channel each, all
lanes but one of two axes are masked off in every program, and computing them is almost all the work. Lanes along such
an axis never meet (see `Axes`), or meet in a product only, as zero times zero; so the kernel whose tiles end where the
masks do leaves the same in memory, and checks the same accesses.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, IntegerAttr, ModuleOp, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter

from harness.executor.analysis import constant_value, is_pure
from harness.executor.axes import Axes, Axis
from harness.executor.types import element, extents, get
from harness.executor.values import Box, dense
from harness.ir import attribute, operand, operation_name

# Runs ops, none of which has effects or reads memory, for a grid of programs: the value of each result asked for.
Evaluate = Callable[[Sequence[Operation], Sequence[SSAValue], "tuple[int, int, int]"], list[object]]

# Where classes of axes end.
Ends = tuple[tuple[Axis, int], ...]

_IDS = frozenset({"tt.get_program_id", "tt.get_num_programs"})
_LEAST_GAIN = 2  # times fewer lanes
_MOST_PROGRAMS = 1 << 20  # of which masks are looked at


@dataclass(frozen=True)
class _Bound:
    """An i1 tensor, one of those and-ed to a mask, that may say where an axis ends. `ops` compute it, from scalar
    arguments and program ids, which vary along the axes `ids` of the grid."""

    value: SSAValue
    axis: int
    ops: tuple[Operation, ...]
    ids: frozenset[int]


@dataclass
class IdleLanes:
    """`bounds`: of each class of axes that may end earlier, the bounds of each access, for each of its axes in the
    class. `module` is one of its own, `function` the kernel there."""

    module: ModuleOp
    function: Operation
    axes: Axes
    bounds: Mapping[Axis, list[list[_Bound]]] = field(default_factory=dict)

    def ends(self, grid: tuple[int, int, int], evaluate: Evaluate) -> Ends:
        """Where the classes end for this grid, those that are worth it."""
        # In most kernels the first program's lanes are in use, which says all.
        first = self._ends(self.bounds, (1, 1, 1), evaluate)
        return tuple(self._ends(first, grid, evaluate).items()) if first else ()

    def _ends(self, classes: Iterable[Axis], programs: tuple[int, int, int], evaluate: Evaluate) -> dict[Axis, int]:
        """Of these classes."""
        ends = functools.cache(lambda bound: _end(bound, programs, evaluate))  # several accesses have one mask
        found: dict[Axis, int] = {}
        for axis in classes:
            end = max(min(map(ends, bounds)) for bounds in self.bounds[axis])
            if end * _LEAST_GAIN <= extents(axis[0].type)[axis[1]]:
                found[axis] = 1 << (max(end, 1) - 1).bit_length()
        return found


def _end(bound: _Bound, grid: tuple[int, int, int], evaluate: Evaluate) -> int:
    """The lane after the last one for which it is true in any program; the axis's extent where that is too much to
    find out."""
    extent = extents(bound.value.type)[bound.axis]
    needed = tuple(count if axis in bound.ids else 1 for axis, count in enumerate(grid))
    if math.prod(needed) > _MOST_PROGRAMS:
        return extent
    (value,) = evaluate(bound.ops, [bound.value], (needed[0], needed[1], needed[2]))
    if isinstance(value, Box):
        upper = value.upper.get(bound.axis)
        return extent if upper is None else int(upper.max())
    values = dense(value)
    lanes = values.any(axis=tuple(axis for axis in range(values.ndim) if axis != bound.axis + 1))
    if lanes.size == 1:
        return extent if lanes.any() else 0
    return int(np.flatnonzero(lanes)[-1]) + 1 if lanes.any() else 0


# --- before any launch -------------------------------------------------------------------------------------------


def idle_lanes(module: ModuleOp, kernel: str) -> IdleLanes | None:
    """What may be idle in the kernel of that name; None where no mask can say so."""
    if not _has_masks(_function(module, kernel)):
        return None
    copy = module.clone()
    function = _function(copy, kernel)
    _part_sources(function)
    axes = Axes(function)
    for product, (left, axis) in axes.summed.items():
        if not all(_is_zero_outside(value) for value in product.operands[:2]):
            axes.fix_axis(left, axis)
    found: dict[Axis, list[list[_Bound]]] = {}
    for access in _accesses(function):
        pointer = access.operands[0]
        for number, extent in enumerate(extents(pointer.type)):
            axis = axes.of(pointer, number)
            if extent > 1 and axes.is_free(axis):
                found.setdefault(axis, []).append(list(_bounds(access, number, function)))
    bounds = {axis: each for axis, each in found.items() if all(each)}
    return IdleLanes(copy, function, axes, bounds) if bounds else None


def _function(module: ModuleOp, name: str) -> Operation:
    return next(one for one in module.body.block.ops if get(one, "sym_name") == name)


def _accesses(function: Operation) -> list[Operation]:
    return [one for one in function.walk() if operation_name(one) in ("tt.load", "tt.store")]


def _has_masks(function: Operation) -> bool:
    return len(function.regions[0].blocks) == 1 and any(operand(one, "mask") is not None for one in _accesses(function))


def _part_sources(function: Operation) -> None:
    """One range, splat or constant for each use: of several uses, for axes that happen to be of one length, one op
    would do, and those axes would be one."""
    for source in [one for one in function.walk() if one.name in ("tt.make_range", "tt.splat", "arith.constant")]:
        block = source.parent
        for use in list(source.results[0].uses)[1:] if extents(source.results[0].type) else ():
            own = source.clone()
            assert block is not None
            block.insert_op_before(own, source)
            use.operation.operands[use.index] = own.results[0]


def _is_zero_outside(value: SSAValue) -> bool:
    """Whether it is a load that gives zero where its mask is false."""
    if not isinstance(value.owner, Operation) or value.owner.name != "tt.load":
        return False
    other = operand(value.owner, "other")
    if other is None or not isinstance(other.owner, Operation):
        return other is None
    return other.owner.name == "arith.constant" and not dense(constant_value(other.owner)).any()


def _bounds(access: Operation, axis: int, function: Operation) -> Iterator[_Bound]:
    """Of the tensors that are and-ed to the mask, those that vary along the axis."""
    mask = operand(access, "mask")
    waiting = [] if mask is None else [(mask, axis)]
    while waiting:
        value, axis = waiting.pop()
        owner = value.owner
        if extents(value.type)[axis] == 1 or not isinstance(owner, Operation):
            continue
        if owner.name in ("arith.andi", "tt.broadcast"):
            waiting.extend((source, axis) for source in owner.operands)
            continue
        if owner.name == "tt.expand_dims":
            waiting.append((owner.operands[0], axis - (axis > get(owner, "axis"))))
            continue
        ops = _computing(value, function)
        if ops is not None:
            ids = frozenset(get(one, "axis") for one in ops if one.name == "tt.get_program_id")
            yield _Bound(value, axis, ops, ids)


def _computing(value: SSAValue, function: Operation) -> tuple[Operation, ...] | None:
    """The ops that a value is made by, in their order; None where one of them reads memory, or runs in a loop."""
    entry = function.regions[0].block
    found: set[Operation] = set()
    waiting = [value]
    while waiting:
        owner = waiting.pop().owner
        if owner is entry or owner in found:
            continue
        if not isinstance(owner, Operation) or owner.parent is not entry:
            return None
        if not is_pure(owner) and owner.name not in _IDS:
            return None
        if any(element(source.type) == "ptr" for source in owner.operands):
            return None
        found.add(owner)
        waiting.extend(owner.operands)
    return tuple(operation for operation in entry.ops if operation in found)


# --- the kernel with tiles that end earlier ------------------------------------------------------------------------


def ended(idle: IdleLanes, ends: Ends) -> ModuleOp:
    """A copy of the module whose kernel's tiles end there."""
    end_of = dict(ends)
    values: dict[SSAValue, SSAValue] = {}
    copy = idle.module.clone(values)
    for old, new in values.items():
        shape = extents(old.type)
        shorter = tuple(end_of.get(idle.axes.of(old, axis), extent) for axis, extent in enumerate(shape))
        if shorter != shape:
            Rewriter.replace_value_with_new_type(new, _shaped(old.type, shorter))
    for operation in copy.walk():
        if operation.name == "tt.make_range":
            _set(operation, "end", get(operation, "start") + extents(operation.results[0].type)[0])
        elif operation.name == "arith.constant":
            _fit_constant(operation)
    return copy


def _shaped(type_: Attribute, shape: tuple[int, ...]) -> Attribute:
    assert isinstance(type_, TensorType)
    return TensorType(type_.element_type, shape, type_.encoding)


def _set(operation: Operation, name: str, number: int) -> None:
    old = attribute(operation, name)
    assert isinstance(old, IntegerAttr)
    operation.properties[name] = IntegerAttr(number, old.type)


def _fit_constant(operation: Operation) -> None:
    """A splat of as many elements as its type has."""
    value, type_ = attribute(operation, "value"), operation.results[0].type
    if not isinstance(value, DenseIntOrFPElementsAttr) or value.type == type_:
        return
    size = value.type.element_type.compile_time_size
    data = value.data.data[:size] * math.prod(extents(type_))
    operation.properties["value"] = DenseIntOrFPElementsAttr(type_, BytesAttr(data))  # pyright: ignore[reportArgumentType]
