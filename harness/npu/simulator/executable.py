"""A program ready to run: its blocks as lists of steps, with the checks that its text could not rule out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from harness.errors import HarnessError, IllegalInstruction, ScratchpadFault, Trap, UsageError
from harness.npu.isa.disassembly import instruction_text
from harness.npu.isa.program import Instruction, Program
from harness.npu.machine import Machine
from harness.npu.simulator import ops_dma, ops_fold, ops_matrix, ops_scalar, ops_vector
from harness.npu.simulator.analysis import Analysis, Places, analysed, is_synchronising
from harness.npu.simulator.layout import Layout, View
from harness.npu.simulator.loader import STEPS, Loader, Read, Step, trapping
from harness.npu.simulator.state import Live, State
from harness.semantics.types import Array

_FLOW = frozenset({"halt", "jump", "branch"})
_ORDERED = frozenset({"atomic", "compare_and_swap", "print"})
_LEAST_TILE_OPCODE = 32
Observe = Callable[[State, int], None]
MODULES = (ops_dma, ops_fold, ops_matrix, ops_scalar, ops_vector)  # which register the steps


@dataclass
class Block:
    """Steps one after the other, the instruction of each, and what comes then.

    ends   "halt", "jump", "branch", "fall" (into the next block) or "off" (the end of the program)
    """

    steps: list[Step]
    pcs: list[int]
    ends: str
    end_pc: int
    successors: tuple[int, ...]
    condition: Read | None = None


@dataclass
class Executable:
    """`results` reads, per instruction that writes tiles, what it wrote: (P, *extents) each."""

    program: Program
    machine: Machine
    layout: Layout
    views: Sequence[View]
    places: Places
    blocks: list[Block]
    live: list[Live]
    analysis: Analysis
    results: dict[int, tuple[Read, ...]] = field(default_factory=dict)

    @property
    def spins(self) -> bool:
        return bool(self.analysis.spins)

    @property
    def ordered(self) -> bool:
        """Whether programs see one another's atomics or prints: their batches must run in order."""
        return any(instruction.opcode in _ORDERED for instruction in self.program.instructions)

    @property
    def multiplies(self) -> bool:
        """Whether there are matrix products, whose loops cost the same for twice the programs."""
        return any(instruction.opcode in ("matmul", "matmul_scaled") for instruction in self.program.instructions)

    @property
    def synchronises(self) -> bool:
        return any(is_synchronising(instruction) for instruction in self.program.instructions)

    def observed(self, observe: Observe) -> list[Block]:
        """The blocks, each instruction that writes tiles telling `observe`; transfers tell it themselves."""
        return [self._observed(block, observe) for block in self.blocks]

    def _observed(self, block: Block, observe: Observe) -> Block:
        steps = [
            _telling(step, pc, observe) if pc in self.results and not _is_load(self.program.instructions[pc]) else step
            for step, pc in zip(block.steps, block.pcs, strict=True)
        ]
        return Block(steps, block.pcs, block.ends, block.end_pc, block.successors, block.condition)

    def name(self, pc: int) -> str:
        """An instruction for messages."""
        return f"instruction {pc}: {instruction_text(self.program, pc)}"


def _is_load(instruction: Instruction) -> bool:
    return instruction.opcode in ("dma_load", "dma_gather")


def _telling(step: Step, pc: int, observe: Observe) -> Step:
    def run(state: State) -> None:
        step(state)
        observe(state, pc)

    return run


def load_program(program: Program, machine: Machine) -> Executable:
    """Resolves a decoded program for a machine.

    Raises UsageError where the program was compiled for another number of lanes. An instruction that cannot be
    carried out is no error here: programs trap when they reach it.
    """
    if program.lanes != machine.lanes:
        raise UsageError(
            f"program {program.name} was compiled for {program.lanes} lanes, machine {machine.name} has "
            f"{machine.lanes}",
            hint="compile the kernel for this machine",
        )
    loader = Loader(program, machine)
    steps: list[Step | None] = []
    conditions: dict[int, Read] = {}
    broken: set[int] = set()
    for pc, instruction in enumerate(program.instructions):
        try:
            steps.append(_step(loader, pc, instruction, conditions))
        except HarnessError as error:
            broken.add(pc)
            trap = error if isinstance(error, Trap) else IllegalInstruction(error.what)
            steps.append(trapping(trap))
    places = Places(loader.tiles, loader.layout, max(0, program.registers))
    analysis = analysed(program, places, frozenset(broken))
    for pc in range(len(steps)):
        steps[pc] = _checked(steps[pc], pc, analysis, places, program)
    blocks = [_block(block.start, block.end, block.successors, program, steps, conditions) for block in analysis.blocks]
    live = [_live(mask, places) for mask in analysis.live]
    results = {
        pc: tuple(loader.read(result, 0) for result in instruction.results)
        for pc, instruction in enumerate(program.instructions)
        if pc not in broken and instruction.results and _writes_tiles(instruction)
    }
    return Executable(program, machine, loader.layout, loader.views, places, blocks, live, analysis, results)


