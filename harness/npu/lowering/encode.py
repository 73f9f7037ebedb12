"""`npu-encode`: from an allocated module to the machine's program.

Blocks are laid out one after the other; loops test at their end, where the jump back is. Values that are passed on
are copied to the place of what they become, in an order in which none is overwritten before it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from xdsl.ir import Block, Operation, SSAValue

from harness.errors import Refusal, UnsupportedOp
from harness.executor.types import element, get
from harness.ir import operation_name, source_location
from harness.npu.isa.program import Operand, Program, Register, Tile
from harness.npu.lowering import encode_memory, encode_values
from harness.npu.lowering.edges import Move, entering, in_sequence, passed
from harness.npu.lowering.emitter import RULES, Emitter, Label
from harness.npu.lowering.layouts import depth
from harness.npu.lowering.liveness import has_place, reverse_post_order
from harness.npu.lowering.placed import is_tile, placement_of, shape_of, width_of
from harness.npu.lowering.rotation import Rotation, rotations_of
from harness.npu.lowering.views import Views
from harness.npu.products import PRODUCTS, passes_of

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from harness.npu.machine import Machine

_RULES_COME_FROM = (encode_memory, encode_values)
_FUNCTIONS = frozenset({"tt.func", "func.func"})
_WITHOUT_EFFECT = frozenset({"tt.make_tensor_descriptor"})


def encode(module: ModuleOp, machine: Machine, kernel: str | None = None, source: str = "") -> Program:
    """The program of the function called `kernel`, else of the only one. Raises Refusal, with the op, the reason
    and the kernel's line, for what the machine cannot do."""
    return encode_traced(module, machine, kernel, source)[0]


def encode_traced(
    module: ModuleOp, machine: Machine, kernel: str | None = None, source: str = ""
) -> tuple[Program, list[Operation | None]]:
    """As `encode`, with the op that each instruction comes from."""
    function = _kernel(module, kernel)
    program = Program(get(function, "sym_name"), machine.name, machine.lanes, source=source)
    emitter = Emitter(program, Views(machine.lanes))
    _Encoder(function, emitter, machine).run()
    _check_products(program, emitter.lowered, machine)
    return program, emitter.lowered


def _check_products(program: Program, lowered: list[Operation | None], machine: Machine) -> None:
    """Raises Refusal, at its line, for a product of a type that the machine does not multiply."""
    for instruction, operation in zip(program.instructions, lowered, strict=True):
        if instruction.opcode in PRODUCTS:
            passes_of(instruction, machine, source_location(operation) if operation else None)


def _kernel(module: ModuleOp, name: str | None) -> Operation:
    functions = [op for op in module.body.block.ops if operation_name(op) in _FUNCTIONS]
    for function in functions:
        if get(function, "sym_name") == name:
            return function
    public = [op for op in functions if get(op, "sym_visibility", "public") == "public"]
    if name is not None or len(public) != 1:
        raise Refusal(f"the module holds no kernel {name or 'that alone is public'}")
    return public[0]


