"""What is known of scalar integers without running anything: bounds, and a power of two that divides them.

Arithmetic wraps around in the type's width, as it does on every target. A power of two that divides both operands
still divides a wrapped result, which is why `program_id * 128 + 0..127` is known not to wrap inside the tile.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IndexType, IntegerAttr, IntegerType
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from harness.ir import attribute

_MOST = 1 << 62  # as a factor: of zero, which everything divides


@dataclass(frozen=True)
class Range:
    """low <= value <= high, signed, and `factor` (a power of two) divides it."""

    low: int
    high: int
    factor: int = 1

    @property
    def is_natural(self) -> bool:
        return self.low >= 0

    def within(self, width: int) -> Range:
        """The range of the value wrapped to a width."""
        if -(1 << width - 1) <= self.low and self.high < 1 << width - 1:
            return self
        return full(width, min(self.factor, 1 << width))


def full(width: int, factor: int = 1) -> Range:
    return Range(-(1 << width - 1), (1 << width - 1) - 1, factor)


def exactly(number: int) -> Range:
    return Range(number, number, number & -number or _MOST)


def add(a: Range, b: Range) -> Range:
    return Range(a.low + b.low, a.high + b.high, min(a.factor, b.factor))


def subtract(a: Range, b: Range) -> Range:
    return Range(a.low - b.high, a.high - b.low, min(a.factor, b.factor))


def multiply(a: Range, b: Range) -> Range:
    corners = [x * y for x in (a.low, a.high) for y in (b.low, b.high)]
    return Range(min(corners), max(corners), min(a.factor * b.factor, _MOST))


def union(a: Range, b: Range) -> Range:
    return Range(min(a.low, b.low), max(a.high, b.high), min(a.factor, b.factor))


def _minimum(a: Range, b: Range) -> Range:
    return Range(min(a.low, b.low), min(a.high, b.high), min(a.factor, b.factor))


def _maximum(a: Range, b: Range) -> Range:
    return Range(max(a.low, b.low), max(a.high, b.high), min(a.factor, b.factor))


def _quotient(a: Range, b: Range) -> Range | None:
    """Rounded toward zero."""
    if not (a.is_natural and b.low > 0):
        return None
    return Range(a.low // b.high, a.high // b.low)


def _remainder(a: Range, b: Range) -> Range | None:
    """With the sign of the dividend."""
    if b.low <= 0:
        return None
    most = b.high - 1
    return Range(max(a.low, -most) if a.low < 0 else 0, min(a.high, most) if a.high > 0 else 0, min(a.factor, b.factor))


def _and(a: Range, b: Range) -> Range | None:
    natural = [one.high for one in (a, b) if one.is_natural]
    return Range(0, min(natural), max(a.factor, b.factor)) if natural else None


def _shift(a: Range, b: Range) -> Range | None:
    if b.low != b.high or not 0 <= b.low < 63:
        return None
    return multiply(a, exactly(1 << b.low))


_Rule = Callable[[Range, Range], "Range | None"]
BINARY: dict[str, _Rule] = {
    "arith.addi": add,
    "arith.subi": subtract,
    "arith.muli": multiply,
    "arith.minsi": _minimum,
    "arith.maxsi": _maximum,
    "arith.divsi": _quotient,
    "arith.remsi": _remainder,
    "arith.andi": _and,
    "arith.shli": _shift,
}
# Unsigned ops mean the same on numbers that are not negative.
_AS_SIGNED = {
    "arith.divui": "arith.divsi",
    "arith.remui": "arith.remsi",
    "arith.minui": "arith.minsi",
    "arith.maxui": "arith.maxsi",
}
_EXTENSIONS = ("arith.extsi", "arith.extui", "arith.index_cast", "arith.index_castui")


def width_of(type_: Attribute) -> int:
    """Bits of an integer type; 64 of index; 0 of any other."""
    if isinstance(type_, IntegerType):
        return type_.width.data
    return 64 if isinstance(type_, IndexType) else 0


class Ranges:
    """Of the scalars of one function, each worked out once."""

    def __init__(self) -> None:
        self._known: dict[SSAValue, Range] = {}

    def of(self, value: SSAValue) -> Range:
        """The range of an integer scalar of the IR."""
        known = self._known.get(value)
        if known is None:
            # What a value depends on through a loop is not followed: it is anything while it is being worked out.
            width = width_of(value.type) or 64
            self._known[value] = full(width)
            known = self._known[value] = (self._derived(value) or full(width)).within(width)
        return known

    def _derived(self, value: SSAValue) -> Range | None:
        if isinstance(value, BlockArgument):
            return self._of_argument(value)
        op: Operation = value.owner  # pyright: ignore[reportAssignmentType]
        return self._of_result(op)

    def _of_argument(self, value: BlockArgument) -> Range | None:
        parent = value.block.parent_op()
        if parent is None:
            return None
        if parent.name == "scf.for" and value.index == 0 and "unsignedCmp" not in parent.properties:
            low, high, step = (self.of(operand) for operand in parent.operands[:3])
            top = max(low.low, high.high - 1)
            return Range(low.low, top, min(low.factor, step.factor)) if step.low > 0 else None
        return _declared(parent, value.index) if value.block.parent_block() is None else None

    def _of_result(self, op: Operation) -> Range | None:
        if op.name == "arith.constant":
            number = _number(attribute(op, "value"))
            return None if number is None else exactly(number)
        if op.name == "tt.get_program_id":
            return Range(0, (1 << 31) - 2)
        if op.name == "tt.get_num_programs":
            return Range(1, (1 << 31) - 1)
        if op.name in _EXTENSIONS:
            source = self.of(op.operands[0])
            return source if op.name in ("arith.extsi", "arith.index_cast") or source.is_natural else None
        if op.name == "arith.trunci":
            return self.of(op.operands[0])
        if op.name == "arith.select":
            return union(self.of(op.operands[1]), self.of(op.operands[2]))
        return self._of_binary(op)

    def _of_binary(self, op: Operation) -> Range | None:
        name = _AS_SIGNED.get(op.name, op.name)
        rule = BINARY.get(name)
        if rule is None or len(op.operands) != 2:
            return None
        a, b = self.of(op.operands[0]), self.of(op.operands[1])
        if name != op.name and not (a.is_natural and b.is_natural):
            return None
        return rule(a, b)


def _number(value: Any) -> int | None:
    return value.value.data if isinstance(value, IntegerAttr) else None


def _declared(function: Operation, index: int) -> Range | None:
    """What a kernel's parameter says of itself: `tt.divisibility`, which the launcher has checked."""
    attributes = function.properties.get("arg_attrs")
    if not isinstance(attributes, ArrayAttr) or index >= len(attributes.data):
        return None
    entry = attributes.data[index]
    number = _number(entry.data.get("tt.divisibility")) if isinstance(entry, DictionaryAttr) else None
    width = width_of(function.regions[0].blocks[0].args[index].type)
    return full(width, number & -number) if number and width else None
