"""Blackwell's tensor memory, and products that end there.

Products end in the order in which they were begun. One that is asynchronous tells barriers when it has, and so does a
commit for all before it; `useD` and `pred` are the program's own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.ir import Operation

from harness.errors import UnsupportedOp
from harness.executor.barriers import Barrier
from harness.executor.context import Context
from harness.executor.local import TENSOR, LocalView, contiguous_strides
from harness.executor.operands import chosen, maybe_slot, narrowed_to, slot_of, value_of, values_of
from harness.executor.ops_local import TOKEN, local_dtype, local_shape, new_buffer, read_local, write_local
from harness.executor.ops_tensor import unary
from harness.executor.outstanding import BARRIERS, TENSOR_PRODUCTS, Work
from harness.executor.plan import Frame, Planner, Step, op
from harness.executor.types import element, extents, get
from harness.executor.values import dense, narrowed, spread
from harness.ir import source_location
from harness.semantics import numpy_dtype
from harness.semantics.dot import dot_float, dot_integer
from harness.semantics.types import Array


def _tokens(planner: Planner, operation: Operation) -> Callable[[Frame], None]:
    """Gives the op's token, where it has one."""
    slots = planner.slots_of([value for value in operation.results if value.type.name == "ttg.async.token"])

    def give(frame: Frame) -> None:
        for slot in slots:
            frame[slot] = TOKEN

    return give


@op("ttng.tmem_alloc")
def _tmem_alloc(planner: Planner, operation: Operation) -> Step:
    type_, where = operation.results[0].type, source_location(operation)
    shape, dtype = local_shape(type_), local_dtype(type_)
    strides, size = contiguous_strides(shape), int(np.prod(shape, dtype=np.int64))
    source, target = maybe_slot(planner, operation, "src"), planner.slot(operation.results[0])
    give = _tokens(planner, operation)

    def run(context: Context, frame: Frame) -> None:
        view = LocalView(new_buffer(context, size, dtype, where, TENSOR), shape, strides, np.zeros(1, np.int64))
        if source is not None:
            write_local(view, spread(dense(frame[source], dtype), shape), context, where)
        frame[target] = view
        give(frame)

    return run


@op("ttng.tmem_load")
def _tmem_load(planner: Planner, operation: Operation) -> Step:
    source, target = slot_of(planner, operation, "src"), planner.slot(operation.results[0])
    where, give = source_location(operation), _tokens(planner, operation)

    def run(context: Context, frame: Frame) -> None:
        frame[target] = read_local(frame[source], context, where)
        give(frame)

    return run


@op("ttng.tmem_store")
def _tmem_store(planner: Planner, operation: Operation) -> Step:
    source, target, predicate = (slot_of(planner, operation, name) for name in ("src", "dst", "pred"))
    type_, where = value_of(operation, "src").type, source_location(operation)
    shape, dtype, give = extents(type_), numpy_dtype(element(type_)), _tokens(planner, operation)

    def run(context: Context, frame: Frame) -> None:
        found = chosen(context, frame, predicate)
        give(frame)
        if found is None:
            return
        here, positions = found
        values = spread(dense(narrowed_to(frame[source], positions), dtype), shape)
        write_local(narrowed_to(frame[target], positions), values, here, where)

    return run


@op("ttng.tmem_subslice")
def _tmem_subslice(planner: Planner, operation: Operation) -> Step:
    shape = local_shape(operation.results[0].type)
    axis = get(operation, "dim", 1) - 2  # of the two that the layout places; a buffer's number may stand in front
    first = get(operation, "N", get(operation, "offset", 0))
    return unary(lambda view: view.moved(shape, view.strides, first * view.strides[axis]))(planner, operation)