class _Encoder:
    """The control flow of one function; what computes is in RULES."""

    def __init__(self, function: Operation, emitter: Emitter, machine: Machine) -> None:
        self._function = function
        self._emitter = emitter
        self._machine = machine
        self._labels: dict[Block, Label] = {}
        self._control: dict[str, Callable[[Operation], None]] = {
            "scf.for": self._for,
            "scf.while": self._while,
            "scf.if": self._if,
            "cf.br": self._branch,
            "cf.cond_br": self._conditional,
            "tt.return": self._return,
        }

    def run(self) -> None:
        emitter, program = self._emitter, self._emitter.program
        self._take_up_places()
        entry = self._function.regions[0].blocks[0]
        program.arguments = tuple(_argument_type(argument) for argument in entry.args)
        emitter.at(self._function)
        for index, argument in enumerate(entry.args):
            if argument.first_use is not None and has_place(argument):
                emitter.emit("argument", (emitter.register(argument),), (), (index, 0))
        ordered = reverse_post_order(entry)
        self._labels = {block: Label() for block in ordered}
        for number, block in enumerate(ordered):
            self._following = ordered[number + 1] if number + 1 < len(ordered) else None
            emitter.place(self._labels[block])
            self._block(block)
        emitter.finish()
        self._check_registers(program.registers)

    def _check_registers(self, used: int) -> None:
        """Values that change places take some beside those that `npu-allocate` counts."""
        budget = self._machine.scalar.registers
        if used > budget:
            what = f"the kernel needs {used} scalar registers, and machine {self._machine.name!r} has {budget}"
            raise Refusal(what, source_location(self._function), "split the kernel")

    def _take_up_places(self) -> None:
        """Every address and register, and how much of each space they take."""
        emitter, program = self._emitter, self._emitter.program
        blocks = list(self._function.regions[0].blocks)
        emitter.read_places(self._function, [argument for block in blocks for argument in block.args])
        while blocks:
            for operation in blocks.pop().ops:
                inner = [b for region in operation.regions for b in region.blocks]
                values = [*operation.results, *(a for block in inner for a in block.args)]
                if operation.attributes:
                    emitter.read_places(operation, values)
                    self._reserve_saves(operation)
                if operation.name.startswith("scf."):
                    blocks.extend(inner)
        program.registers = max([program.registers, *(number + 1 for number in emitter.registers.values())])
        for value, address in emitter.addresses.items():
            self._reserve(value, address)

    def _reserve(self, value: SSAValue, address: int) -> None:
        program = self._emitter.program
        placement = placement_of(value)
        end = address + depth(shape_of(value), placement, program.lanes) * width_of(value.type)
        if placement is None:
            program.uniform = max(program.uniform, end)
        else:
            program.scratchpad = max(program.scratchpad, end)

    def _reserve_saves(self, operation: Operation) -> None:
        places = _saves(operation)
        for way in _ways(operation) if places else ():
            for value in self._saved(way):
                place = places.pop(0)
                if is_tile(value):
                    self._reserve(value, place)
                else:
                    self._emitter.program.registers = max(self._emitter.program.registers, place + 1)

    # --- ops

    def _block(self, block: Block, skip_last: bool = False) -> None:
        for operation in block.ops:
            if skip_last and operation is block.last_op:
                return
            self._operation(operation)

    def _operation(self, operation: Operation) -> None:
        name = operation_name(operation)
        self._emitter.at(operation)
        control = self._control.get(name)
        if control is not None:
            control(operation)
            return
        encode_one = RULES.get(name)
        if encode_one is None:
            if name in _WITHOUT_EFFECT and not any(result.first_use for result in operation.results):
                return
            raise self._emitter.refuse(operation, "has no instruction on the machine")
        try:
            encode_one(self._emitter, operation)
        except UnsupportedOp as error:
            raise Refusal(error.what, error.where or source_location(operation), error.hint) from error

    def _return(self, operation: Operation) -> None:
        self._emitter.emit("halt")

    # --- passing values on

    def _moves(self, pairs: Sequence[tuple[SSAValue, SSAValue]]) -> list[Move]:
        return [self._move(value, target) for value, target in pairs]

    def _move(self, value: SSAValue, target: SSAValue) -> Move:
        views = self._emitter.views
        view = views.of(value)
        source = None if view.is_constant else self._place(view.root)
        return Move(self._place(target), source, not is_tile(value) or views.is_whole(value))

    def _place(self, root: SSAValue) -> object:
        """What tells one storage from another among those that are alive together."""
        if not is_tile(root):
            return self._emitter.registers[root]
        return placement_of(root) is None, self._emitter.addresses[root]

    def _saved(self, pairs: Sequence[tuple[SSAValue, SSAValue]]) -> list[SSAValue]:
        pairs = [(value, target) for value, target in pairs if has_place(target)]
        _, saved = in_sequence(self._moves(pairs))
        return [pairs[index][0] for index in saved]

    def _pass(self, operation: Operation, pairs: Sequence[tuple[SSAValue, SSAValue]], way: int = 0) -> None:
        """Copies values to what they become, all at once in effect."""
        emitter = self._emitter
        pairs = [(value, target) for value, target in pairs if has_place(target)]
        order, saved = in_sequence(self._moves(pairs))
        places = _saves(operation)
        for earlier in _ways(operation)[:way] if places else ():
            del places[: len(self._saved(earlier))]
        aside: dict[int, Operand] = {}
        for index in saved:
            value = pairs[index][0]
            aside[index] = self._aside(value, places.pop(0))
            emitter.move_to(aside[index], emitter.operand(value))
        for index in order:
            value, target = pairs[index]
            emitter.move(target, aside[index] if index in aside else emitter.operand(value))

    def _aside(self, value: SSAValue, place: int) -> Operand:
        if not is_tile(value):
            return Register(place, element(value.type))
        own = self._emitter.views.own(value)
        return Tile(place, element(value.type), own.extents, own.strides, own.lane_axis)

    # --- structured control flow

    def _for(self, operation: Operation) -> None:
        emitter = self._emitter
        body = operation.regions[0].block
        low, high, step = (emitter.operand(value) for value in operation.operands[:3])
        carried = [(operation.operands[index], target) for index, target in entering(operation)]
        done, again = Label(), Label()
        self._pass(operation, carried)
        self._enter(operation, low, high, step, done)
        counter = emitter.register(body.args[0])
        emitter.move_to(counter, low)
        emitter.place(again)
        rotations = rotations_of(operation, emitter)
        if rotations:
            self._even_trip(operation, rotations, (counter, high, step), done)
        self._trip(operation, rotations)
        self._next((counter, high, step), again)
        for rotation in rotations:
            rotation.exchange(emitter)
        emitter.place(done)

    def _even_trip(
        self,
        operation: Operation,
        rotations: Sequence[Rotation],
        bounds: tuple[Register, Operand, Operand],
        done: Label,
    ) -> None:
        """The first of two copies of a body, after which buffers are exchanged; if it was the last trip, what was
        loaded is where nobody outside looks for it."""
        emitter, odd = self._emitter, Label()
        self._trip(operation, rotations)
        self._next(bounds, odd)
        for rotation in rotations:
            if rotation.result.first_use is not None:
                emitter.move(rotation.argument, emitter.tile(rotation.loaded))
        emitter.jump(done)
        emitter.place(odd)
        for rotation in rotations:
            rotation.exchange(emitter)

    def _trip(self, operation: Operation, rotations: Sequence[Rotation]) -> None:
        body = operation.regions[0].block
        yielded = body.last_op
        assert yielded is not None
        self._block(body, skip_last=True)
        self._emitter.at(yielded)
        rotating = {rotation.argument for rotation in rotations}
        self._pass(yielded, [pair for pair in passed(yielded)[0] if pair[1] not in rotating])

    def _enter(self, operation: Operation, low: Operand, high: Operand, step: Operand, done: Label) -> None:
        """Around the loop where it has no trip. A step of zero or less is undefined, and taken as no trip."""
        emitter = self._emitter
        unsigned = bool(get(operation, "unsignedCmp", False))
        if _runs(low, high, step, unsigned):
            return
        none, below = emitter.spare("i1"), emitter.spare("i1")
        predicate = "uge" if unsigned else "sge"
        emitter.scalar(none, "arith.cmpi", [low, high], predicate=predicate)
        if _whole(step) is None:
            zero = emitter.number(0, step.element)
            emitter.scalar(below, "arith.cmpi", [step, zero], predicate="ule" if unsigned else "sle")
            emitter.scalar(none, "arith.ori", [none, below])
        emitter.branch(none, done)

    def _next(self, bounds: tuple[Register, Operand, Operand], again: Label) -> None:
        """The next trip, if more is left to the end than a step: the sum cannot pass it then."""
        emitter = self._emitter
        counter, high, step = bounds
        left, more = emitter.spare(counter.element), emitter.spare("i1")
        emitter.scalar(left, "arith.subi", [high, counter])
        emitter.scalar(more, "arith.cmpi", [left, step], predicate="ugt")
        emitter.scalar(counter, "arith.addi", [counter, step])
        emitter.branch(more, again)

    def _while(self, operation: Operation) -> None:
        emitter = self._emitter
        before, after = operation.regions[0].block, operation.regions[1].block
        condition = before.last_op
        assert condition is not None and after.last_op is not None
        self._pass(operation, [(operation.operands[index], target) for index, target in entering(operation)])
        again, going, done = Label(), Label(), Label()
        emitter.place(again)
        self._block(before, skip_last=True)
        emitter.at(condition)
        ways = passed(condition)
        emitter.branch(emitter.operand(condition.operands[0]), going)
        self._pass(condition, ways[1], 1)
        emitter.jump(done)
        emitter.place(going)
        self._pass(condition, ways[0], 0)
        self._block(after, skip_last=True)
        emitter.at(after.last_op)
        self._pass(after.last_op, passed(after.last_op)[0])
        emitter.jump(again)
        emitter.place(done)

    def _if(self, operation: Operation) -> None:
        """The side that is not taken comes first: a branch goes where the condition holds."""
        emitter = self._emitter
        then, done = Label(), Label()
        emitter.branch(emitter.operand(operation.operands[0]), then)
        if operation.regions[1].blocks:
            self._side(operation.regions[1].block)
        emitter.jump(done)
        emitter.place(then)
        self._side(operation.regions[0].block)
        emitter.place(done)

    def _side(self, block: Block) -> None:
        self._block(block, skip_last=True)
        last = block.last_op
        assert last is not None
        self._emitter.at(last)
        self._pass(last, passed(last)[0])

    # --- unstructured control flow

    def _branch(self, operation: Operation) -> None:
        self._pass(operation, passed(operation)[0])
        self._go(operation.successors[0])

    def _go(self, block: Block) -> None:
        if block is not self._following:
            self._emitter.jump(self._labels[block])

    def _conditional(self, operation: Operation) -> None:
        emitter = self._emitter
        holds, fails = passed(operation)
        taken, other = operation.successors
        label = Label() if holds else self._labels[taken]
        emitter.branch(emitter.operand(operation.operands[0]), label)
        self._pass(operation, fails, 1)
        if not holds:
            self._go(other)
            return
        emitter.jump(self._labels[other])
        emitter.place(label)
        self._pass(operation, holds, 0)
        self._go(taken)


def _argument_type(argument: SSAValue) -> str:
    """Of a described tensor the program sees a pointer, to its first element."""
    return element(argument.type) if has_place(argument) else "ptr"


def _saves(operation: Operation) -> list[int]:
    found = operation.attributes.get("npu.saves")
    return list(found.get_values()) if found is not None else []  # pyright: ignore[reportAttributeAccessIssue]


def _ways(operation: Operation) -> list[list[tuple[SSAValue, SSAValue]]]:
    """The pairs of every way an op passes values on, in the order in which `npu-allocate` meets them."""
    if operation.name in ("scf.for", "scf.while"):
        return [[(operation.operands[index], target) for index, target in entering(operation)]]
    return passed(operation)


def _whole(operand: Operand) -> int | None:
    """The number that a constant holds."""
    bits = getattr(operand, "bits", None)
    return None if bits is None else int.from_bytes(bits, "little", signed=True)


def _runs(low: Operand, high: Operand, step: Operand, unsigned: bool) -> bool:
    """Whether a loop surely has a trip."""
    first, last, by = _whole(low), _whole(high), _whole(step)
    if first is None or last is None or by is None or by <= 0:
        return False
    return first < last and not (unsigned and (first < 0 or last < 0))
