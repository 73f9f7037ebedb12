"""Scalars that the pointer analysis computes with: values of the IR, constants, and what it makes of them.

Nothing is added to the IR before a scalar is asked for. What is added then stands in front of the op at which the
scalar was first thought of, so that what does not change in a loop is not computed in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, i1, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue

from harness.ir.dialects.tt_ops import AddPtrOp, BitcastOp
from harness.ir.enums import INTEGER_PREDICATE
from harness.npu.lowering import ranges
from harness.npu.lowering.ranges import Range, Ranges, width_of

# The op of a scalar that control flow chooses; whoever made it adds it to the IR.
JOIN = "join"


@dataclass(eq=False)
class Scalar:
    """A scalar by what it is made of; one object for one meaning, so that `is` compares.

    number  of a constant
    value   in the IR, or None where it is yet to be added
    range   of integers
    anchor  what is added stands in front of this op
    """

    type: Attribute
    range: Range
    number: int | None = None
    value: SSAValue | None = None
    op: str = ""
    operands: tuple[Scalar, ...] = ()
    anchor: Operation | None = None

    @property
    def width(self) -> int:
        return width_of(self.type)

    def is_number(self, number: int) -> bool:
        return self.number == number


def wrapped(number: int, width: int) -> int:
    """In two's complement; booleans are 0 and 1."""
    low = number & ((1 << width) - 1)
    return low - (1 << width) if width > 1 and low >> (width - 1) else low


_FOLDED = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
    "arith.minsi": min,
    "arith.maxsi": max,
    "arith.andi": lambda a, b: a & b,
    "arith.shrsi": lambda a, b: a >> b,
}
_COMPARED = {
    "slt": lambda a, b: a < b,
    "sle": lambda a, b: a <= b,
    "sgt": lambda a, b: a > b,
    "sge": lambda a, b: a >= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
}
_CLASSES: dict[str, type[Operation]] = {
    op.name: op
    for op in (
        *(arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.MinSIOp, arith.MaxSIOp, arith.AndIOp, arith.ShRSIOp),
        *(arith.DivSIOp, arith.DivUIOp, arith.RemSIOp, arith.RemUIOp, arith.MinUIOp, arith.MaxUIOp, arith.OrIOp),
        *(arith.XOrIOp, arith.ShLIOp, arith.ShRUIOp),
        *(arith.ExtSIOp, arith.ExtUIOp, arith.TruncIOp, arith.SelectOp, arith.CmpiOp, AddPtrOp, BitcastOp),
    )
}
# Ops of two integers of one type that this module can add.
INTEGER_OPS = frozenset(op.name for op in _CLASSES.values() if issubclass(op, (arith.SignlessIntegerBinaryOperation)))


def _no_joins(scalar: Scalar) -> SSAValue:
    raise AssertionError("nobody adds what control flow chooses")


