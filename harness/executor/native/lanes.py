"""What a value is at one point of a loop nest, and the LLVM types and constants it is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from llvmlite import ir

WIDTH = 16  # elements in a vector, at most: one AVX-512 register of f32; narrower machines split it

I1, I8, I32, I64 = (ir.IntType(bits) for bits in (1, 8, 32, 64))
POINTER = ir.PointerType()
TYPES: dict[str, Any] = {
    "i1": I1,
    "i8": I8,
    "i16": ir.IntType(16),
    "i32": I32,
    "i64": I64,
    "index": I64,
    "f32": ir.FloatType(),
    "f64": ir.DoubleType(),
    "ptr": I64,  # a byte offset into its allocation
}
SIZES = {"i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8, "index": 8, "f32": 4, "f64": 8}


@dataclass(frozen=True)
class Lane:
    """A value along the innermost axis of a nest.

    `stride` None: `value` is an LLVM vector, one element for each of the next indices.
    `stride` 0: `value` is a scalar, the same for all of them.
    Any other stride (integers only): `value` is the scalar of the first index, the others follow at that distance.
    `depth` is the number of loops the value is inside of.
    """

    value: Any
    stride: int | None
    depth: int

    @property
    def is_uniform(self) -> bool:
        return self.stride == 0

    @property
    def is_vector(self) -> bool:
        return self.stride is None

    @property
    def type(self) -> Any:
        """Of one element."""
        return self.value.type.element if self.is_vector else self.value.type


def constant(type_: Any, value: Any) -> ir.Constant:
    return ir.Constant(type_, value)


def number(value: int) -> ir.Constant:
    return ir.Constant(I64, value)


def splat(builder: ir.IRBuilder, value: Any, width: int) -> Any:
    """A scalar in all elements of a vector."""
    vector = ir.VectorType(value.type, width)
    if isinstance(value, ir.Constant):
        return ir.Constant(vector, [value.constant] * width)
    first = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.Constant(I32, 0))
    return builder.shuffle_vector(
        first, ir.Constant(vector, ir.Undefined), ir.Constant(ir.VectorType(I32, width), [0] * width)
    )


def spread(builder: ir.IRBuilder, lane: Lane, width: int) -> Any:
    """The lane as a vector."""
    if lane.is_vector:
        return lane.value
    vector = splat(builder, lane.value, width)
    if lane.is_uniform:
        return vector
    assert lane.stride is not None
    every = (1 << lane.value.type.width) - 1
    steps = ir.Constant(vector.type, [lane.stride * index & every for index in range(width)])
    return builder.add(vector, steps)
