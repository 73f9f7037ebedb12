"""Runs a program over a grid: in batches, on threads where programs are independent, in turns where they wait."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from harness.errors import UsageError
from harness.executor.api import Argument, DescriptorArgument, ExecutorOptions, LaunchResult, PointerArgument
from harness.executor.checks import Shadow
from harness.executor.context import Context, Turn
from harness.executor.launch import batch_size, batches, deadlock, ids_of, run_threads
from harness.executor.memory import Allocation, Memory
from harness.executor.pool import Pool
from harness.npu.simulator.analysis import LINE
from harness.npu.simulator.bank import Store
from harness.npu.simulator.engine import placed, run_batch, run_block
from harness.npu.simulator.executable import Block, Executable, fresh_known
from harness.npu.simulator.functions import ADDRESS_BITS, TAG_SHIFT
from harness.npu.simulator.state import Launch, Live, State
from harness.semantics import numpy_dtype
from harness.semantics.types import Array

Observer = Callable[[int, Array, Sequence[Array]], None]

_BATCH_BYTES = 8  # of scratchpads, for each element that the options aim at
_PRODUCT_BATCH = 4  # times the batch of other kernels
_FULL_CHECK_ELEMENTS = 1 << 16  # remembering every byte costs memory
_MOST_BUFFERS = (1 << 15) - 1


def simulate(
    executable: Executable,
    grid: tuple[int, int, int],
    arguments: Sequence[Argument],
    memory: Memory,
    options: ExecutorOptions | None = None,
    observer: Observer | None = None,
    branches: dict[int, tuple[int, int]] | None = None,
) -> LaunchResult:
    """Runs every program of `grid` (x, y, z). `arguments` are the kernel function's own parameters, in order.

    `observer(pc, programs, values)` is called after each instruction that writes tiles (a transfer: when it has
    happened) with the numbers of the programs (x fastest) and what each of its results holds, (P, *extents): views
    of the scratchpads, to be copied by who keeps them.

    `branches` is filled with, by the instruction of each branch, how many programs took it and how many did not,
    trip by trip: the profile that timing needs where the way through a kernel depends on values.

    Raises a Trap where a program cannot go on; UsageError where arguments do not fit the program.
    """
    options = options or ExecutorOptions()
    if branches is not None:
        options = replace(options, threads=1)
    total = grid[0] * grid[1] * grid[2]
    result = LaunchResult(total)
    run = _Run(executable, grid, memory, options, _launch(executable, arguments, memory, options, observer))
    run.launch = replace(run.launch, branches=branches)
    if total == 0:
        return result
    if observer is not None:
        run.blocks = executable.observed(_observe(executable, observer))
    if options.checks == "full":
        run.shadow = Shadow(grid, executable.synchronises)
    with np.errstate(all="ignore"):
        if executable.spins:
            _run_in_turns(run, result)
        else:
            _run_batches(run, result, one_by_one=observer is not None)
    if run.shadow is not None:
        result.findings.extend(run.shadow.findings.values())
        result.writers.update(run.shadow.writers())
    return result


def _observe(executable: Executable, observer: Observer) -> Callable[[State, int], None]:
    def observe(state: State, pc: int) -> None:
        reads = executable.results.get(pc)
        if reads:
            observer(pc, state.context.linear_ids(), [read(state) for read in reads])

    return observe


# --- arguments ------------------------------------------------------------------------------------------------


def _launch(
    executable: Executable,
    arguments: Sequence[Argument],
    memory: Memory,
    options: ExecutorOptions,
    observer: Observer | None,
) -> Launch:
    program = executable.program
    if len(program.arguments) != len(arguments):
        raise UsageError(f"kernel {program.name} takes {len(program.arguments)} arguments, {len(arguments)} were given")
    buffers = list(memory.allocations)
    bound = tuple(
        _bound(number, element, argument, buffers)
        for number, (element, argument) in enumerate(zip(program.arguments, arguments, strict=True))
    )
    if len(buffers) > _MOST_BUFFERS:
        raise UsageError(f"{len(buffers)} buffers are more than the {_MOST_BUFFERS} that pointers can tell apart")
    tracks = options.copies == "latest" or bool(executable.analysis.conflicts)
    observe = None if observer is None else _observe(executable, observer)
    return Launch(bound, tuple(buffers), tracks, observe)


def _bound(number: int, element: str, argument: Argument, buffers: list[Allocation]) -> tuple[Array, ...]:
    """The parts of an argument; a buffer that no memory knows is added to the list."""
    if isinstance(argument, (PointerArgument, DescriptorArgument)) != (element == "ptr"):
        raise UsageError(f"argument {number} is a {type(argument).__name__}, the kernel takes {element}")
    if isinstance(argument, DescriptorArgument):
        return _tagged(argument.base, buffers), np.array([argument.padding == "nan"])
    if isinstance(argument, PointerArgument):
        return (_tagged(argument, buffers),)
    dtype = numpy_dtype(element)
    if dtype.kind != "i":
        return (np.array([argument]).astype(dtype),)
    bits = dtype.itemsize * 8
    value = int(argument) & ((1 << bits) - 1)
    return (np.array([value - (1 << bits) if value >> (bits - 1) else value], dtype),)


def _tagged(pointer: PointerArgument, buffers: list[Allocation]) -> Array:
    allocation = pointer.allocation
    tag = next((number + 1 for number, known in enumerate(buffers) if known is allocation), None)
    if tag is None:
        buffers.append(allocation)
        tag = len(buffers)
    address = allocation.address + pointer.byte_offset
    if not 0 <= address <= ADDRESS_BITS:
        raise UsageError(f"buffer {allocation.name!r} lies at {address:#x}, beyond what a pointer can say")
    return np.array([(tag << TAG_SHIFT) + address], np.int64)


# --- batches -----------------------------------------------------------------------------------------------------


@dataclass
class _Run:
    """A launch under way. `stores` are scratchpads that no batch uses now."""

    executable: Executable
    grid: tuple[int, int, int]
    memory: Memory
    options: ExecutorOptions
    launch: Launch
    shadow: Shadow | None = None
    blocks: list[Block] = field(default_factory=list)
    stores: list[Store] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.blocks = self.blocks or self.executable.blocks

    def state(self, context: Context, store: Store) -> State:
        programs = context.programs
        bank = store.bank(0, 1, programs)
        registers: list[Any] = [None] * self.executable.program.registers
        state = State(bank, registers, context, np.arange(programs), self.launch)
        state.known = fresh_known(self.executable, programs)
        return state

    def store(self, programs: int) -> Store:
        return Store(self.executable.layout, self.executable.views, programs)


def _run_batches(run: _Run, result: LaunchResult, one_by_one: bool) -> None:
    executable, options, total = run.executable, run.options, result.programs
    elements = options.batch_elements * _BATCH_BYTES * (_PRODUCT_BATCH if executable.multiplies else 1)
    if run.shadow is not None:
        elements = min(elements, _FULL_CHECK_ELEMENTS * _BATCH_BYTES)
    size = batch_size(max(1, executable.places.lines * LINE), run.grid, elements)
    ranges = list(batches(total, size))

    def batch(bounds: tuple[int, int], own: LaunchResult, pool: Pool) -> None:
        context = Context(ids_of(run.grid, *bounds), run.grid, run.memory, options, own, run.shadow, pool=pool)
        store = run.stores.pop() if run.stores else run.store(size)
        run_batch(executable, run.blocks, run.state(context, store))
        run.stores.append(store)

    if options.threads < 2 or len(ranges) < 2 or executable.ordered or run.shadow is not None or one_by_one:
        pool = Pool()
        for bounds in ranges:
            batch(bounds, result, pool)
        return
    run_threads(batch, ranges, options.threads, result)


# --- programs that wait for one another ---------------------------------------------------------------------------


@dataclass
class _Waiting:
    """A program between two turns. `seen`: per back edge, its values the last time that it went round. `pc`: the
    instruction that took it round."""

    block: int
    state: State
    pc: int = 0
    seen: dict[int, tuple[bytes, ...]] = field(default_factory=dict)


def _run_in_turns(run: _Run, result: LaunchResult) -> None:
    """One program at a time, in order; one that goes round a waiting loop lets the next one run.

    Raises Deadlock when no program finishes any more: all went round their loops with the values they had and
    changed nothing, so they always will; or, for loops that count, nothing happened for `max_turns` turns.
    """
    waiting: deque[_Waiting] = deque()
    started, turns, idle = 0, 0, 0
    while started < result.programs or waiting:
        if started < result.programs:
            current = _Waiting(0, _started(run, started, result))
            started += 1
        else:
            current = waiting.popleft()
        turn = _turn(run, current)
        moved = turn is None or turn is Turn.CHANGED
        turns = 0 if moved else turns + 1
        idle = idle + 1 if turn is Turn.IDLE else 0
        if turn is not None:
            waiting.append(current)
        stuck = idle > len(waiting) and started == result.programs
        if stuck or turns > run.options.max_turns:
            stuck_one = waiting[0]
            error = deadlock(len(waiting), stuck_one.state.context.program_of(0))
            raise placed(run.executable, stuck_one.pc, stuck_one.state, error)


def _started(run: _Run, number: int, result: LaunchResult) -> State:
    ids = ids_of(run.grid, number, number + 1)
    context = Context(
        ids, run.grid, run.memory, run.options, result, run.shadow, pause=_never
    )  # says to note what changed
    return run.state(context, run.store(1))


def _never(turn: Turn) -> None:
    raise AssertionError("programs of the machine take turns between blocks")


def _turn(run: _Run, current: _Waiting) -> Turn | None:
    """Runs a program until it has gone round a waiting loop; None when it has ended."""
    spins, state = run.executable.analysis.spins, current.state
    while True:
        number = current.block
        ways = run_block(run.executable, run.blocks, number, state)
        if not ways:
            return None
        ((current.block, state),) = ways
        if number in spins and current.block <= number:
            break
    current.pc = run.blocks[number].end_pc
    values = _values(state, run.executable.live[current.block])
    same = current.seen.get(number) == values
    current.seen[number] = values
    context = state.context
    turn = Turn.CHANGED if context.changed else Turn.IDLE if same else Turn.BUSY
    context.changed = False
    return turn


def _values(state: State, live: Live) -> tuple[bytes, ...]:
    registers = (state.registers[number] for number in sorted(live.registers))
    return (
        *(b"" if values is None else values.tobytes() for values in registers),
        *(state.bank.rows(part).tobytes() for part in live.parts),
    )
