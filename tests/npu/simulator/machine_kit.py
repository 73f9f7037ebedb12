"""A small assembler for machine programs, and launches of them on the `tiny` machine."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from harness.cases.location import SourceLocation
from harness.executor.api import ExecutorOptions, LaunchResult, PointerArgument
from harness.executor.memory import Allocation, Memory
from harness.npu.isa.encoding import decode, encode
from harness.npu.isa.program import (
    Combiner,
    Constant,
    Formal,
    Function,
    Instruction,
    Operand,
    Origin,
    Program,
    Register,
    Tile,
)
from harness.npu.machine import Machine, load_machine
from harness.npu.simulator import load_program, simulate
from harness.semantics import numpy_dtype

KERNEL = "kernel.py"


def machine() -> Machine:
    """The `tiny` machine: 8 lanes, 4 KiB a lane."""
    return load_machine("tiny")


class Assembly:
    """Builds a program. Tiles get addresses one after the other unless they are given one."""

    def __init__(self, *arguments: str, lanes: int = 8) -> None:
        self.program = Program("kernel", "tiny", lanes, tuple(arguments))
        self._free = {True: 0, False: 0}

    def tile(
        self, element: str, extents: Sequence[int], lane: int | None = -1, at: int | None = None,
        strides: Sequence[int] | None = None,
    ) -> Tile:  # fmt: skip
        """A dense tile, the runs of its lane axis innermost; `lane` -1 is the last axis."""
        axis = len(extents) - 1 if lane == -1 else lane
        width, lanes = numpy_dtype(element).itemsize, self.program.lanes
        runs = [max(1, n // lanes) if a == axis else n for a, n in enumerate(extents)]
        if strides is None:
            dense = [0] * len(extents)
            step = 1
            for a in sorted(range(len(extents)), key=lambda a: (a != axis, -a)):
                dense[a] = step
                step *= runs[a]
            strides = dense
        span = (1 + sum(s * (n - 1) for s, n in zip(strides, runs, strict=True))) * width
        uniform = axis is None
        if at is None:
            at = -(-self._free[uniform] // 8) * 8
        self._free[uniform] = max(self._free[uniform], at + span)
        self.program.scratchpad, self.program.uniform = self._free[False], self._free[True]
        return Tile(at, element, tuple(extents), tuple(strides), axis)

    def register(self, element: str) -> Register:
        self.program.registers += 1
        return Register(self.program.registers - 1, element)

    def constant(self, value: Any, element: str) -> Constant:
        return Constant(np.array([value]).astype(numpy_dtype(element)).tobytes(), element)

    def function(self, name: str, operands: Sequence[str], result: str, **attributes: Any) -> int:
        self.program.functions.append(Function(name, tuple(attributes.items()), tuple(operands), (result,)))
        return len(self.program.functions) - 1

    def text(self, text: str) -> int:
        self.program.texts.append(text)
        return len(self.program.texts) - 1

    def combiner(self, name: str, element: str) -> int:
        """A region of one op on its two arguments."""
        function = self.function(name, (element, element), element)
        body = Instruction("scalar", (), (Formal(0, element), Formal(1, element)), (function,))
        self.program.combiners.append(Combiner((element, element), (body,), (Formal(2, element),)))
        return len(self.program.combiners) - 1

    @property
    def here(self) -> int:
        return len(self.program.instructions)

    def emit(
        self, opcode: str, results: Sequence[Operand] = (), operands: Sequence[Operand | None] = (), *immediates: int
    ) -> int:
        """Appends an instruction, whose kernel line is its number plus one; its number."""
        self.program.instructions.append(Instruction(opcode, tuple(results), tuple(operands), immediates))
        self.program.origins.append(Origin("test.op", SourceLocation(KERNEL, self.here, 1)))
        return self.here - 1

    def aim(self, pc: int, target: int) -> None:
        """Sets the target of a jump or branch that was emitted before."""
        known = self.program.instructions[pc]
        self.program.instructions[pc] = dataclasses.replace(known, immediates=(target,))

    # --- what most tests begin and end with -----------------------------------------------------------------

    def argument(self, index: int) -> Register:
        register = self.register(self.program.arguments[index])
        self.emit("argument", [register], [], index, 0)
        return register

    def program_id(self, axis: int = 0) -> Register:
        register = self.register("i32")
        self.emit("program_id", [register], [], axis)
        return register

    def scalar(self, name: str, operands: Sequence[Operand], result: str, **attributes: Any) -> Register:
        register = self.register(result)
        function = self.function(name, [operand.element for operand in operands], result, **attributes)
        self.emit("scalar", [register], operands, function)
        return register

    def vector(self, name: str, tile: Tile, operands: Sequence[Operand], **attributes: Any) -> int:
        function = self.function(name, [operand.element for operand in operands], tile.element, **attributes)
        return self.emit("vector", [tile], operands, function)

    def moved(self, pointer: Operand, index: Operand, size: int) -> Register:
        return self.scalar("tt.addptr", (pointer, index), "ptr", size=size)

    def load(self, tile: Tile, base: Operand, strides: Sequence[int], tag: int = 0, wait: bool = True) -> int:
        steps = [self.constant(stride, "i64") for stride in strides]
        pc = self.emit("dma_load", [tile], [base, *steps, None, None], tag, 0, 0, 0, 0)
        if wait:
            self.emit("wait", [], [], tag)
        return pc

    def store(self, tile: Tile, base: Operand, strides: Sequence[int], tag: int = 0, wait: bool = True) -> int:
        steps = [self.constant(stride, "i64") for stride in strides]
        pc = self.emit("dma_store", [], [tile, base, *steps, None], tag, 0, 0, 0)
        if wait:
            self.emit("wait", [], [], tag)
        return pc


class Buffers:
    """Arrays as allocations, one after the other at made-up addresses, each with a gap behind it."""

    def __init__(self, **arrays: np.ndarray) -> None:
        self.memory = Memory()
        self.allocations: dict[str, Allocation] = {}
        address = 1 << 20
        for name, array in arrays.items():
            raw = array.reshape(-1).view(np.uint8)
            allocation = Allocation(name, raw, address, array.dtype.itemsize)
            self.allocations[name] = self.memory.add(allocation)
            address += (raw.size // 4096 + 2) * 4096

    def pointer(self, name: str, offset: int = 0) -> PointerArgument:
        return PointerArgument(self.allocations[name], offset)


def launched(
    assembly: Assembly, grid: tuple[int, int, int], buffers: Buffers, *more: Any, observer: Any = None, **options: Any
) -> LaunchResult:
    """Runs the program as it comes out of its binary, on pointers to all buffers and then `more` arguments."""
    program = decode(encode(assembly.program))
    arguments = [*(buffers.pointer(name) for name in buffers.allocations), *more]
    executable = load_program(program, machine())
    return simulate(executable, grid, arguments, buffers.memory, ExecutorOptions(**options), observer)
