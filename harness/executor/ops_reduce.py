"""Reductions, scans, matrix products and the ops that move elements by index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue

from harness.errors import UnsupportedOp
from harness.executor.context import Context
from harness.executor.ops_control import run_blocks
from harness.executor.plan import Frame, Planner, Step, op
from harness.executor.products import Shared, Trimmed, lazy_product
from harness.executor.types import element, extents, get
from harness.executor.values import dense, spread
from harness.ir import operand
from harness.ir.enums import INPUT_PRECISION, SCALED_ELEMENT
from harness.semantics import numpy_dtype
from harness.semantics.dot import decode_scaled, dot_float, dot_integer
from harness.semantics.tensor import Combiner, combiner_for
from harness.semantics.types import Array, unsigned

Combine = Callable[[Context, Frame, list[Array], list[Array], int], list[Array]]


def _operand_reader(planner: Planner, values: Sequence[SSAValue]) -> Callable[[Frame], list[Array]]:
    slots = planner.slots_of(values)
    dtypes = [numpy_dtype(element(value.type)) for value in values]
    shapes = [extents(value.type) for value in values]

    def read(frame: Frame) -> list[Array]:
        return [spread(dense(frame[s], d), shape) for s, d, shape in zip(slots, dtypes, shapes, strict=True)]

    return read


def _region_combine(planner: Planner, operation: Operation) -> Combine:
    """The region as a function on arrays: every lane plays the part of a program.

    It takes the frame around the op, since the region may read values defined outside, and the axis of the
    arrays that counts programs.
    """
    blocks, successors = planner.blocks(operation.regions[0])
    outer = sorted({slot for block in blocks for slot in block.free} - {s for b in blocks for s in b.defined})

    def combine(
        context: Context, around: Frame, left: list[Array], right: list[Array], program_axis: int
    ) -> list[Array]:
        arguments = (*left, *right)
        shape = np.broadcast_shapes(*(values.shape for values in arguments))
        lanes = int(np.prod(shape))
        nowhere = np.broadcast_to(np.zeros(1, np.int32), lanes)
        inner = Context((nowhere, nowhere, nowhere), context.grid, context.memory, context.options, context.result)
        frame: Frame = [None] * planner.slots
        for slot in outer:
            frame[slot] = _for_lanes(around[slot], shape, program_axis)
        for slot, values in zip(blocks[0].arguments, arguments, strict=True):
            frame[slot] = np.ascontiguousarray(values).reshape(-1)
        results = run_blocks(blocks, successors, inner, frame)
        return [np.broadcast_to(dense(result), (lanes,)).reshape(shape) for result in results]

    return combine


def _for_lanes(value: Any, shape: tuple[int, ...], program_axis: int) -> Any:
    """A scalar of the function around, one per program, repeated for every lane of its program."""
    if not isinstance(value, np.ndarray) or value.shape[0] == 1:
        return value
    column = [1] * len(shape)
    column[program_axis] = value.shape[0]
    return np.broadcast_to(value.reshape(column), shape).reshape(-1)


def _single_combiner(operation: Operation) -> Combiner | None:
    """The combiner of a region that holds one known op on its two arguments (in either order)."""
    if len(operation.operands) != 1:
        return None
    block = operation.regions[0].block
    body = list(block.ops)
    if len(body) != 2 or len(block.args) != 2 or body[1].operands[0] is not body[0].results[0]:
        return None
    if set(body[0].operands) != set(block.args):
        return None
    return combiner_for(body[0].name, element(operation.operands[0].type))


@op("tt.reduce")
def _reduce(planner: Planner, operation: Operation) -> Step:
    axis = get(operation, "axis") + 1
    targets = planner.slots_of(operation.results)
    read = _operand_reader(planner, operation.operands)
    combiner = _single_combiner(operation)
    if combiner is not None:
        return _fold_step(planner, operation, combiner, axis)
    combine = _region_combine(planner, operation)

    def run(context: Context, frame: Frame) -> None:
        parts = [np.moveaxis(values, axis, 0) for values in read(frame)]
        parts = _same_programs(parts, 1)
        while parts[0].shape[0] > 1:
            # Neighbours first: the order of the elements is kept, as an associative combiner needs.
            even = parts[0].shape[0] // 2 * 2
            combined = combine(context, frame, [p[0:even:2] for p in parts], [p[1:even:2] for p in parts], 1)
            parts = [np.concatenate((c, p[even:])) for c, p in zip(combined, parts, strict=True)]
        for target, values in zip(targets, parts, strict=True):
            frame[target] = values[0]

    return run


def _same_programs(parts: list[Array], axis: int) -> list[Array]:
    programs = max(part.shape[axis] for part in parts)
    return [
        part if part.shape[axis] == programs
        else np.broadcast_to(part, tuple(programs if a == axis else n for a, n in enumerate(part.shape)))
        for part in parts
    ]  # fmt: skip


def _fold_step(planner: Planner, operation: Operation, combiner: Combiner, axis: int) -> Step:
    (source,), (target,) = planner.slots_of(operation.operands), planner.slots_of(operation.results)
    type_ = operation.operands[0].type
    dtype, shape = numpy_dtype(element(type_)), extents(type_)

    def run(_: Context, frame: Frame) -> None:
        values = dense(frame[source], dtype)
        if values.shape[axis] != shape[axis - 1]:
            widened = (*values.shape[:axis], shape[axis - 1], *values.shape[axis + 1 :])
            values = np.broadcast_to(values, widened)
        frame[target] = fold(values, axis, combiner)

    return run


def fold(values: Array, axis: int, combiner: Combiner) -> Array:
    """All elements along `axis` combined. f16 halves the axis again and again, rounding every step as a tree of
    lanes does; the wider types use NumPy's own order."""
    if values.shape[axis] == 2 and values.dtype.kind in "bi" and not combiner.unsigned:
        # A sort network is made of these; slices are many times faster than a reduction over two.
        before = (slice(None),) * axis
        return combiner.pair(values[(*before, 0)], values[(*before, 1)])
    if values.dtype == np.float16:
        return _with_signed_zeros(_halved(values, axis, combiner), values, axis, combiner, np.logical_or.reduce)
    if combiner.unsigned and values.dtype != np.bool_:
        return combiner.pair.reduce(unsigned(values), axis=axis).view(values.dtype)
    if combiner.pair in (np.add, np.multiply) and values.dtype.kind == "f":
        # NumPy adds in the order of memory: one layout, one result, whatever made the array.
        values = np.ascontiguousarray(values)
    result = combiner.pair.reduce(values, axis=axis, dtype=values.dtype)
    return _with_signed_zeros(result, values, axis, combiner, np.logical_or.reduce)


