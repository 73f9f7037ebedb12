"""In which element types the matrix unit of a machine multiplies, and how often rows go through the array for it."""

from __future__ import annotations

from harness.cases.location import SourceLocation
from harness.errors import IllegalInstruction, Refusal
from harness.ir.enums import INPUT_PRECISION, SCALED_ELEMENT
from harness.npu.isa.program import Instruction, Operand, Tile
from harness.npu.machine import Machine

PRODUCTS = frozenset({"matmul", "matmul_scaled"})

_SCALED = {
    "e4m3": "f8E4M3FN",
    "e5m2": "f8E5M2",
    "e2m3": "f6E2M3FN",
    "e3m2": "f6E3M2FN",
    "e2m1": "f4E2M1FN",
    "bf16": "bf16",
    "fp16": "f16",
}
# How often an f32 product goes through the array, in which type.
_PRECISIONS = {
    "tf32": (1, "tf32"),
    "tf32x3": (3, "tf32"),
    "ieee": (1, "f32"),
    "bf16x3": (3, "bf16"),
    "bf16x6": (6, "bf16"),
}


def scaled_element(number: int) -> str:
    """The element type that an operand of `matmul_scaled` is said to have."""
    return _SCALED[SCALED_ELEMENT.keywords[number]]


def passes_of(instruction: Instruction, machine: Machine, where: SourceLocation | None = None) -> int:
    """How often every row of `a` goes through the array in a product.

    Raises Refusal, at `where`, for a type that the machine does not multiply.
    """
    if instruction.opcode == "matmul_scaled":
        return max(_passes(scaled_element(number), machine, where) for number in instruction.immediates[:2])
    times, element = 1, _tile(instruction.operands[0]).element
    if element == "f32":
        times, element = _PRECISIONS[INPUT_PRECISION.keywords[instruction.immediates[0]]]
    return times * _passes(element, machine, where)


def _passes(element: str, machine: Machine, where: SourceLocation | None) -> int:
    passes = machine.matrix.passes_of(element)
    if passes is None:
        known = ", ".join(name for name, _ in machine.matrix.passes)
        raise Refusal(f"the matrix unit of {machine.name} does not multiply {element}", where, f"it does: {known}")
    return passes


def _tile(operand: Operand | None) -> Tile:
    if not isinstance(operand, Tile):
        raise IllegalInstruction("the operands of a product are tiles")
    return operand
