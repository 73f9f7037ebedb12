"""Runs a plan over a grid: in batches, on threads where programs are independent, cooperatively where they wait."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from greenlet import getcurrent, greenlet
from xdsl.ir import Attribute

from harness.errors import Deadlock, HarnessError, UsageError
from harness.executor.api import Argument, DescriptorArgument, ExecutorOptions, LaunchResult, PointerArgument
from harness.executor.checks import Shadow
from harness.executor.context import Context, Turn, ids_of
from harness.executor.memory import Memory
from harness.executor.ops_control import call_function, prepared, run_function
from harness.executor.ops_memory import descriptor_block
from harness.executor.ops_tensor import item_bytes
from harness.executor.plan import Plan
from harness.executor.pool import Pool
from harness.executor.shorter import without_idle_lanes
from harness.executor.types import element, extents
from harness.executor.values import Descriptor, Pointer
from harness.semantics import numpy_dtype

_FULL_CHECK_ELEMENTS = 1 << 16  # remembering every byte costs memory
_PRODUCT_BATCH = 8  # times the batch of other kernels


def launch(
    plan: Plan,
    grid: tuple[int, int, int],
    arguments: Sequence[Argument],
    memory: Memory,
    options: ExecutorOptions | None = None,
) -> LaunchResult:
    """Runs every program of `grid` (x, y, z). `arguments` are the kernel function's own parameters, in order.

    Raises a Trap where a program cannot go on; UsageError where arguments do not fit the kernel.
    """
    options = options or ExecutorOptions()
    values = _bound(plan, arguments)
    plan = without_idle_lanes(plan, grid, values, options)
    total = grid[0] * grid[1] * grid[2]
    result = LaunchResult(total)
    if total == 0:
        return result
    shadow = Shadow(grid, plan.synchronises) if options.checks == "full" else None
    with np.errstate(all="ignore"):
        if plan.spins:
            _run_cooperatively(plan, grid, values, memory, options, result, shadow)
        else:
            _run_batches(plan, grid, values, memory, options, result, shadow)
    if shadow is not None:
        result.findings.extend(shadow.findings.values())
        result.writers.update(shadow.writers())
    return result


# --- arguments ------------------------------------------------------------------------------------------------


def _bound(plan: Plan, arguments: Sequence[Argument]) -> list[Any]:
    parameters = plan.entry.parameters
    if len(parameters) != len(arguments):
        raise UsageError(f"kernel {plan.entry.name} takes {len(parameters)} arguments, {len(arguments)} were given")
    return [_value(type_, argument) for type_, argument in zip(parameters, arguments, strict=True)]


def _value(type_: Attribute, argument: Argument) -> Any:
    if isinstance(argument, PointerArgument):
        return _pointer(argument)
    if isinstance(argument, DescriptorArgument):
        return _descriptor(type_, argument)
    dtype = numpy_dtype(element(type_))
    if dtype.kind != "i":
        return np.array([argument]).astype(dtype)
    bits = dtype.itemsize * 8
    number = int(argument) & ((1 << bits) - 1)
    return np.array([number - (1 << bits) if number >> (bits - 1) else number], dtype)


def _pointer(argument: PointerArgument) -> Pointer:
    return Pointer(argument.allocation, np.array([argument.byte_offset], np.int64))


def _descriptor(type_: Attribute, argument: DescriptorArgument) -> Descriptor:
    block = descriptor_block(type_)
    shape = tuple(np.array([n], np.int64) for n in argument.shape)
    strides = tuple(np.array([n], np.int64) for n in argument.strides)
    base = _pointer(argument.base)
    return Descriptor(base, element(block), item_bytes(block), shape, strides, extents(block), argument.padding)


# --- batches -----------------------------------------------------------------------------------------------------


def batch_size(widest: int, grid: tuple[int, int, int], elements: int) -> int:
    """Programs in one batch: enough for `elements` of the widest value; whole rows of the grid where they fit."""
    programs = max(1, elements // widest)
    total = grid[0] * grid[1] * grid[2]
    if programs >= total:
        return total
    if programs > grid[0]:
        return programs // grid[0] * grid[0]
    return programs


def batches(total: int, size: int) -> Iterator[tuple[int, int]]:
    """(first, past the last) of each batch."""
    for first in range(0, total, size):
        yield first, min(total, first + size)


def _keep(result: LaunchResult, returned: list[Any]) -> None:
    if returned:
        result.returned.append(returned)


def _run_batches(
    plan: Plan,
    grid: tuple[int, int, int],
    values: list[Any],
    memory: Memory,
    options: ExecutorOptions,
    result: LaunchResult,
    shadow: Shadow | None,
) -> None:
    elements = options.batch_elements * (_PRODUCT_BATCH if plan.multiplies else 1)
    if shadow is not None:
        elements = min(elements, _FULL_CHECK_ELEMENTS)
    total = result.programs
    size = 1 if plan.partitioned else batch_size(plan.widest, grid, elements)
    ranges = list(batches(total, size))

    first = Context(ids_of(grid, 0, 1), grid, memory, options, result)
    frame = prepared(plan.entry, first, values)

    def run(bounds: tuple[int, int], own: LaunchResult, pool: Pool) -> None:
        context = Context(ids_of(grid, *bounds), grid, memory, options, own, shadow, pool=pool)
        _keep(own, run_function(plan.entry, context, list(frame)))
        context.local.finish(context)

    if options.threads < 2 or len(ranges) < 2 or plan.ordered or shadow is not None:
        pool = Pool()
        for bounds in ranges:
            run(bounds, result, pool)
        return
    run_threads(run, ranges, options.threads, result)


def run_threads(
    run: Callable[[tuple[int, int], LaunchResult, Pool], None],
    ranges: list[tuple[int, int]],
    threads: int,
    result: LaunchResult,
) -> None:
    """Batches on threads. Of several errors the one of the lowest program is raised, as without threads."""
    pools = [Pool() for _ in range(threads)]

    def work(bounds: tuple[int, int]) -> LaunchResult:
        own, pool = LaunchResult(0), pools.pop()
        try:
            with np.errstate(all="ignore"):
                run(bounds, own, pool)
        finally:
            pools.append(pool)
        return own

    error: HarnessError | None = None
    with ThreadPoolExecutor(threads) as executor:
        for future in [executor.submit(work, bounds) for bounds in ranges]:
            try:
                own = future.result()
            except HarnessError as raised:
                error = error or raised
                continue
            result.loads |= own.loads
            result.stores |= own.stores
            result.output.extend(own.output)
            result.returned.extend(own.returned)
    if error is not None:
        raise error


# --- programs that wait for one another ---------------------------------------------------------------------------


def _run_cooperatively(
    plan: Plan,
    grid: tuple[int, int, int],
    values: list[Any],
    memory: Memory,
    options: ExecutorOptions,
    result: LaunchResult,
    shadow: Shadow | None,
) -> None:
    """One program at a time, in order; one that goes round a waiting loop lets the next one run.

    Raises Deadlock when no program finishes any more: all went round their loops with the values they had and
    changed nothing, so they always will; or, for loops that count, nothing happened for `max_turns` turns.
    """
    scheduler = getcurrent()

    def program(number: int) -> None:
        with np.errstate(all="ignore"):
            ids = ids_of(grid, number, number + 1)
            context = Context(ids, grid, memory, options, result, shadow, pause=scheduler.switch)
            _keep(result, call_function(plan.entry, context, values))
            context.local.finish(context)

    waiting: deque[tuple[int, greenlet]] = deque()
    started, turns, idle = 0, 0, 0
    while started < result.programs or waiting:
        if started < result.programs:
            number, current = started, greenlet(program)
            turn = current.switch(number)
            started += 1
        else:
            number, current = waiting.popleft()
            turn = current.switch()
        moved = current.dead or turn is Turn.CHANGED
        turns = 0 if moved else turns + 1
        idle = idle + 1 if turn is Turn.IDLE and not current.dead else 0
        if not current.dead:
            waiting.append((number, current))
        stuck = idle > len(waiting) and started == result.programs
        if stuck or turns > options.max_turns:
            number, current = waiting[0]
            x, y, z = (int(axis[0]) for axis in ids_of(grid, number, number + 1))
            current.throw(deadlock(len(waiting), (x, y, z)))  # there, where the loop's line is known


def deadlock(waiting: int, program: tuple[int, int, int]) -> Deadlock:
    """The trap for that many programs of which none ends any more, told of one of them."""
    if waiting == 1:
        what = f"program {program} waits for what nobody does"
        return Deadlock(what, hint="it goes round a loop that nothing ends", program=program)
    what = f"{waiting} programs wait for one another, program {program} here"
    return Deadlock(what, hint="each goes round a loop that nothing ends", program=program)