def _halved(values: Array, axis: int, combiner: Combiner) -> Array:
    while values.shape[axis] > 1:
        half = values.shape[axis] // 2
        low, high, rest = np.split(values, [half, 2 * half], axis=axis)
        values = np.concatenate((combiner.pair(low, high), rest), axis=axis)
    return np.take(values, 0, axis=axis)


def _with_signed_zeros(
    result: Array, values: Array, axis: int, combiner: Combiner, anywhere: Callable[..., Array]
) -> Array:
    """Extremes of floats with the zeros that the op gives: -0.0 is less than 0.0, NumPy takes either.
    `anywhere` is logical or as a reduction, or as an accumulation for a scan."""
    if combiner.greatest is None or result.dtype.kind != "f" or result.all():
        return result
    wins = (values == 0) & (np.signbit(values) != combiner.greatest)
    positive = anywhere(wins, axis=axis) == combiner.greatest
    return np.where(result == 0, np.where(positive, 0.0, -0.0).astype(result.dtype), result)


# --- scans -------------------------------------------------------------------------------------------------


@op("tt.scan")
def _scan(planner: Planner, operation: Operation) -> Step:
    axis, reverse = get(operation, "axis") + 1, bool(get(operation, "reverse", 0))
    targets = planner.slots_of(operation.results)
    read = _operand_reader(planner, operation.operands)
    combiner = _single_combiner(operation)
    if combiner is not None:
        (target,) = targets

        def fast(_: Context, frame: Frame) -> None:
            (values,) = read(frame)
            values = np.flip(values, axis) if reverse else values
            result = accumulate(values, axis, combiner)
            frame[target] = np.flip(result, axis) if reverse else result

        return fast
    combine = _region_combine(planner, operation)

    def run(context: Context, frame: Frame) -> None:
        parts = [np.moveaxis(values, axis, 0) for values in read(frame)]
        parts = [np.array(part[::-1] if reverse else part) for part in _same_programs(parts, 1)]
        distance = 1
        while distance < parts[0].shape[0]:
            combined = combine(context, frame, [p[:-distance] for p in parts], [p[distance:] for p in parts], 1)
            parts = [np.concatenate((p[:distance], c)) for p, c in zip(parts, combined, strict=True)]
            distance *= 2
        for target, values in zip(targets, parts, strict=True):
            frame[target] = np.moveaxis(values[::-1] if reverse else values, 0, axis)

    return run


def accumulate(values: Array, axis: int, combiner: Combiner) -> Array:
    """Every prefix along `axis` combined, from the first element on."""
    if combiner.unsigned and values.dtype != np.bool_:
        return combiner.pair.accumulate(unsigned(values), axis=axis).view(values.dtype)
    result = combiner.pair.accumulate(values, axis=axis, dtype=values.dtype)
    return _with_signed_zeros(result, values, axis, combiner, np.logical_or.accumulate)


@op("tt.map_elementwise")
def _map_elementwise(planner: Planner, operation: Operation) -> Step:
    """The region sees `pack` elements of each operand at a time: neighbours along the last axis."""
    pack = get(operation, "pack", 1)
    targets = planner.slots_of(operation.results)
    read = _operand_reader(planner, operation.operands)
    combine = _region_combine(planner, operation)

    def run(context: Context, frame: Frame) -> None:
        operands = _same_programs(read(frame), 0)
        packed = [values[..., part::pack] for values in operands for part in range(pack)]
        results = combine(context, frame, packed, [], 0)
        for number, target in enumerate(targets):
            parts = np.stack(results[number * pack : (number + 1) * pack], axis=-1)
            frame[target] = parts.reshape(operands[0].shape)

    return run


