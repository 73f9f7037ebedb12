"""Matrix products of a batch: shared tiles, sums put off, loops of different lengths. Whole numbers are exact in
f32, so every way must give the same bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl
from executor_kit import everywhere, ttir

POINTERS = dict.fromkeys("xyz", "*fp32")
BLOCK = 16


@triton.jit
def tiled(x, y, z, m, n, k, BLOCK: tl.constexpr):
    """Masked tiles of a grid, the row of tiles moving fastest."""
    row, column = tl.program_id(0), tl.program_id(1)
    lanes = tl.arange(0, BLOCK)
    rows, columns = row * BLOCK + lanes, column * BLOCK + lanes
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, k, BLOCK):
        inner = start + lanes
        a = tl.load(x + rows[:, None] * k + inner[None, :], (rows[:, None] < m) & (inner[None, :] < k), 0.0)
        b = tl.load(y + inner[:, None] * n + columns[None, :], (inner[:, None] < k) & (columns[None, :] < n), 0.0)
        total = tl.dot(a, b, total)
    tl.store(z + rows[:, None] * n + columns[None, :], total, (rows[:, None] < m) & (columns[None, :] < n))


@triton.jit
def wrapped_rows(x, y, z, m, n, k, BLOCK: tl.constexpr):
    """The tutorial's way round the tail: indices modulo the extent, stores masked; columns move fastest."""
    number = tl.program_id(0) * tl.num_programs(1) + tl.program_id(1)
    across = tl.cdiv(n, BLOCK)
    row, column = number // across, number % across
    lanes = tl.arange(0, BLOCK)
    rows, columns = (row * BLOCK + lanes) % m, (column * BLOCK + lanes) % n
    a_at = x + rows[:, None] * k + lanes[None, :]
    b_at = y + lanes[:, None] * n + columns[None, :]
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, k, BLOCK):
        a = tl.load(a_at, lanes[None, :] < k - start, 0.0)
        b = tl.load(b_at, lanes[:, None] < k - start, 0.0)
        total += tl.dot(a, b)
        a_at += BLOCK
        b_at += BLOCK * n
    rows, columns = row * BLOCK + lanes, column * BLOCK + lanes
    tl.store(z + rows[:, None] * n + columns[None, :], total, (rows[:, None] < m) & (columns[None, :] < n))


@triton.jit
def two_in_a_row(x, y, z, m, n, k, BLOCK: tl.constexpr):
    """A product whose accumulator is a product's, read and changed between trips; x is square here."""
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    square = lanes[:, None] * k + lanes[None, :]
    a = tl.load(x + row * BLOCK * k + square, lanes[None, :] < k)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for trip in range(row + 1):
        total = tl.dot(a, tl.trans(a), total)
        if trip == 1:
            total = total - 1.0
        total = tl.dot(tl.trans(a), a, total)
    tl.store(z + row * BLOCK * BLOCK + lanes[:, None] * BLOCK + lanes[None, :], total)


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).integers(-3, 4, shape).astype(np.float32)


@pytest.mark.parametrize("kernel", [tiled, wrapped_rows])
@pytest.mark.parametrize(("m", "n", "k"), [(64, 48, 32), (50, 33, 40), (16, 100, 7), (100, 16, 16), (3, 5, 9)])
def test_matmul(kernel: Any, m: int, n: int, k: int) -> None:
    x, y, z = numbers(m, k), numbers(k, n), np.full((m, n), -1, np.float32)
    text = ttir(kernel, {**POINTERS, **dict.fromkeys("mnk", "i32")}, {"BLOCK": BLOCK})
    grid = (-(-m // BLOCK), -(-n // BLOCK))
    got = everywhere(text, [x, y, z, m, n, k], grid)[2]
    assert np.array_equal(got, x @ y)


def test_products_in_a_row_in_loops_of_different_lengths() -> None:
    k = BLOCK
    x, z = numbers(4 * BLOCK, k), np.zeros((4, BLOCK, BLOCK), np.float32)
    text = ttir(two_in_a_row, {**POINTERS, **dict.fromkeys("mnk", "i32")}, {"BLOCK": BLOCK})
    got = everywhere(text, [x, x, z, 0, 0, k], (4,))[2]
    for row in range(4):
        a = x[row * BLOCK : (row + 1) * BLOCK]
        want = (row + 1) * (a @ a.T + a.T @ a) - (row >= 1)
        assert np.array_equal(got[row], want)


@triton.jit
def rewrites_its_operand(x, y, z, BLOCK: tl.constexpr):
    """The operand's memory changes after the load and before the product is read."""
    pid = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    square = lanes[:, None] * BLOCK + lanes[None, :]
    a = tl.load(x + pid * BLOCK * BLOCK + square)
    b = tl.load(y + square)
    total = tl.dot(a, b)
    tl.store(x + pid * BLOCK * BLOCK + square, tl.zeros((BLOCK, BLOCK), tl.float32))
    tl.store(z + pid * BLOCK * BLOCK + square, total + a)


def test_a_product_put_off_keeps_what_was_loaded() -> None:
    x, y, z = numbers(3, BLOCK, BLOCK), numbers(BLOCK, BLOCK), np.zeros((3, BLOCK, BLOCK), np.float32)
    text = ttir(rewrites_its_operand, POINTERS, {"BLOCK": BLOCK})
    left, _, got = everywhere(text, [x, y, z], (3,))
    assert not left.any() and np.array_equal(got, x @ y + x)


@triton.jit
def adds_to_what_programs_share(x, y, z, BLOCK: tl.constexpr):
    """The accumulator is a tile that every program reads: Triton makes one op of the product and the addition."""
    pid = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    square = lanes[:, None] * BLOCK + lanes[None, :]
    a = tl.load(x + pid * BLOCK * BLOCK + square)
    shared = tl.load(y + (pid // 4) * BLOCK * BLOCK + square)
    tl.store(z + pid * BLOCK * BLOCK + square, tl.dot(a, shared, shared))


def test_a_product_is_added_to_a_tile_that_programs_share() -> None:
    x, y, z = numbers(8, BLOCK, BLOCK), numbers(2, BLOCK, BLOCK), np.zeros((8, BLOCK, BLOCK), np.float32)
    text = ttir(adds_to_what_programs_share, POINTERS, {"BLOCK": BLOCK})
    shared = np.repeat(y, 4, axis=0)
    assert np.array_equal(everywhere(text, [x, y, z], (8,))[2], x @ shared + shared)
