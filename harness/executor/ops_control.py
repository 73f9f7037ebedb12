"""Control flow: loops and branches, for programs that may take different ways.

Where all programs agree, a loop is a Python loop. Where they differ, the batch is narrowed to the programs
that are still in, and results are merged when the last one leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation

from harness.cases.location import SourceLocation
from harness.errors import AssertionTrap
from harness.executor.context import Context
from harness.executor.plan import BlockPlan, Frame, FunctionPlan, Planner, Step, op
from harness.executor.types import element, extents, get
from harness.executor.values import dense, merged, narrowed, spread
from harness.ir import source_location
from harness.semantics import numpy_dtype
from harness.semantics.types import Array
from harness.semantics.types import unsigned as read_unsigned


def sub_frame(frame: Frame, slots: Sequence[int], chosen: Array) -> Frame:
    """A copy of the frame in which the given slots hold the values of the chosen programs."""
    copy = list(frame)
    for slot in slots:
        copy[slot] = narrowed(copy[slot], chosen)
    return copy


def _flag(values: Array) -> bool | None:
    """True or False where all programs agree, else None."""
    if values.size == 1:
        return bool(values.reshape(-1)[0])
    if values.all():
        return True
    return None if values.any() else False


def _yielded(block: BlockPlan, frame: Frame) -> list[Any]:
    return [frame[slot] for slot in block.yields]


def _same_values(left: Sequence[Any], right: Sequence[Any]) -> bool:
    """Whether carried values are surely the same; forms other than arrays are not looked into."""
    return all(
        a is b or (isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and a.tobytes() == b.tobytes())
        for a, b in zip(left, right, strict=True)
    )


def _assign(frame: Frame, slots: Sequence[int], values: Sequence[Any]) -> None:
    for slot, value in zip(slots, values, strict=True):
        frame[slot] = value


def _merge_results(parts: list[tuple[Array, list[Any]]], programs: int, count: int) -> list[Any]:
    return [merged([(at, values[i]) for at, values in parts], programs) for i in range(count)]


# --- scf.if --------------------------------------------------------------------------------------------


@op("scf.if")
def _if(planner: Planner, operation: Operation) -> Step:
    (condition,) = planner.slots_of(operation.operands)
    targets = planner.slots_of(operation.results)
    then = planner.region(operation.regions[0])
    otherwise = planner.region(operation.regions[1]) if operation.regions[1].blocks else BlockPlan(())

    def run(context: Context, frame: Frame) -> None:
        taken = frame[condition]
        agreed = _flag(taken)
        if agreed is not None:
            branch = then if agreed else otherwise
            branch.run(context, frame)
            _assign(frame, targets, _yielded(branch, frame))
            return
        parts = []
        for branch, chosen in ((then, np.flatnonzero(taken)), (otherwise, np.flatnonzero(~taken))):
            inner = sub_frame(frame, branch.free, chosen)
            branch.run(context.subset(chosen), inner)
            parts.append((chosen, _yielded(branch, inner)))
        _assign(frame, targets, _merge_results(parts, context.programs, len(targets)))

    return run


# --- scf.for ---------------------------------------------------------------------------------------------


@op("scf.for")
def _for(planner: Planner, operation: Operation) -> Step:
    lower, upper, step, *initial = planner.slots_of(operation.operands)
    targets = planner.slots_of(operation.results)
    body = planner.region(operation.regions[0])
    dtype = numpy_dtype(element(operation.operands[0].type))
    unsigned = bool(get(operation, "unsignedCmp", False))
    induction, *carried = body.arguments

    def trips(frame: Frame) -> Array:
        low, high, by = (frame[slot] for slot in (lower, upper, step))
        if unsigned:
            low, high, by = (read_unsigned(bound) for bound in (low, high, by))
        # A step of zero or less never ends in MLIR's terms: it is undefined, and taken as no trip.
        runs = (by > 0) & (low < high)
        # In unsigned arithmetic the distance of two 64-bit numbers does not overflow.
        low, high, by = (bound.astype(np.uint64) for bound in (low, high, np.maximum(by, 1)))
        return np.where(runs, (high - low - np.uint64(1)) // by + np.uint64(1), np.uint64(0))

    def run(context: Context, frame: Frame) -> None:
        counts = trips(frame)
        values = [frame[slot] for slot in initial]
        if counts.size == 1 or (counts == counts[0]).all():
            _assign(frame, targets, _uniform(context, frame, int(counts[0]), values))
            return
        _assign(frame, targets, _divergent(context, frame, counts, values))

    def _uniform(context: Context, frame: Frame, count: int, values: list[Any]) -> list[Any]:
        start, by = frame[lower], frame[step]
        for trip in range(count):
            context.count_step(operation)
            frame[induction] = (start + by * dtype.type(trip)).astype(dtype, copy=False)
            _assign(frame, carried, values)
            body.run(context, frame)
            values = _yielded(body, frame)
        return values

    def _divergent(context: Context, frame: Frame, counts: Array, values: list[Any]) -> list[Any]:
        programs = context.programs
        alive = np.arange(programs)
        finished: list[tuple[Array, list[Any]]] = []
        inner = list(frame)
        start, by = np.broadcast_to(frame[lower], programs), np.broadcast_to(frame[step], programs)
        here = context
        trip = 0
        while alive.size:
            leaving = counts == trip
            if leaving.any():
                gone, staying = np.flatnonzero(leaving), np.flatnonzero(~leaving)
                finished.append((alive[gone], [narrowed(value, gone) for value in values]))
                values = [narrowed(value, staying) for value in values]
                inner = sub_frame(inner, body.free, staying)
                alive, counts, here = alive[staying], counts[staying], here.subset(staying)
                continue
            here.count_step(operation)
            inner[induction] = (start[alive] + by[alive] * dtype.type(trip)).astype(dtype, copy=False)
            _assign(inner, carried, values)
            body.run(here, inner)
            values = _yielded(body, inner)
            trip += 1
        return _merge_results(finished, programs, len(targets))

    return run


# --- scf.while -------------------------------------------------------------------------------------------


@op("scf.while")
def _while(planner: Planner, operation: Operation) -> Step:
    initial = planner.slots_of(operation.operands)
    targets = planner.slots_of(operation.results)
    before = planner.region(operation.regions[0])
    after = planner.region(operation.regions[1])
    condition, *passed = before.yields
    free = tuple(dict.fromkeys((*before.free, *after.free)))

    def run(context: Context, frame: Frame) -> None:
        alive = np.arange(context.programs)
        finished: list[tuple[Array, list[Any]]] = []
        values = [frame[slot] for slot in initial]
        inner, here = list(frame), context
        while True:
            _assign(inner, before.arguments, values)
            before.run(here, inner)
            going = inner[condition]
            results = [inner[slot] for slot in passed]
            agreed = _flag(going)
            if agreed is False:
                finished.append((alive, results))
                break
            if agreed is None:
                gone, staying = np.flatnonzero(~going), np.flatnonzero(going)
                finished.append((alive[gone], [narrowed(value, gone) for value in results]))
                results = [narrowed(value, staying) for value in results]
                inner = sub_frame(inner, free, staying)
                alive, here = alive[staying], here.subset(staying)
            here.count_step(operation)
            _assign(inner, after.arguments, results)
            after.run(here, inner)
            before_turn, values = values, _yielded(after, inner)
            if context.pause is not None:
                context.take_turns(_same_values(before_turn, values))
        if len(finished) == 1:
            _assign(frame, targets, finished[0][1])
            return
        _assign(frame, targets, _merge_results(finished, context.programs, len(targets)))

    return run


# --- functions and unstructured control flow -------------------------------------------------------------


def call_function(function: FunctionPlan, context: Context, arguments: Sequence[Any]) -> list[Any]:
    """Runs a function for all programs of the context; its results, merged over all returns."""
    return run_function(function, context, prepared(function, context, arguments))


def prepared(function: FunctionPlan, context: Context, arguments: Sequence[Any]) -> Frame:
    """A frame with the arguments and everything that depends on nothing else; each batch starts from a copy."""
    frame: Frame = [None] * function.slots
    _assign(frame, function.blocks[0].arguments, arguments)
    function.prologue.run(context, frame)
    return frame


def run_function(function: FunctionPlan, context: Context, frame: Frame) -> list[Any]:
    """Runs a function's blocks in a prepared frame of the context's own."""
    if len(function.blocks) == 1:
        function.blocks[0].run(context, frame)
        return _yielded(function.blocks[0], frame)
    return run_blocks(function.blocks, function.successors, context, frame)


def run_blocks(
    blocks: Sequence[BlockPlan], successors: dict[int, tuple[int, ...]], context: Context, frame: Frame
) -> list[Any]:
    """Blocks in reverse post-order; programs that arrive at one block from different ways run it together."""
    waiting: dict[int, list[tuple[Array, Frame]]] = {0: [(np.arange(context.programs), frame)]}
    finished: list[tuple[Array, list[Any]]] = []
    while waiting:
        number = min(waiting)
        block = blocks[number]
        chosen, inner = _joined(waiting.pop(number))
        here = context if chosen.size == context.programs else context.subset(chosen)
        context.count_step()  # not the subset's own count, which starts anew with every subset
        block.run(here, inner)
        for way, subset, values in _ways(block, successors[number], inner):
            if way is None:
                finished.append((chosen, values))
                continue
            outgoing = _leave(inner, subset)
            _assign(outgoing, blocks[way].arguments, values)
            waiting.setdefault(way, []).append((chosen if subset is None else chosen[subset], outgoing))
            if way <= number:
                context.take_turns(same_state=False)
    count = len(finished[0][1])
    return _merge_results(finished, context.programs, count)


def _leave(frame: Frame, subset: Array | None) -> Frame:
    if subset is None:
        return list(frame)
    return [narrowed(value, subset) if value is not None else None for value in frame]


def _ways(
    block: BlockPlan, successors: tuple[int, ...], frame: Frame
) -> list[tuple[int | None, Array | None, list[Any]]]:
    """Where the programs of a block go: (block number or None for a return, positions or None for all, values)."""
    values = _yielded(block, frame)
    if len(successors) == 0:
        return [(None, None, values)]
    if len(successors) == 1:
        return [(successors[0], None, values)]
    condition, *passed = values
    assert block.terminator is not None
    split = _true_operands(block.terminator)
    sides = ((successors[0], passed[:split], condition), (successors[1], passed[split:], ~condition))
    ways: list[tuple[int | None, Array | None, list[Any]]] = []
    for target, side_values, taken in sides:
        agreed = _flag(taken)
        if agreed:
            return [(target, None, side_values)]
        if agreed is None:
            chosen = np.flatnonzero(taken)
            ways.append((target, chosen, [narrowed(value, chosen) for value in side_values]))
    return ways


def _true_operands(terminator: Operation) -> int:
    """How many operands of a cf.cond_br go to its first successor."""
    return len(terminator.successors[0].args)


def _joined(arrivals: list[tuple[Array, Frame]]) -> tuple[Array, Frame]:
    if len(arrivals) == 1:
        return arrivals[0]
    everyone = np.concatenate([chosen for chosen, _ in arrivals])
    order = np.argsort(everyone)
    rank = np.empty_like(order)
    rank[order] = np.arange(order.size)
    frame = list(arrivals[0][1])
    starts = np.cumsum([0, *(chosen.size for chosen, _ in arrivals)])
    positions = [rank[starts[i] : starts[i + 1]] for i in range(len(arrivals))]
    for slot in range(len(frame)):
        held = [other[slot] for _, other in arrivals]
        if any(value is None for value in held):
            frame[slot] = None
        else:
            frame[slot] = merged(list(zip(positions, held, strict=True)), everyone.size)
    return everyone[order], frame


@op("tt.call")
def _call(planner: Planner, operation: Operation) -> Step:
    function = planner.functions[get(operation, "callee")]
    sources, targets = planner.slots_of(operation.operands), planner.slots_of(operation.results)

    def run(context: Context, frame: Frame) -> None:
        _assign(frame, targets, call_function(function, context, [frame[slot] for slot in sources]))

    return run


# --- assert and print ------------------------------------------------------------------------------------


@op("tt.assert")
def _assert(planner: Planner, operation: Operation) -> Step:
    (source,) = planner.slots_of(operation.operands)
    message, where = get(operation, "message", ""), source_location(operation)

    def run(context: Context, frame: Frame) -> None:
        check_assertion(context, dense(frame[source]), message, where)

    return run


def check_assertion(context: Context, holds: Array, message: str, where: SourceLocation | None) -> None:
    """Traps where it does not hold everywhere; `holds` counts programs along its first axis."""
    if holds.all():
        return
    row = int(np.argmin(holds.reshape(holds.shape[0], -1).all(axis=1)))
    program = context.program_of(row)
    raise AssertionTrap(f"device_assert failed in program {program}: {message}", where, program=program)


@op("tt.print")
def _print(planner: Planner, operation: Operation) -> Step:
    sources = planner.slots_of(operation.operands)
    prefix, as_hex = get(operation, "prefix", ""), bool(get(operation, "hex", False))
    signed = get(operation, "isSigned", ())
    types = [value.type for value in operation.operands]
    dtypes = [numpy_dtype(element(type_)) for type_ in types]
    shapes = [extents(type_) for type_ in types]

    def run(context: Context, frame: Frame) -> None:
        for row in range(context.programs):
            place = f"pid {context.program_of(row)}"
            if not sources:
                context.result.output.append(f"{place}{prefix}")
            for number, slot in enumerate(sources):
                values = spread(dense(frame[slot], dtypes[number]), shapes[number])
                values = values[row if values.shape[0] > 1 else 0]
                if number < len(signed) and not signed[number] and values.dtype.kind == "i":
                    values = np.ascontiguousarray(values).view(f"u{values.dtype.itemsize}")
                context.result.output.extend(print_lines(place, prefix, values, as_hex))

    return run


def print_lines(place: str, prefix: str, values: Array, as_hex: bool) -> list[str]:
    """The lines of tl.device_print for one value, a scalar or a tile, of the program that `place` names."""
    if values.ndim == 0:
        return [f"{place} idx (){prefix}{_text(values[()], as_hex)}"]
    return [f"{place} idx {index}{prefix}{_text(values[index], as_hex)}" for index in np.ndindex(values.shape)]


def _text(value: Any, as_hex: bool) -> str:
    if as_hex:
        return f"0x{int.from_bytes(value.tobytes(), 'little'):0{value.dtype.itemsize * 2}x}"
    return str(value)


@op("llvm.intr.assume", "tt.debug_barrier", "ttg.barrier", "gpu.barrier", "ttg.local_barrier")
def _nothing(planner: Planner, operation: Operation) -> Step:
    """Threads of one program always agree here: a barrier has nothing to do, nor has a promise."""

    def run(_: Context, __: Frame) -> None:
        return

    return run
