"""From a decoded program to steps: everything that an instruction's text decides is decided here, once.

A module of instructions registers, per opcode, a function `(loader, pc, instruction) -> Step`. What is wrong with an
instruction is no error of loading: the step traps when a program reaches it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from harness.cases.location import SourceLocation
from harness.errors import IllegalInstruction, Trap
from harness.npu.isa.opcodes import OPCODES
from harness.npu.isa.program import Constant, Formal, Function, Instruction, Operand, Program, Register, Tile
from harness.npu.machine import Machine
from harness.npu.simulator.functions import Combine, Meaning, combine_function, constant_value, meaning
from harness.npu.simulator.layout import Layout, View, fault_of, is_merged
from harness.npu.simulator.state import State, register_value
from harness.semantics import numpy_dtype
from harness.semantics.types import Array

Step = Callable[[State], None]
Read = Callable[[State], Array]
Write = Callable[[State, Array], None]
StepMaker = Callable[["Loader", int, Instruction], Step]
STEPS: dict[str, StepMaker] = {}


def opcode(*names: str) -> Callable[[StepMaker], StepMaker]:
    """Registers the step maker of the opcodes."""

    def register(maker: StepMaker) -> StepMaker:
        for name in names:
            STEPS[name] = maker
        return maker

    return register


class Loader:
    """Makes the steps of one program."""

    def __init__(self, program: Program, machine: Machine) -> None:
        self.program, self.machine = program, machine
        self.lanes = machine.lanes
        self._faults = {
            tile: fault_of(tile, program, machine)
            for instruction in program.instructions
            for tile in (*instruction.results, *instruction.operands)
            if isinstance(tile, Tile)
        }
        self.tiles = [tile for tile, fault in self._faults.items() if fault is None]
        self.layout = Layout(self.tiles, machine.lanes)
        self.views: list[View] = []
        self._view_numbers: dict[tuple[Tile, int | None], int] = {}
        self._written = _written_types(program)

    # --- checks --------------------------------------------------------------------------------------------

    def step(self, pc: int) -> Step:
        """The step of an instruction. Raises a Trap for what is wrong with it."""
        instruction = self.program.instructions[pc]
        maker = STEPS.get(instruction.opcode)
        if maker is None:
            raise IllegalInstruction(f"no step does {instruction.opcode!r}")
        self.check_form(instruction)
        return maker(self, pc, instruction)

    def check_form(self, instruction: Instruction) -> None:
        """Raises a Trap where the instruction has not the places of its opcode, or names what is not there."""
        format_ = OPCODES.get(instruction.opcode)
        if format_ is None:
            raise IllegalInstruction(f"no opcode is called {instruction.opcode!r}")
        _check_places(format_.name, "results", format_.results, instruction.results)
        _check_places(format_.name, "operands", format_.operands, instruction.operands)
        if len(instruction.immediates) != len(format_.immediates):
            raise IllegalInstruction(f"{format_.name} has {len(format_.immediates)} immediates")
        for operand in (*instruction.results, *instruction.operands):
            self._check_operand(operand)

    def _check_operand(self, operand: Operand | None) -> None:
        if isinstance(operand, Tile):
            fault = self._faults[operand]
            if fault is not None:
                raise fault
        elif isinstance(operand, Register):
            count = min(self.program.registers, self.machine.scalar.registers)
            if not 0 <= operand.number < count:
                raise IllegalInstruction(
                    f"register {operand.number}: the program uses {self.program.registers}, "
                    f"the machine has {self.machine.scalar.registers}"
                )
            numpy_dtype(operand.element)
        elif isinstance(operand, Constant):
            constant_value(operand)
        elif isinstance(operand, Formal):
            raise IllegalInstruction("a formal outside a combiner")

    def expect(self, holds: bool, what: str) -> None:
        """Raises IllegalInstruction where it does not hold."""
        if not holds:
            raise IllegalInstruction(what)

    def tile(self, operand: Operand | None, what: str) -> Tile:
        if not isinstance(operand, Tile):
            raise IllegalInstruction(f"{what} is no tile")
        return operand

    def where(self, pc: int) -> SourceLocation | None:
        return self.program.origins[pc].where if pc < len(self.program.origins) else None

    # --- tables ------------------------------------------------------------------------------------------------

    def function(self, number: int) -> tuple[Function, Meaning]:
        if not 0 <= number < len(self.program.functions):
            raise IllegalInstruction(f"function {number} of a table of {len(self.program.functions)}")
        function = self.program.functions[number]
        return function, meaning(function)

    def combiner(self, number: int, rank: int) -> Combine:
        if not 0 <= number < len(self.program.combiners):
            raise IllegalInstruction(f"combiner {number} of a table of {len(self.program.combiners)}")
        return combine_function(self.program.combiners[number], self.program, rank)

    def text(self, number: int) -> str:
        if not 0 <= number < len(self.program.texts):
            raise IllegalInstruction(f"text {number} of a table of {len(self.program.texts)}")
        return self.program.texts[number]

    # --- operands ----------------------------------------------------------------------------------------------

    def view(self, tile: Tile, split: int | None = None) -> int:
        """The number of a tile's view; `split` names the axis that counts as two, runs and lanes."""
        key = tile, split
        if key not in self._view_numbers:
            self._view_numbers[key] = len(self.views)
            self.views.append(self.layout.view(tile, split))
        return self._view_numbers[key]

    def scalar(self, operand: Operand | None) -> Read:
        """(P|1,) of a register or constant."""
        if isinstance(operand, Constant):
            value = constant_value(operand)
            return lambda state: value
        if not isinstance(operand, Register):
            raise IllegalInstruction("an operand that has to be a register or a constant")
        number, dtype = operand.number, numpy_dtype(operand.element)
        if self._written.get(number) == {operand.element}:
            return lambda state: state.registers[number]
        return lambda state: register_value(state.registers[number], dtype)

    def optional(self, operand: Operand | None) -> Read | None:
        return None if operand is None else self.scalar(operand)

    def spread(self, operand: Operand | None, rank: int) -> Read:
        """A register or constant as (P|1, 1, ...), of `rank` more axes."""
        read = self.scalar(operand)
        if isinstance(operand, Constant):
            value = constant_value(operand).reshape((1,) * (rank + 1))
            return lambda state: value
        shape = (-1, *(1,) * rank)
        return lambda state: read(state).reshape(shape)

    def read(self, operand: Operand | None, rank: int) -> Read:
        """A tile as (P, *extents), a register or constant as (P|1, 1, ...) of `rank` more axes."""
        if not isinstance(operand, Tile):
            return self.spread(operand, rank)
        if is_merged(operand, self.lanes):
            number = self.view(operand)
            return lambda state: state.views[number]
        number, extents = self.view(operand, operand.lane_axis), operand.extents
        return lambda state: state.views[number].reshape(-1, *extents)

    def write(self, operand: Operand) -> Write:
        """Writes (P|1, *extents), or (P|1,) of a register."""
        if isinstance(operand, Register):
            number = operand.number

            def to_register(state: State, values: Array) -> None:
                state.registers[number] = values.reshape(-1)

            return to_register
        tile = self.tile(operand, "a result")
        if is_merged(tile, self.lanes):
            place = self.view(tile)

            def to_tile(state: State, values: Array) -> None:
                state.views[place][...] = values

            return to_tile
        place, extents = self.view(tile, tile.lane_axis), tile.extents

        def to_runs(state: State, values: Array) -> None:
            view = state.views[place]
            full = np.broadcast_to(values, (values.shape[0], *extents))
            view[...] = full.reshape(values.shape[0], *view.shape[1:])

        return to_runs


def _check_places(name: str, kind: str, format_: Sequence[str], operands: Sequence[Any]) -> None:
    """Whether there are as many operands as places; which are absent only where they may be."""
    if any(place.endswith("*") for place in format_):
        return
    optional = sum(place.endswith("?") for place in format_)
    least = len(format_) - (optional if kind == "results" else 0)
    if not least <= len(operands) <= len(format_):
        raise IllegalInstruction(f"{name} has {len(operands)} {kind} instead of {len(format_)}")
    for place, operand in zip(format_, operands, strict=False):
        if operand is None and not place.endswith("?"):
            raise IllegalInstruction(f"{name} lacks its {place}")


def _written_types(program: Program) -> dict[int, set[str]]:
    """The element types that each register is written as."""
    written: dict[int, set[str]] = {}
    for instruction in program.instructions:
        for result in instruction.results:
            if isinstance(result, Register):
                written.setdefault(result.number, set()).add(result.element)
    return written


def trapping(error: Trap) -> Step:
    """The step of an instruction that cannot be carried out."""

    def trap(state: State) -> None:
        raise type(error)(error.what, error.where, error.hint, state.context.program_of(0))

    return trap