@dataclass
class Scalars:
    """Makes scalars. `at` is the op that is being looked at; `joined` adds a scalar that control flow chooses;
    `instead`: what took the place of ops that are gone."""

    entry: Block
    ranges: Ranges = field(default_factory=Ranges)
    at: Operation | None = None
    joined: Callable[[Scalar], SSAValue] = _no_joins
    instead: dict[Operation, Operation] = field(default_factory=dict)
    _leaves: dict[SSAValue, Scalar] = field(default_factory=dict)
    _numbers: dict[tuple[int, Attribute], Scalar] = field(default_factory=dict)
    _made: dict[tuple[object, ...], Scalar] = field(default_factory=dict)

    # --- making -------------------------------------------------------------------------------------------------

    def leaf(self, value: SSAValue, known: Range | None = None) -> Scalar:
        """A value of the IR; a constant is known as such."""
        scalar = self._leaves.get(value)
        if scalar is None:
            scalar = self._leaves[value] = self._leaf(value, known)
        return scalar

    def _leaf(self, value: SSAValue, known: Range | None) -> Scalar:
        owner = value.owner
        if isinstance(owner, arith.ConstantOp) and isinstance(owner.value, IntegerAttr) and width_of(value.type):
            return self.number(owner.value.value.data, value.type)
        width = width_of(value.type)
        return Scalar(value.type, known or (self.ranges.of(value) if width else Range(0, 0)), value=value)

    def number(self, number: int, type_: Attribute = i64) -> Scalar:
        number = wrapped(number, width_of(type_))
        key = number, type_
        if key not in self._numbers:
            self._numbers[key] = Scalar(type_, ranges.exactly(number), number=number)
        return self._numbers[key]

    def binary(self, name: str, a: Scalar, b: Scalar) -> Scalar:
        """An op of two integers of one type, `name` one of INTEGER_OPS."""
        fold = _FOLDED.get(name)
        if fold is not None and a.number is not None and b.number is not None:
            return self.number(fold(a.number, b.number), a.type)
        same = self._unchanged(name, a, b)
        if same is not None:
            return same
        rule = ranges.BINARY.get(name)
        found = None if rule is None else rule(a.range, b.range)
        return self._node(name, (a, b), a.type, (found or ranges.full(a.width)).within(a.width))

    def _unchanged(self, name: str, a: Scalar, b: Scalar) -> Scalar | None:
        """Where one operand leaves the other as it is, or decides alone."""
        if name in ("arith.addi", "arith.subi", "arith.shrsi") and b.is_number(0):
            return a
        if name == "arith.addi" and a.is_number(0):
            return b
        if name == "arith.muli":
            for one, other in ((a, b), (b, a)):
                if one.is_number(0) or other.is_number(1):
                    return one
        if name in ("arith.minsi", "arith.maxsi"):
            low, high = (a, b) if a.range.high <= b.range.low else (b, a)
            if a is b or low.range.high <= high.range.low:
                return low if name == "arith.minsi" else high
        return None

    def add(self, a: Scalar, b: Scalar) -> Scalar:
        return self.binary("arith.addi", a, b)

    def subtract(self, a: Scalar, b: Scalar) -> Scalar:
        return self.number(0, a.type) if a is b else self.binary("arith.subi", a, b)

    def multiply(self, a: Scalar, b: Scalar) -> Scalar:
        return self.binary("arith.muli", a, b)

    def negate(self, a: Scalar) -> Scalar:
        if a.op == "arith.subi":
            return self.subtract(a.operands[1], a.operands[0])
        return self.subtract(self.number(0, a.type), a)

    def resized(self, a: Scalar, width: int, signed: bool = True) -> Scalar:
        """Extended or truncated to `width` bits."""
        if a.width == width:
            return a
        type_ = IntegerType(width)
        if a.number is not None:
            unsigned = a.number & ((1 << a.width) - 1)
            return self.number(a.number if signed and a.width > 1 else unsigned, type_)
        if width < a.width:
            return self._node("arith.trunci", (a,), type_, a.range.within(width))
        if signed or a.range.is_natural:
            return self._node("arith.extsi", (a,), type_, a.range)
        return self._node("arith.extui", (a,), type_, Range(0, (1 << a.width) - 1, a.range.factor))

    def shifted_down(self, a: Scalar, power_of_two: int) -> Scalar:
        """a / power_of_two, rounded down."""
        by = self.number(power_of_two.bit_length() - 1, a.type)
        if by.is_number(0) or a.number is not None:
            return self.binary("arith.shrsi", a, by)
        known = Range(a.range.low >> (by.number or 0), a.range.high >> (by.number or 0))
        return self._node("arith.shrsi", (a, by), a.type, known)

    def compare(self, predicate: str, a: Scalar, b: Scalar) -> Scalar:
        fold = _COMPARED.get(predicate)
        if fold is not None and a.number is not None and b.number is not None:
            return self.number(int(fold(a.number, b.number)), i1)
        return self._node("arith.cmpi", (a, b), i1, Range(0, 1), predicate)

    def select(self, condition: Scalar, a: Scalar, b: Scalar) -> Scalar:
        if a is b or condition.number is not None:
            return b if condition.is_number(0) else a
        return self._node("arith.select", (condition, a, b), a.type, ranges.union(a.range, b.range))

    def moved(self, pointer: Scalar, offset: Scalar) -> Scalar:
        """tt.addptr"""
        if offset.is_number(0):
            return pointer
        return self._node("tt.addptr", (pointer, offset), pointer.type, Range(0, 0))

    def cast(self, pointer: Scalar, type_: Attribute) -> Scalar:
        """tt.bitcast of a pointer"""
        return pointer if pointer.type == type_ else self._node("tt.bitcast", (pointer,), type_, Range(0, 0))

    def _node(
        self, op: str, operands: tuple[Scalar, ...], type_: Attribute, known: Range, predicate: str = ""
    ) -> Scalar:
        assert self.at is not None
        # Within one block the first op that wants a scalar precedes the others.
        key = (op, predicate, type_, self.at.parent, *map(id, operands))
        if key not in self._made:
            name = f"{op} {predicate}".rstrip()
            self._made[key] = Scalar(type_, known, op=name, operands=operands, anchor=self.at)
        return self._made[key]

    # --- comparing ------------------------------------------------------------------------------------------------

    def same(self, a: Scalar, b: Scalar) -> bool:
        """Whether both are made in the same way of the same values, perhaps at different places."""
        if a is b:
            return True
        if not a.op or a.op == JOIN or a.op != b.op or a.type != b.type:
            return False
        return all(map(self.same, a.operands, b.operands))

    def here(self, a: Scalar) -> Scalar:
        """The scalar made where this one stands: what two branches make of values from before them is known there."""
        if not a.op or a.op == JOIN:
            return a
        name, _, predicate = a.op.partition(" ")
        return self._node(name, tuple(map(self.here, a.operands)), a.type, a.range, predicate)

    # --- adding to the IR ---------------------------------------------------------------------------------------

    def placed(self, scalar: Scalar) -> SSAValue:
        """The scalar as a value of the IR."""
        if scalar.value is None and scalar.op == JOIN:
            scalar.value = self.joined(scalar)
        elif scalar.value is None:
            op = self._constant(scalar) if scalar.number is not None else self._operation(scalar)
            scalar.value = op.results[0]
        return scalar.value

    def _constant(self, scalar: Scalar) -> Operation:
        assert scalar.number is not None and isinstance(scalar.type, (IntegerType, IndexType))
        op = arith.ConstantOp(IntegerAttr(scalar.number, scalar.type))
        first = self.entry.first_op
        assert first is not None
        op.location = first.location
        self.entry.insert_op_before(op, first)
        return op

    def _operation(self, scalar: Scalar) -> Operation:
        name, _, predicate = scalar.op.partition(" ")
        operands = [self.placed(operand) for operand in scalar.operands]
        properties: dict[str, Attribute] = {}
        if predicate:
            properties["predicate"] = IntegerAttr(INTEGER_PREDICATE.values[predicate], i64)
        op = _CLASSES[name].create(operands=operands, result_types=[scalar.type], properties=properties)
        anchor = scalar.anchor
        while anchor is not None and anchor in self.instead:
            anchor = self.instead[anchor]
        assert anchor is not None and anchor.parent is not None
        op.location = anchor.location
        anchor.parent.insert_op_before(op, anchor)
        return op
