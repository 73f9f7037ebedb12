"""A small assembler: machine programs written by hand."""

from __future__ import annotations

import numpy as np

from harness.npu.isa.program import Combiner, Constant, Formal, Function, Instruction, Operand, Program, Register, Tile
from harness.semantics import numpy_dtype

Index = int | Register
_KEYWORDS = {"slt", "sgt", "sge", "sle", "eq", "ne"}


class Assembly:
    """Instructions are appended by methods; `at` names a place to jump to, before or after its label is set."""

    def __init__(self, name: str = "kernel", lanes: int = 128) -> None:
        self.program = Program(name, "default", lanes)
        self._labels: dict[str, int] = {}
        self._jumps: list[tuple[int, str]] = []
        self._address = 0
        self._registers = 0

    def tile(self, *extents: int, element: str = "f32", lane_axis: int | None = -1, address: int | None = None) -> Tile:
        """A new tile, dense at each lane with the lane axis outermost, in bytes of its own unless told where."""
        axis = len(extents) - 1 if lane_axis == -1 else lane_axis
        per_lane = [-(-n // self.program.lanes) if place == axis else n for place, n in enumerate(extents)]
        strides = [int(np.prod(per_lane[place + 1 :], initial=1)) for place in range(len(extents))]
        size = int(np.prod(per_lane, initial=1)) * numpy_dtype(element).itemsize
        at = self._address if address is None else address
        self._address = max(self._address, at + -(-size // 8) * 8)
        return Tile(at, element, extents, tuple(strides), axis)

    def register(self, element: str = "i32") -> Register:
        self._registers += 1
        return Register(self._registers - 1, element)

    def emit(self, opcode: str, results: tuple = (), operands: tuple = (), immediates: tuple = ()) -> None:
        self.program.instructions.append(Instruction(opcode, results, operands, immediates))

    def function(self, name: str, operands: tuple[str, ...], result: str, **attributes: str) -> int:
        self.program.functions.append(Function(name, tuple(attributes.items()), operands, (result,)))
        return len(self.program.functions) - 1

    def scalar(self, name: str, *operands: Index, result: str = "i32", into: Register | None = None, **attributes: str):
        """A scalar instruction into a new register, or one that there is."""
        places = tuple(one if isinstance(one, Register) else constant(one) for one in operands)
        target = into or self.register(result)
        number = self.function(name, tuple(one.element for one in places), target.element, **attributes)
        self.emit("scalar", (target,), places, (number,))
        return target

    def argument(self, index: int, element: str = "i32") -> Register:
        target = self.register(element)
        self.emit("argument", (target,), (), (index, 0))
        return target

    def program_id(self, axis: int = 0) -> Register:
        target = self.register()
        self.emit("program_id", (target,), (), (axis,))
        return target

    def vector(self, name: str, result: Tile, *operands: Operand) -> None:
        number = self.function(name, tuple(one.element for one in operands), result.element)
        self.emit("vector", (result,), operands, (number,))

    def load(
        self, tile: Tile, tag: int = 0, upper: Index | None = None, strides: tuple[Index, ...] | None = None
    ) -> None:
        """A dma_load of a row-major tensor; `upper` bounds axis 0."""
        self._transfer("dma_load", tile, tag, upper, strides)

    def store(
        self, tile: Tile, tag: int = 0, upper: Index | None = None, strides: tuple[Index, ...] | None = None
    ) -> None:
        self._transfer("dma_store", tile, tag, upper, strides)

    def _transfer(
        self, opcode: str, tile: Tile, tag: int, upper: Index | None, strides: tuple[Index, ...] | None
    ) -> None:
        dense = [int(np.prod(tile.extents[axis + 1 :], initial=1)) for axis in range(len(tile.extents))]
        steps = tuple(map(_place, strides or dense))
        bounds = () if upper is None else (_place(upper),)
        base, axes = Constant(bytes(8), "ptr"), (0, 0 if upper is None else 1, 0)
        if opcode == "dma_load":
            self.emit(opcode, (tile,), (base, *steps, *bounds, None, None), (tag, *axes, 0))
        else:
            self.emit(opcode, (), (tile, base, *steps, *bounds, None), (tag, *axes))

    def wait(self, tag: int) -> None:
        self.emit("wait", (), (), (tag,))

    def matmul(self, accumulator: Tile, a: Tile, b: Tile, c: Operand | None = None) -> None:
        self.emit("matmul", (accumulator,), (a, b, c or accumulator), (2, 0))

    def sum_combiner(self, element: str = "f32") -> int:
        number = self.function("arith.addf", (element, element), element)
        added = Instruction("scalar", (Formal(2, element),), (Formal(0, element), Formal(1, element)), (number,))
        self.program.combiners.append(Combiner((element, element), (added,), (Formal(2, element),)))
        return len(self.program.combiners) - 1

    def label(self, name: str) -> None:
        self._labels[name] = len(self.program.instructions)

    def jump(self, label: str) -> None:
        self._jumps.append((len(self.program.instructions), label))
        self.emit("jump", (), (), (0,))

    def branch(self, condition: Register, label: str) -> None:
        self._jumps.append((len(self.program.instructions), label))
        self.emit("branch", (), (condition,), (0,))

    def loop(self, name: str, upper: Index, step: int = 1) -> Register:
        """Opens `for i in range(0, upper, step)`; `end` closes it."""
        counter = self.scalar("arith.addi", 0, 0)
        self.label(name)
        done = self.scalar("arith.cmpi", counter, upper, result="i1", predicate="sge")
        self.branch(done, f"{name}.end")
        self._steps = {**getattr(self, "_steps", {}), name: (counter, step)}
        return counter

    def end(self, name: str) -> None:
        counter, step = self._steps[name]
        self.scalar("arith.addi", counter, step, into=counter)
        self.jump(name)
        self.label(f"{name}.end")

    def build(self) -> Program:
        """The program, with a halt at its end."""
        self.emit("halt")
        instructions = self.program.instructions
        for pc, label in self._jumps:
            old = instructions[pc]
            instructions[pc] = Instruction(old.opcode, old.results, old.operands, (self._labels[label],))
        self.program.registers, self.program.scratchpad = self._registers, self._address
        return self.program


def constant(value: int, element: str = "i32") -> Constant:
    return Constant(np.array(value, numpy_dtype(element)).tobytes(), element)


def _place(value: Index) -> Operand:
    return value if isinstance(value, Register) else constant(value, "i64")