# --- matrix products -----------------------------------------------------------------------------------------


@op("tt.dot")
def _dot(planner: Planner, operation: Operation) -> Step:
    read = _operand_reader(planner, operation.operands)
    left, right, accumulator = planner.slots_of(operation.operands[:3])
    (target,) = planner.slots_of(operation.results)
    kind, result = element(operation.operands[0].type), element(operation.results[0].type)
    precision = INPUT_PRECISION.keywords[get(operation, "inputPrecision", INPUT_PRECISION.values["ieee"])]
    shapes = [extents(value.type) for value in operation.operands[:2]]

    def integers(_: Context, frame: Frame) -> None:
        frame[target] = dot_integer(*read(frame))

    def eager(_: Context, frame: Frame) -> None:
        a, b, summed = read(frame)
        frame[target] = dot_float(a, b, summed, precision)

    def lazy(_: Context, frame: Frame) -> None:
        a, b = frame[left], frame[right]
        rows, columns = shapes[0][0], shapes[1][1]
        terms = shapes[0][1]
        if isinstance(a, Trimmed) and isinstance(b, Trimmed) and a.agrees(b):
            a, b, terms = a.operand, b.operand, a.upper - a.lower
        a = a if isinstance(a, Shared) else spread(dense(a), (rows, terms))
        b = b if isinstance(b, Shared) else spread(dense(b), (terms, columns))
        frame[target] = lazy_product(frame[accumulator], a, b, precision)

    if kind.startswith("i"):
        # IR has no signs: i8 is signed because the front end takes no unsigned operand. It emits no other integers.
        if (kind, result) != ("i8", "i32"):
            raise UnsupportedOp(f"unsupported tt.dot of {kind} operands into {result}")
        return integers
    # Sums may be put off only where the accumulator is as wide as the products.
    return lazy if len(shapes[0]) == 2 and (result == "f32" or kind == "f64") else eager


@op("tt.dot_scaled")
def _dot_scaled(planner: Planner, operation: Operation) -> Step:
    kinds = [SCALED_ELEMENT.keywords[get(operation, f"{side}_elem_type")] for side in ("a", "b")]
    packed_k = [bool(get(operation, f"{side}_k_pack", True)) for side in ("lhs", "rhs")]
    named = [operand(operation, name) for name in ("a", "b", "c", "a_scale", "b_scale")]
    present = [value for value in named if value is not None]
    read = _operand_reader(planner, present)
    (target,) = planner.slots_of(operation.results)
    rank = len(extents(operation.results[0].type)) + 1

    def run(_: Context, frame: Frame) -> None:
        values = iter(read(frame))
        a, b, accumulator, a_scale, b_scale = (None if value is None else next(values) for value in named)
        assert a is not None and b is not None and accumulator is not None
        k_a, k_b = rank - 1, rank - 2
        left = decode_scaled(a, a_scale, kinds[0], k_a, k_a if packed_k[0] else rank - 2)
        right = decode_scaled(b, b_scale, kinds[1], k_b, k_b if packed_k[1] else rank - 1)
        frame[target] = dot_float(left, right, accumulator, "ieee")

    return run


# --- elements by index --------------------------------------------------------------------------------------


@op("tt.gather")
def _gather(planner: Planner, operation: Operation) -> Step:
    axis = get(operation, "axis") + 1
    read = _operand_reader(planner, operation.operands)
    (target,) = planner.slots_of(operation.results)
    limit = extents(operation.operands[0].type)[axis - 1]

    def run(_: Context, frame: Frame) -> None:
        source, index = _same_programs(read(frame), 0)
        # An index outside is undefined; it reads the nearest element rather than somebody else's.
        inside = np.clip(index.astype(np.int64), 0, limit - 1)
        frame[target] = np.take_along_axis(source, inside, axis)

    return run


@op("tt.histogram")
def _histogram(planner: Planner, operation: Operation) -> Step:
    read = _operand_reader(planner, operation.operands)
    (target,) = planner.slots_of(operation.results)
    bins = extents(operation.results[0].type)[0]
    dtype = numpy_dtype(element(operation.results[0].type))

    def run(_: Context, frame: Frame) -> None:
        values, *mask = _same_programs(read(frame), 0)
        programs = values.shape[0]
        rows = np.arange(programs, dtype=np.int64)[:, None] * bins
        # A value outside the bins is undefined; it is counted nowhere.
        counted = (values >= 0) & (values < bins)
        if mask:
            counted &= mask[0]
        flat = (values.astype(np.int64) + rows)[counted]
        frame[target] = np.bincount(flat, minlength=programs * bins).reshape(programs, bins).astype(dtype)

    return run
