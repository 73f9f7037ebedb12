"""Products of tiles in the memory of an NVIDIA GPU's chip, which end at a wait."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.ir import Operation

from harness.executor.context import Context
from harness.executor.local import LocalView
from harness.executor.operands import maybe_slot, slot_of
from harness.executor.ops_local import read_local
from harness.executor.outstanding import PRODUCTS, Work
from harness.executor.pending import AsyncProduct, Pending
from harness.executor.plan import Frame, Planner, Step, op
from harness.executor.types import element, extents, get
from harness.executor.values import dense, narrowed, spread
from harness.ir import source_location
from harness.ir.enums import INPUT_PRECISION
from harness.semantics import numpy_dtype
from harness.semantics.dot import dot_float, dot_integer
from harness.semantics.types import Array

# --- Hopper: the result is in registers ---------------------------------------------------------------------------


@op("ttng.warp_group_dot")
def _warp_group_dot(planner: Planner, operation: Operation) -> Step:
    left, right, accumulator = (slot_of(planner, operation, name) for name in ("a", "b", "c"))
    use = maybe_slot(planner, operation, "useC")
    (target,) = planner.slots_of(operation.results)
    where, waits = source_location(operation), bool(get(operation, "isAsync", False))
    precision = INPUT_PRECISION.keywords[get(operation, "inputPrecision", INPUT_PRECISION.values["ieee"])]
    type_ = operation.results[0].type
    shape, dtype = extents(type_), numpy_dtype(element(type_))
    is_integer = element(type_).startswith("i")
    left_type = operation.operands[0].type

    def tile(value: Any, context: Context) -> Array:
        if isinstance(value, LocalView):
            return read_local(value, context, where)
        return spread(dense(value, numpy_dtype(element(left_type))), extents(left_type))

    def product(context: Context, a: Any, b: Any, c: Any, keep: Array | None) -> Array:
        summed = spread(dense(c), shape)
        if keep is not None and not keep.all():
            used = np.broadcast_to(keep, (context.programs,)).reshape(-1, *(1,) * len(shape))
            summed = np.where(used, summed, summed.dtype.type(0))
        tiles = tile(a, context), tile(b, context)
        return dot_integer(*tiles, summed) if is_integer else dot_float(*tiles, summed, precision)

    def run(context: Context, frame: Frame) -> None:
        keep = None if use is None else frame[use]
        operands = (frame[left], frame[right], frame[accumulator], keep)
        outstanding, rows = context.local.outstanding, context.local.numbers(context)
        if not waits:
            outstanding.wait(PRODUCTS, rows, 0, context)  # they end in order
            frame[target] = product(context, *operands)
            return
        tiles = tuple(value for value in operands[:2] if isinstance(value, LocalView))
        for view in tiles:
            outstanding.check(view, context, where, writes=False)

        def compute(here: Context, chosen: Array) -> Array:
            return product(here, *(narrowed(value, chosen) for value in operands))

        result = AsyncProduct(context, shape, dtype, compute, where)
        if context.options.copies == "earliest":
            result.carry_out(rows)
        ends = lambda _, work: result.end(work.rows)  # noqa: E731
        outstanding.begin(PRODUCTS, Work(rows, where, rows, reads=tiles, complete=ends))
        frame[target] = Pending(result, rows)

    return run


@op("ttng.warp_group_dot_wait")
def _warp_group_dot_wait(planner: Planner, operation: Operation) -> Step:
    sources, targets = planner.slots_of(operation.operands), planner.slots_of(operation.results)
    newest = get(operation, "pendings")

    def run(context: Context, frame: Frame) -> None:
        context.local.outstanding.wait(PRODUCTS, context.local.numbers(context), newest, context)
        for source, target in zip(sources, targets, strict=True):
            value = frame[source]
            frame[target] = value.settled() if isinstance(value, Pending) else value

    return run
