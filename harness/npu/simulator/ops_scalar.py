"""Scalar instructions: arguments, program ids, arithmetic on registers, assertions and prints."""

from __future__ import annotations

import numpy as np

from harness.errors import IllegalInstruction
from harness.executor.ops_control import check_assertion, print_lines
from harness.npu.isa.program import Instruction, Register, Tile
from harness.npu.simulator.functions import element_of
from harness.npu.simulator.loader import Loader, Step, opcode
from harness.npu.simulator.state import State
from harness.semantics import numpy_dtype


def _target(instruction: Instruction) -> Register:
    (result,) = instruction.results
    if not isinstance(result, Register):
        raise IllegalInstruction(f"the result of {instruction.opcode} is no register")
    return result


@opcode("scalar")
def _scalar(loader: Loader, pc: int, instruction: Instruction) -> Step:
    function, compute = loader.function(instruction.immediates[0])
    target = _target(instruction)
    elements = tuple(element_of(operand) for operand in instruction.operands)
    loader.expect(elements == function.operands, f"{function.name} takes {function.operands}, not {elements}")
    loader.expect(function.results == (target.element,), f"{function.name} gives {function.results}")
    reads = [loader.scalar(operand) for operand in instruction.operands]
    number = target.number
    if len(reads) == 2:
        left, right = reads

        def binary(state: State) -> None:
            state.registers[number] = compute(left(state), right(state))

        return binary

    def run(state: State) -> None:
        state.registers[number] = compute(*(read(state) for read in reads))

    return run


@opcode("argument")
def _argument(loader: Loader, pc: int, instruction: Instruction) -> Step:
    target, (index, part) = _target(instruction), instruction.immediates
    arguments = loader.program.arguments
    loader.expect(0 <= index < len(arguments), f"argument {index} of {len(arguments)}")
    loader.expect(part in (0, 1), f"part {part} of an argument")
    wanted = "i1" if part else arguments[index]
    loader.expect(target.element == wanted, f"argument {index} is of type {wanted}, not {target.element}")
    number = target.number

    def run(state: State) -> None:
        parts = state.launch.arguments[index]
        if part >= len(parts):
            raise IllegalInstruction(f"argument {index} is no tensor descriptor")
        state.registers[number] = parts[part]

    return run


@opcode("apart")
def _apart(loader: Loader, pc: int, instruction: Instruction) -> Step:
    target, (first, second) = _target(instruction), instruction.immediates
    arguments = loader.program.arguments
    for index in (first, second):
        loader.expect(0 <= index < len(arguments), f"argument {index} of {len(arguments)}")
        loader.expect(arguments[index] == "ptr", f"argument {index} is no pointer but {arguments[index]}")
    loader.expect(target.element == "i1", f"the result is i1, not {target.element}")
    number = target.number

    def run(state: State) -> None:
        state.registers[number] = state.launch.apart(first, second)

    return run


@opcode("program_id", "num_programs")
def _program_id(loader: Loader, pc: int, instruction: Instruction) -> Step:
    target, axis = _target(instruction), instruction.immediates[0]
    loader.expect(0 <= axis < 3, f"axis {axis} of a grid of three")
    number, dtype = target.number, numpy_dtype(target.element)
    if instruction.opcode == "num_programs":

        def count(state: State) -> None:
            state.registers[number] = np.array([state.context.grid[axis]], dtype)

        return count

    def run(state: State) -> None:
        ids = state.context.ids[axis]
        # One for all where they agree: what follows from it is computed once.
        alike = ids.size > 1 and ids[0] == ids[-1] and (ids == ids[0]).all()
        state.registers[number] = (ids[:1] if alike else ids).astype(dtype, copy=False)

    return run


@opcode("extract")
def _extract(loader: Loader, pc: int, instruction: Instruction) -> Step:
    target, tile = _target(instruction), loader.tile(instruction.operands[0], "the source")
    loader.expect(int(np.prod(tile.extents)) == 1, "extract takes a tile of one element")
    loader.expect(tile.element == target.element, f"extract of {tile.element} to {target.element}")
    read, number = loader.read(tile, 0), target.number

    def run(state: State) -> None:
        state.registers[number] = read(state).reshape(-1).copy()

    return run


@opcode("assert")
def _assert(loader: Loader, pc: int, instruction: Instruction) -> Step:
    read, message = loader.read(instruction.operands[0], 0), loader.text(instruction.immediates[0])
    where = loader.where(pc)

    def run(state: State) -> None:
        check_assertion(state.context, read(state), message, where)

    return run


@opcode("print")
def _print(loader: Loader, pc: int, instruction: Instruction) -> Step:
    prefix, as_hex = loader.text(instruction.immediates[0]), bool(instruction.immediates[1])
    without_sign = instruction.immediates[2]
    reads = [loader.read(operand, 0) for operand in instruction.operands]
    shapes = [operand.extents if isinstance(operand, Tile) else () for operand in instruction.operands]

    def run(state: State) -> None:
        context = state.context
        columns = [np.broadcast_to(read(state), (context.programs, *n)) for read, n in zip(reads, shapes, strict=True)]
        for row in range(context.programs):
            place = f"pid {context.program_of(row)}"
            if not columns:
                context.result.output.append(f"{place}{prefix}")
            for number, column in enumerate(columns):
                values = column[row]
                if without_sign >> number & 1 and values.dtype.kind == "i":
                    values = np.ascontiguousarray(values).view(f"u{values.dtype.itemsize}").reshape(values.shape)
                context.result.output.extend(print_lines(place, prefix, values, as_hex))

    return run
