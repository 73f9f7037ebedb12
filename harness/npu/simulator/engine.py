"""Runs the blocks of a program: all programs of a batch together, those that went different ways meeting again.

Programs at the lowest instruction go first, so that the ways of structured code join where it joins.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from harness.cases.location import SourceLocation
from harness.errors import Deadlock, HarnessError, IllegalInstruction, Trap
from harness.executor.api import is_to_be_told
from harness.executor.context import Context
from harness.npu.simulator.executable import Block, Executable
from harness.npu.simulator.state import State, joined
from harness.semantics.types import Array

Way = tuple[int, State]


class SimulatorBug(HarnessError):
    """An unexpected Python error inside a step: ours, not the kernel's."""


def run_batch(executable: Executable, blocks: Sequence[Block], state: State) -> None:
    """Runs the programs of a state to their ends."""
    whole = state.context
    waiting: dict[int, list[State]] = {}
    number = 0
    while True:
        ways = run_block(executable, blocks, number, state)
        if len(ways) == 1 and not waiting:
            number, state = ways[0]
            continue
        for target, other in ways:
            waiting.setdefault(target, []).append(other)
        if not waiting:
            return
        number = min(waiting)
        state = _next(executable, waiting, number, whole)


def _next(executable: Executable, waiting: dict[int, list[State]], number: int, whole: Context) -> State:
    """The programs that wait at a block, as one state; those that have other transfers under way keep waiting."""
    states = waiting.pop(number)
    if len(states) == 1:
        return states[0]
    schedule = states[0].schedule
    alike = [state for state in states if state.schedule == schedule]
    if len(alike) < len(states):
        waiting[number] = [state for state in states if state.schedule != schedule]
    return alike[0] if len(alike) == 1 else joined(alike, executable.live[number], whole)


def run_block(executable: Executable, blocks: Sequence[Block], number: int, state: State) -> list[Way]:
    """Runs one block; where its programs go from there, nothing where they have ended."""
    block = blocks[number]
    pcs, index = block.pcs, 0
    try:
        for index, step in enumerate(block.steps):  # noqa: B007
            step(state)
        index = len(pcs)
        if block.ends == "halt":
            state.end_all()
            return []
        return _ways(executable, block, number, state)
    except (MemoryError, KeyboardInterrupt):
        raise
    except Exception as error:
        pc = state.blamed if state.blamed is not None else pcs[index] if index < len(pcs) else block.end_pc
        raise placed(executable, pc, state, error) from (None if isinstance(error, HarnessError) else error)


def placed(executable: Executable, pc: int, state: State, error: Exception) -> HarnessError:
    """The error with the instruction and its line."""
    origins = executable.program.origins
    where = origins[pc].where if pc < len(origins) else None
    name = executable.name(pc)
    if not isinstance(error, HarnessError):
        what = f"the simulator failed in {name}: {type(error).__name__}: {error}"
        return SimulatorBug(what, where, "this is a fault of the harness, not of the kernel")
    error.where = error.where or where
    if isinstance(error, Trap):
        error.program = error.program or state.context.program_of(0)
        error.hint = f"{error.hint}; {name}" if error.hint else name
    return error


def _ways(executable: Executable, block: Block, number: int, state: State) -> list[Way]:
    if block.ends == "off":
        raise IllegalInstruction("the program goes on after its last instruction")
    if block.condition is None:
        return [_arrival(executable, block.successors[0], number, state)]
    taken = block.condition(state) != 0
    if state.launch.branches is not None:
        _count(state, block.end_pc, taken)
    target = block.successors[0]
    beyond = block.successors[1] if len(block.successors) > 1 else None
    if taken.size == 1 or taken.all() or not taken.any():
        way = target if taken.reshape(-1)[0] else beyond
        if way is None:
            raise IllegalInstruction("the program goes on after its last instruction")
        return [_arrival(executable, way, number, state)]
    if beyond is None:
        raise IllegalInstruction("the program goes on after its last instruction")
    ways: list[Way] = []
    for way, chosen in ((target, np.flatnonzero(taken)), (beyond, np.flatnonzero(~taken))):
        part = state.subset(chosen, executable.live[way])
        ways.append(_arrival(executable, way, number, part))
    return ways


def _count(state: State, pc: int, taken: Array) -> None:
    programs, counts = state.positions.size, state.launch.branches
    assert counts is not None
    went = int(taken.sum()) if taken.size == programs else programs * int(taken.reshape(-1)[0])
    before = counts.get(pc, (0, 0))
    counts[pc] = (before[0] + went, before[1] + programs - went)


def _tell(executable: Executable, number: int, in_loop: Callable[[SourceLocation], None]) -> None:
    """The line of the jump that closes the loop."""
    pc, origins = executable.blocks[number].end_pc, executable.program.origins
    where = origins[pc].where if pc < len(origins) else None
    if where is not None:
        in_loop(where)


def _arrival(executable: Executable, target: int, number: int, state: State) -> Way:
    """Counts the trips of loops."""
    if target <= number:
        state.steps += 1
        if state.context.options.in_loop is not None and is_to_be_told(state.steps):
            _tell(executable, number, state.context.options.in_loop)
        if state.steps > state.context.options.max_steps:
            raise Deadlock(
                f"a loop ran more than {state.context.options.max_steps} iterations",
                hint="the watchdog stopped it; the kernel waits for something that never comes",
                program=state.context.program_of(0),
            )
    return target, state