def _writes_tiles(instruction: Instruction) -> bool:
    from harness.npu.isa.opcodes import OPCODES

    return OPCODES[instruction.opcode].number >= _LEAST_TILE_OPCODE


def _step(loader: Loader, pc: int, instruction: Instruction, conditions: dict[int, Read]) -> Step | None:
    """The step, or None for what only decides where programs go."""
    if instruction.opcode not in _FLOW:
        return loader.step(pc)
    loader.check_form(instruction)
    if instruction.opcode == "halt":
        return None
    target = instruction.immediates[0]
    loader.expect(0 <= target < len(loader.program.instructions), f"the target {target} is outside the program")
    if instruction.opcode == "branch":
        conditions[pc] = loader.scalar(instruction.operands[0])
    return None


def _block(
    start: int,
    end: int,
    successors: tuple[int, ...],
    program: Program,
    steps: Sequence[Step | None],
    conditions: dict[int, Read],
) -> Block:
    last = program.instructions[end - 1].opcode
    present = [(step, pc) for pc in range(start, end) if (step := steps[pc]) is not None]
    ends = last if last in _FLOW else "fall" if successors else "off"
    if (ends in ("jump", "branch") and not successors) or (ends == "branch" and end - 1 not in conditions):
        ends = "off"  # its target is outside: its step traps
    return Block([s for s, _ in present], [pc for _, pc in present], ends, end - 1, successors, conditions.get(end - 1))


def _live(mask: int, places: Places) -> Live:
    parts = tuple(number for number, part in enumerate(places.parts) if part & mask)
    return Live(frozenset(places.registers(mask)), parts)


# --- checks while a program runs ----------------------------------------------------------------------------------


def _checked(step: Step | None, pc: int, analysis: Analysis, places: Places, program: Program) -> Step | None:
    """The step after the checks that it needs; None where there is nothing to do."""
    effect = analysis.effects[pc]
    if analysis.unproven:
        reads = places.numbers(effect.reads) if pc in analysis.unproven else None
        step = _tracking(step, reads, places.numbers(effect.writes), places)
    met = analysis.conflicts.get(pc)
    if met:
        step = _meeting(step, met, program)
    return step


def _tracking(step: Step | None, reads: Array | None, writes: Array, places: Places) -> Step | None:
    if reads is None and not writes.size:
        return step

    def run(state: State) -> None:
        known = state.known
        assert known is not None
        if reads is not None and not known[:, reads].all():
            _raise_unknown(state, known, reads, places)
        if step is not None:
            step(state)
        known[:, writes] = True

    return run


def _raise_unknown(state: State, known: Array, reads: Array, places: Places) -> None:
    lacks = ~known[:, reads]
    row = int(lacks.any(axis=1).argmax())
    place = int(reads[int(lacks[row].argmax())])
    program = state.context.program_of(row)
    if places.is_register(place):
        what = f"register {places.register(place)} is read by program {program}, and nobody wrote it"
        raise IllegalInstruction(what, program=program)
    raise ScratchpadFault(f"program {program} reads scratchpad bytes that nobody wrote", program=program)


def _meeting(step: Step | None, met: frozenset[int], program: Program) -> Step:
    def run(state: State) -> None:
        for tag, transfers in state.underway.items():
            for transfer in transfers:
                if transfer.pc in met:
                    _raise_underway(state, transfer.pc, tag, program)
        if step is not None:
            step(state)

    return run


def _raise_underway(state: State, pc: int, tag: int, program: Program) -> None:
    who = state.context.program_of(0)
    raise ScratchpadFault(
        f"program {who} touches scratchpad bytes of a transfer under way, which nobody waited for (tag {tag}, "
        f"started by instruction {pc}: {instruction_text(program, pc)})",
        program=who,
    )


def fresh_known(executable: Executable, programs: int) -> Array | None:
    """What is known at the start of a program, where anybody asks: nothing."""
    if not executable.analysis.unproven:
        return None
    return np.zeros((programs, executable.places.count), np.bool_)


__all__ = ["STEPS", "Block", "Executable", "fresh_known", "load_program"]
