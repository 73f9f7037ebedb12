"""Sums of a row in the very order in which NumPy adds (`pairwise_sum` of its loops), so that results agree bit by bit.

Up to 128 elements: eight running sums, element i into the sum i % 8, combined as a tree of neighbours. More: blocks
of 128, their sums combined as a tree of neighbours. And zero is added at last: NumPy's sum of -0.0 is 0.0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from harness.executor.native.arithmetic import BINARY, filled
from harness.executor.native.lanes import I32, I64, POINTER, number

_SUMS = 8
_BLOCK = 128


class PairwiseSum:
    """The sum of `extent` floats (a power of two, at least 8), `width` (8 or 16) of them at a time."""

    def __init__(self, type_: Any, extent: int, width: int, slot: Callable[[Any], Any]) -> None:
        self._type, self._width = type_, width
        self._vector = ir.VectorType(type_, _SUMS)
        self._blocks = max(1, extent // _BLOCK)
        self._running = slot(self._vector)
        self._sums = slot(ir.ArrayType(type_, self._blocks))

    def start(self, builder: ir.IRBuilder) -> None:
        builder.store(filled(self._vector, -0.0), self._running)

    def add(self, builder: ir.IRBuilder, index: Any, values: Any) -> None:
        """The elements from `index` on."""
        total = builder.load(self._running, typ=self._vector)
        for first in range(0, self._width, _SUMS):
            total = builder.fadd(total, _part(builder, values, range(first, first + _SUMS)))
        builder.store(total, self._running)
        if self._blocks > 1:
            last = builder.icmp_signed("==", builder.and_(index, number(_BLOCK - 1)), number(_BLOCK - self._width))
            with builder.if_then(last):
                self._end_block(builder, builder.lshr(index, number(_BLOCK.bit_length() - 1)))

    def _end_block(self, builder: ir.IRBuilder, block: Any) -> None:
        start = builder.ptrtoint(self._sums, I64)
        offset = builder.mul(block, number(8 if isinstance(self._type, ir.DoubleType) else 4))
        place = builder.inttoptr(builder.add(start, offset), POINTER)
        total = builder.load(self._running, typ=self._vector)
        builder.store(neighbours_folded(builder, total, "arith.addf"), place)
        builder.store(filled(self._vector, -0.0), self._running)

    def total(self, builder: ir.IRBuilder) -> Any:
        if self._blocks == 1:
            sums = builder.load(self._running, typ=self._vector)
        else:
            place = builder.bitcast(self._sums, POINTER)
            sums = builder.load(place, typ=ir.VectorType(self._type, self._blocks), align=4)
        return builder.fadd(filled(self._type, 0.0), neighbours_folded(builder, sums, "arith.addf"))


def neighbours_folded(builder: ir.IRBuilder, vector: Any, fold: str) -> Any:
    """The elements of a vector combined: each with its neighbour, then each pair with its neighbour, and so on."""
    if not isinstance(vector.type, ir.VectorType):
        return vector
    while vector.type.count > 1:
        count = vector.type.count
        even, odd = (_part(builder, vector, range(first, count, 2)) for first in (0, 1))
        vector = BINARY[fold](builder, even, odd)
    return builder.extract_element(vector, ir.Constant(I32, 0))


def _part(builder: ir.IRBuilder, vector: Any, positions: range) -> Any:
    if len(positions) == vector.type.count and positions.step == 1:
        return vector
    order = ir.Constant(ir.VectorType(I32, len(positions)), list(positions))
    return builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), order)