@op("ttng.tc_gen5_mma")
def _mma(planner: Planner, operation: Operation) -> Step:
    if get(operation, "two_ctas", False) or get(operation, "is_unsigned", False):
        raise UnsupportedOp("unsupported ttng.tc_gen5_mma of two CTAs, or of unsigned integers")
    left, right, result, use, predicate = (
        slot_of(planner, operation, name) for name in ("a", "b", "d", "useD", "pred")
    )
    signals = list(
        zip(*(planner.slots_of(values_of(operation, name)) for name in ("barriers", "barrier_preds")), strict=True)
    )
    where, waits = source_location(operation), bool(get(operation, "is_async", False))
    kinds = [element(value_of(operation, name).type.element_type) for name in ("a", "d")]  # type: ignore[attr-defined]
    precision = "tf32" if kinds[0] == "f32" else "ieee"
    dtype, give = numpy_dtype(kinds[1]), _tokens(planner, operation)

    def multiply(here: Context, tiles: tuple[LocalView, ...], used: Array) -> None:
        a, b = (read_local(view, here, where) for view in tiles[:2])
        summed = np.zeros(1, dtype)
        if used.any():
            kept = np.broadcast_to(used, (here.programs,)).reshape(-1, *(1,) * (a.ndim - 1))
            summed = np.where(kept, read_local(tiles[2], here, where), dtype.type(0))
        summed = np.broadcast_to(summed, (a.shape[0], *tiles[2].shape))
        product = dot_integer(a, b, summed) if kinds[1].startswith("i") else dot_float(a, b, summed, precision)
        tiles[2].write(here.local.rows(here), product)

    def begin(here: Context, tiles: tuple[LocalView, ...], used: Array) -> None:
        outstanding, rows = here.local.outstanding, here.local.numbers(here)
        for view in tiles[:2]:
            outstanding.check(view, here, where, writes=False)
        outstanding.check(tiles[2], here, where, writes=True, but=TENSOR_PRODUCTS)
        late = here.options.copies == "latest" and waits
        if not waits:
            outstanding.wait(TENSOR_PRODUCTS, rows, 0, here)
        if not late:
            with outstanding.unchecked():
                multiply(here, tiles, used)
        if not waits:
            return

        def complete(there: Context, work: Work) -> None:
            multiply(there, (*work.reads, *work.writes), narrowed(used, np.searchsorted(rows, work.rows)))

        work = Work(rows, where, rows, reads=tiles[:2], writes=tiles[2:], complete=complete if late else None)
        outstanding.begin(TENSOR_PRODUCTS, work)

    def run(context: Context, frame: Frame) -> None:
        found = chosen(context, frame, predicate)
        give(frame)
        if found is None:
            return
        here, positions = found
        tiles = tuple(narrowed_to(frame[slot], positions) for slot in (left, right, result))
        begin(here, tiles, narrowed_to(frame[use], positions))
        for barrier, holds in signals:
            told = chosen(here, [narrowed_to(frame[holds], positions)], 0)
            if told is not None:
                _commit(told[0], narrowed_to(narrowed_to(frame[barrier], positions), told[1]), where)

    return run


def _commit(context: Context, barrier: LocalView, where: Any) -> None:
    """The barrier is told once for all products that were begun before, when they end."""
    outstanding, rows = context.local.outstanding, context.local.numbers(context)
    upto = outstanding.begun(TENSOR_PRODUCTS, rows)

    def complete(here: Context, work: Work) -> None:
        here.local.outstanding.end(TENSOR_PRODUCTS, work.rows, upto[np.searchsorted(rows, work.rows)], here)

    phases, signal = Barrier(barrier, context).signal(arrivals=1)
    outstanding.begin(BARRIERS, Work(rows, where, phases, complete=complete, signal=signal))


@op("ttng.tc_gen5_commit")
def _tc_gen5_commit(planner: Planner, operation: Operation) -> Step:
    barrier, predicate = slot_of(planner, operation, "barrier"), maybe_slot(planner, operation, "pred")
    where = source_location(operation)

    def run(context: Context, frame: Frame) -> None:
        found = chosen(context, frame, predicate)
        if found is not None:
            _commit(found[0], narrowed_to(frame[barrier], found[1]), where)

    return run
