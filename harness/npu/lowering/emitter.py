"""What every part of the encoder needs: the program under way, its tables, and operands for values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from xdsl.dialects.builtin import DenseArrayBase, DenseIntOrFPElementsAttr
from xdsl.ir import Attribute, Operation, SSAValue

from harness.errors import Refusal, UnsupportedOp
from harness.executor.types import element, get
from harness.ir import attribute, operation_name, source_location
from harness.npu.isa.program import (
    Combiner,
    Constant,
    Function,
    Instruction,
    Operand,
    Origin,
    Program,
    Register,
    Tile,
)
from harness.npu.lowering.placed import is_tile, width_of
from harness.npu.lowering.views import Views, is_constant
from harness.semantics import Signature, elementwise_function, numpy_dtype

Rule = Callable[["Emitter", Operation], None]

RULES: dict[str, Rule] = {}
_OF_POINTERS = frozenset({"tt.addptr", "tt.ptr_to_int", "tt.int_to_ptr"})


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Registers how the ops of these names are encoded."""

    def register(function: Rule) -> Rule:
        for name in names:
            RULES[name] = function
        return function

    return register


@dataclass(eq=False)
class Label:
    """A place in the program, known or not yet."""

    pc: int = -1


class Emitter:
    """Collects the instructions of one program."""

    def __init__(self, program: Program, views: Views) -> None:
        self.program = program
        self.views = views
        self.addresses: dict[SSAValue, int] = {}
        self.registers: dict[SSAValue, int] = {}
        self.tags: dict[SSAValue, int] = {}
        self.lowered: list[Operation | None] = []  # per instruction, the op it comes from
        self._free_tag = 0
        self._operation: Operation | None = None
        self._origin = Origin("", None)
        self._labels: list[tuple[int, Label]] = []
        self._functions: dict[Function, int] = {}
        self._texts: dict[str, int] = {}
        self._combiners: dict[Combiner, int] = {}
        self._tiles: dict[SSAValue, Tile] = {}
        self._constants: dict[SSAValue, Constant] = {}

    # --- places

    def read_places(self, operation: Operation, values: Sequence[SSAValue]) -> None:
        """Takes up the addresses and registers that `npu-allocate` left on an op for its results and arguments."""
        for name, table in (("npu.addresses", self.addresses), ("npu.registers", self.registers)):
            found = operation.attributes.get(name)
            if isinstance(found, DenseArrayBase):
                for value, place in zip(values, found.get_values(), strict=True):
                    if place >= 0:
                        table[value] = int(place)

    def relocate(self, value: SSAValue, address: int) -> None:
        """From here on the tile's storage is at another address."""
        self.addresses[value] = address
        self._tiles.clear()

    # --- operands

    def operand(self, value: SSAValue) -> Operand:
        """A register, constant or tile."""
        view = self.views.of(value)
        root = view.root
        if is_constant(root):
            return self.constant(root)
        if not is_tile(root):
            return Register(self.registers[root], element(root.type))
        return self.tile(value)

    def optional(self, value: SSAValue | None) -> Operand | None:
        return None if value is None else self.operand(value)

    def tile(self, value: SSAValue) -> Tile:
        """The access pattern of a value in a scratchpad."""
        found = self._tiles.get(value)
        if found is None:
            view = self.views.of(value)
            layout = view.layout
            address = self.addresses[view.root] + layout.offset
            found = Tile(address, element(value.type), layout.extents, layout.strides, layout.lane_axis)
            self._tiles[value] = found
        return found

    def result(self, value: SSAValue) -> Operand:
        """Where an op writes its result."""
        return self.tile(value) if is_tile(value) else self.register(value)

    def register(self, value: SSAValue) -> Register:
        return Register(self.registers[value], element(value.type))

    def spare(self, kind: str) -> Register:
        """A register that nobody else has."""
        number = self.program.registers
        self.program.registers += 1
        return Register(number, kind)

    def constant(self, value: SSAValue) -> Constant:
        found = self._constants.get(value)
        if found is None:
            owner = value.owner
            assert isinstance(owner, Operation)
            found = self._constants[value] = Constant(self._bits(owner), element(value.type))
        return found

    def number(self, value: int, kind: str) -> Constant:
        return Constant(np.array([value]).astype(numpy_dtype(kind)).tobytes(), kind)

    def _bits(self, operation: Operation) -> bytes:
        dtype = numpy_dtype(element(operation.results[0].type))
        if operation.name == "ub.poison":
            return bytes(dtype.itemsize)  # any value will do
        literal = attribute(operation, "value")
        if not isinstance(literal, DenseIntOrFPElementsAttr):
            return np.array([get(operation, "value")]).astype(dtype).tobytes()
        data, size = literal.data.data, literal.type.element_type.compile_time_size  # type: ignore[union-attr]
        if data != data[:size] * (len(data) // size):
            raise Refusal(
                "a constant tensor whose elements differ has no instruction",
                source_location(operation),
                "load it from a buffer",
            )
        return np.frombuffer(data[:size], np.uint8 if dtype == np.bool_ else dtype).astype(dtype).tobytes()

    # --- instructions

    def at(self, operation: Operation) -> None:
        """What is emitted from here on comes from this op."""
        self._operation = operation
        self._origin = Origin(operation_name(operation), source_location(operation))

    @property
    def where(self) -> Any:
        return self._origin.where

    def emit(
        self,
        opcode: str,
        results: Sequence[Operand] = (),
        operands: Sequence[Operand | None] = (),
        immediates: Sequence[int] = (),
    ) -> None:
        self.program.instructions.append(
            Instruction(opcode, tuple(results), tuple(operands), tuple(map(int, immediates)))
        )
        self.program.origins.append(self._origin)
        self.lowered.append(self._operation)

    def jump(self, label: Label) -> None:
        self._labels.append((len(self.program.instructions), label))
        self.emit("jump", immediates=(0,))

    def branch(self, condition: Operand, label: Label) -> None:
        self._labels.append((len(self.program.instructions), label))
        self.emit("branch", operands=(condition,), immediates=(0,))

    def place(self, label: Label) -> None:
        label.pc = len(self.program.instructions)

    def finish(self) -> None:
        """Fills in where jumps go; a way to a jump is a way to where that goes."""
        instructions = self.program.instructions
        for at, label in self._labels:
            old = instructions[at]
            instructions[at] = Instruction(old.opcode, old.results, old.operands, (label.pc,))
        for at, _ in self._labels:
            old = instructions[at]
            target = self._final(old.immediates[0])
            if target != old.immediates[0]:
                instructions[at] = Instruction(old.opcode, old.results, old.operands, (target,))

    def _final(self, pc: int) -> int:
        instructions, passed = self.program.instructions, set()
        while pc < len(instructions) and instructions[pc].opcode == "jump" and pc not in passed:
            passed.add(pc)
            pc = instructions[pc].immediates[0]
        return pc

    def new_tag(self) -> int:
        self._free_tag += 1
        return self._free_tag - 1

    def refuse(self, operation: Operation, why: str, hint: str = "") -> Refusal:
        return Refusal(f"{operation_name(operation)} {why}", source_location(operation), hint)

    # --- tables

    def function(self, name: str, attributes: dict[str, Any], operands: Sequence[str], results: Sequence[str]) -> int:
        """The number of a function. Raises Refusal for one that has no meaning."""
        said = tuple((key, value) for key, value in attributes.items() if value is not None)
        function = Function(name, said, tuple(operands), tuple(results))
        number = self._functions.get(function)
        if number is None:
            self._check(function)
            number = self._functions[function] = len(self.program.functions)
            self.program.functions.append(function)
        return number

    def _check(self, function: Function) -> None:
        if function.name in _OF_POINTERS or "ptr" in function.results:
            return
        try:
            signature = Signature(function.name, function.operands, function.results, dict(function.attributes))
            elementwise_function(signature)
        except UnsupportedOp as error:
            raise Refusal(f"the machine has no instruction for it: {error.what}", self.where) from error

    def text(self, text: str) -> int:
        return _number(self._texts, self.program.texts, text)

    def combiner(self, combiner: Combiner) -> int:
        return _number(self._combiners, self.program.combiners, combiner)

    def scalar(self, result: Register, name: str, operands: Sequence[Operand], **attributes: Any) -> None:
        """A scalar instruction of a function by name."""
        number = self.function(name, attributes, [one.element for one in operands], [result.element])
        self.emit("scalar", (result,), operands, (number,))

    def move(self, target: SSAValue, value: Operand) -> None:
        """Copies a value to where another one has its place."""
        self.move_to(self.result(target), value)

    def move_to(self, place: Operand, value: Operand) -> None:
        if isinstance(place, Register):
            self.scalar(place, "tt.bitcast", [value])
        elif place != value:
            self.emit("copy", (place,), (value,))


def _number(known: dict[Any, int], table: list[Any], entry: Any) -> int:
    number = known.get(entry)
    if number is None:
        number = known[entry] = len(table)
        table.append(entry)
    return number


def pointee_size(type_: Attribute) -> int:
    """Bytes of what a pointer points to."""
    from harness.executor.types import pointee

    return width_of(pointee(type_))
