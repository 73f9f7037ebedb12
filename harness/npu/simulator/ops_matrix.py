"""The matrix unit: accumulator = c + a @ b.

K is taken in chunks of as many terms as the array has rows, in order; within a chunk the order is not specified.
Products and sums are of 32 bits (of 64 for f64); the sum is rounded once, to the accumulator's type, after the last
chunk.
"""

from __future__ import annotations

import numpy as np

from harness.ir.enums import INPUT_PRECISION, SCALED_ELEMENT
from harness.npu.isa.program import Instruction, Operand, Tile
from harness.npu.simulator.loader import Loader, Step, opcode
from harness.npu.simulator.state import State
from harness.semantics.dot import decode_scaled, dot_float, dot_integer
from harness.semantics.types import Array, is_float

# The element types of tiles that hold the elements of an operand of matmul_scaled.
_HOLDS = {
    "e4m3": ("i8", "f8E4M3FN"),
    "e5m2": ("i8", "f8E5M2"),
    "e2m1": ("i8",),
    "bf16": ("bf16",),
    "fp16": ("f16",),
}


def multiplied(a: Array, b: Array, c: Array, precision: str, rows: int) -> Array:
    """c + a @ b for a (..., M, K) and b (..., K, N), in chunks of `rows` terms, of c's type."""
    terms = a.shape[-1]
    if c.dtype == np.int32:
        return dot_integer(a, b, c)  # exact, in whatever order
    total = c if c.dtype.itemsize >= 4 else c.astype(np.float32)
    for first in range(0, terms, rows):
        total = dot_float(a[..., first : first + rows], b[..., first : first + rows, :], total, precision)
    return total.astype(c.dtype, copy=False)


def _check_lanes(loader: Loader, tile: Tile, name: str) -> None:
    last = len(tile.extents) - 1
    loader.expect(last >= 1, f"{name} has one axis")
    loader.expect(tile.lane_axis == last, f"the lanes are axis {tile.lane_axis} of {name}, and have to be axis {last}")


def _accumulator(loader: Loader, instruction: Instruction, c: Operand | None) -> Tile:
    result = loader.tile(instruction.results[0], "the accumulator")
    _check_lanes(loader, result, "the accumulator")
    if isinstance(c, Tile):
        _check_lanes(loader, c, "the addend")
        loader.expect(c.extents == result.extents, f"an addend of {c.extents} to {result.extents}")
    loader.expect(c is not None and c.element == result.element, "addend and accumulator are of one type")
    return result


@opcode("matmul")
def _matmul(loader: Loader, pc: int, instruction: Instruction) -> Step:
    a, b = (loader.tile(operand, "an operand") for operand in instruction.operands[:2])
    c = instruction.operands[2]
    result = _accumulator(loader, instruction, c)
    for name, tile in (("a", a), ("b", b)):
        _check_lanes(loader, tile, name)
    *batch, m, n = result.extents
    fits = list(a.extents[:-1]) == [*batch, m] and list(b.extents) == [*batch, a.extents[-1], n]
    loader.expect(fits, f"a product of {a.extents} and {b.extents} to {result.extents}")
    integers = (a.element, b.element, result.element) == ("i8", "i8", "i32")
    floats = is_float(a.element) and is_float(b.element) and is_float(result.element)
    loader.expect(integers or floats, f"a product of {a.element} and {b.element} into {result.element}")
    precision = INPUT_PRECISION.keywords.get(instruction.immediates[0])
    loader.expect(precision is not None, f"input precision {instruction.immediates[0]}")
    rank, rows = len(result.extents), loader.machine.matrix.rows
    read_a, read_b, read_c = loader.read(a, 0), loader.read(b, 0), loader.read(c, rank)
    write = loader.write(result)

    def run(state: State) -> None:
        product = multiplied(read_a(state), read_b(state), read_c(state), precision or "", rows)
        write(state, product)

    return run


def _unpacked(loader: Loader, operand: Operand | None, kind: str, packed_axis: int) -> tuple[int, ...]:
    """The extents of an operand's elements, of which a byte may hold two."""
    tile = loader.tile(operand, "an operand")
    loader.expect(len(tile.extents) >= 2, f"an operand of {len(tile.extents)} axis")
    loader.expect(tile.element in _HOLDS.get(kind, ()), f"a tile of {tile.element} holds no {kind}")
    extents = list(tile.extents)
    if kind == "e2m1":
        extents[packed_axis] *= 2
    return tuple(extents)


def _check_scale(loader: Loader, operand: Operand | None, scaled: tuple[int, ...]) -> None:
    """One for each group of elements along K, the last axis of both."""
    if operand is None:
        return
    extents = loader.tile(operand, "a scale").extents
    fits = len(extents) == len(scaled) and extents[:-1] == scaled[:-1] and scaled[-1] % extents[-1] == 0
    loader.expect(fits, f"a scale of {extents} for {scaled}")


@opcode("matmul_scaled")
def _matmul_scaled(loader: Loader, pc: int, instruction: Instruction) -> Step:
    a, a_scale, b, b_scale, c = instruction.operands
    result = _accumulator(loader, instruction, c)
    a_type, b_type, _, a_packs, b_packs = instruction.immediates
    kinds = [SCALED_ELEMENT.keywords.get(kind) for kind in (a_type, b_type)]
    loader.expect(None not in kinds, f"scaled element types {a_type} and {b_type}")
    left = _unpacked(loader, a, kinds[0] or "", -1 if a_packs else -2)
    right = _unpacked(loader, b, kinds[1] or "", -2 if b_packs else -1)
    *batch, m, n = result.extents
    fits = left == (*batch, m, left[-1]) and right == (*batch, left[-1], n)
    loader.expect(fits, f"a product of {left} and {right} to {result.extents}")
    _check_scale(loader, a_scale, left)
    _check_scale(loader, b_scale, (*batch, n, left[-1]))
    rank, rows = len(result.extents) + 1, loader.machine.matrix.rows
    reads = [None if operand is None else loader.read(operand, 0) for operand in (a, a_scale, b, b_scale)]
    read_c, write = loader.read(c, rank - 1), loader.write(result)
    k_a, k_b = rank - 1, rank - 2

    def run(state: State) -> None:
        left, left_scale, right, right_scale = (None if read is None else read(state) for read in reads)
        assert left is not None and right is not None
        first = decode_scaled(left, left_scale, kinds[0] or "", k_a, k_a if a_packs else rank - 2)
        second = decode_scaled(right, right_scale, kinds[1] or "", k_b, k_b if b_packs else rank - 1)
        write(state, multiplied(first, second, read_c(state), "ieee", rows))

    return run
