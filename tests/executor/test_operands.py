"""Operands of matrix products: what masks leave of them, and where slices of K go."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import triton
import triton.language as tl
from executor_kit import plan_of, run, ttir

from harness.executor import ExecutorOptions
from harness.executor.native import gather
from harness.executor.products import Strip, Trimmed, lazy_product

ROWS, COLUMNS, TERMS, PROGRAMS, STEPS, SOURCE = 64, 32, 16, 192, 5, 700


@triton.jit
def gathered_product_kernel(
    index, valid, x, w, out, channel_stride, x_low, x_high, w_low, w_high,
    M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, STEPS: tl.constexpr,
):  # fmt: skip
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    row = tl.program_id(0) * M + m
    at = tl.load(index + row)
    total = tl.zeros((M, N), tl.float32)
    for step in range(STEPS):
        ok = tl.load(valid + row + step) != 0
        inside = ok[:, None] & (k >= x_low)[None, :] & (k < x_high)[None, :]
        left = tl.load(x + (at + step)[:, None] + k[None, :] * channel_stride, mask=inside, other=0.0)
        known = (k >= w_low)[:, None] & (k < w_high)[:, None]
        right = tl.load(w + step * K * N + k[:, None] * N + n[None, :], mask=known, other=0.0)
        total += tl.dot(left, right, input_precision="ieee")
    tl.store(out + row[:, None] * N + n[None, :], total)


@functools.cache
def _text() -> str:
    signature = {
        **dict(index="*i64", valid="*i8", x="*fp32", w="*fp32", out="*fp32", channel_stride="i32"),
        **dict(x_low="i32", x_high="i32", w_low="i32", w_high="i32"),
    }
    return ttir(gathered_product_kernel, signature, dict(M=ROWS, N=COLUMNS, K=TERMS, STEPS=STEPS))


def _products(bounds: tuple[int, int, int, int], poison: float, channel_stride: int) -> list[np.ndarray]:
    """The product as NumPy has it, then with and without native code. Small whole numbers: every order of addition
    gives the same. `poison` lies where the masks forbid, of both operands."""
    assert gather.worth_it((PROGRAMS * ROWS, 3))
    random = np.random.default_rng(sum(bounds))
    x_low, x_high, w_low, w_high = bounds
    index = random.integers(0, SOURCE, PROGRAMS * ROWS)
    valid = (random.random(index.size + STEPS) < 0.7).astype(np.int8)
    x = random.integers(-4, 5, SOURCE + STEPS + TERMS * max(channel_stride, 1)).astype(np.float32)
    w = random.integers(-4, 5, (STEPS, TERMS, COLUMNS)).astype(np.float32)
    k = np.arange(TERMS)
    w[:, (k < w_low) | (k >= w_high)] = poison
    inside, known = (k >= x_low) & (k < x_high), (k >= w_low) & (k < w_high)
    want = np.zeros((index.size, COLUMNS), np.float32)
    for step in range(STEPS):
        taken = (valid[step : step + index.size] != 0)[:, None] & inside
        left = np.where(taken, x[(index + step)[:, None] + k * channel_stride], np.float32(0))
        want += left @ np.where(known[:, None], w[step], np.float32(0))
    out = np.full_like(want, np.nan)
    arguments = [index, valid, x, w, out, channel_stride, *bounds]
    outcomes = [
        run(plan_of(_text()), arguments, (PROGRAMS,), ExecutorOptions(native=native)) for native in (True, False)
    ]
    return [want, *(outcome.arrays[4].reshape(want.shape) for outcome in outcomes)]


@pytest.mark.parametrize("channel_stride", [41, 1, 0])
@pytest.mark.parametrize(
    "bounds",
    [
        (0, TERMS, 0, TERMS),
        (0, 3, 0, 3),
        (2, 9, 2, 9),
        (5, 6, 5, 6),
        (0, 3, 0, 4),
        (0, 3, 0, TERMS),
        (0, TERMS, 3, 4),
        (0, 0, 0, 0),
        (7, 3, 7, 3),
    ],
)
def test_bounds_on_k(bounds: tuple[int, int, int, int], channel_stride: int) -> None:
    want, native, numpy = _products(bounds, np.inf, channel_stride)
    assert np.array_equal(native, want)
    assert np.array_equal(numpy, want)


def test_zero_times_infinity_is_nan_where_one_operand_only_is_bounded() -> None:
    """The bound of the left operand says nothing of the right one."""
    index, valid = np.zeros(PROGRAMS * ROWS, np.int64), np.ones(PROGRAMS * ROWS + STEPS, np.int8)
    x = np.ones(SOURCE + STEPS + TERMS, np.float32)
    w = np.ones((STEPS, TERMS, COLUMNS), np.float32)
    w[:, 9] = np.inf
    out = np.zeros((index.size, COLUMNS), np.float32)
    for native in (True, False):
        arguments = [index, valid, x, w, out, 1, 0, 3, 0, TERMS]
        outcome = run(plan_of(_text()), arguments, (PROGRAMS,), ExecutorOptions(native=native))
        assert np.isnan(outcome.arrays[4]).all()


# --- the pieces ------------------------------------------------------------------------------------------------------


def test_a_trimmed_operand_is_zero_outside() -> None:
    inner = np.arange(1, 7, dtype=np.float32).reshape(1, 2, 3)
    got = Trimmed(inner, axis=1, lower=2, upper=5, extent=8).array()
    assert got.tolist() == [[[0, 0, 1, 2, 3, 0, 0, 0], [0, 0, 4, 5, 6, 0, 0, 0]]]


def _slices(strip: Strip, count: int) -> list[np.ndarray]:
    made = []
    for number in range(count):
        piece = strip.next(4, (2, 3), np.dtype(np.float32))
        piece[...] = np.arange(piece.size).reshape(piece.shape) + 100 * number
        made.append(piece.transpose(1, 2, 0))
    return made


@pytest.mark.parametrize("order", [[0, 1, 2], [1, 2], [2, 1], [0, 2]])
def test_slices_of_k_are_put_side_by_side_in_any_order(order: list[int]) -> None:
    made = _slices(Strip(), 3)
    lefts = [made[number] for number in order]
    rights = [np.full((1, 4, 5), number + 1, np.float32) for number in order]
    zero = np.zeros((1, 1, 1), np.float32)
    product = lazy_product(zero, lefts[0], rights[0], "ieee")
    for left, right in zip(lefts[1:], rights[1:], strict=True):
        product = lazy_product(product, left, right, "ieee")
    want = np.concatenate(lefts, axis=-1) @ np.concatenate(rights, axis=-2)
    assert np.array_equal(product.array(), want)


def test_a_strip_never_hands_out_a_place_twice() -> None:
    strip = Strip()
    made = [strip.next(100, (3,), np.dtype(np.float32)) for _ in range(20)]
    made.append(strip.next(1000, (3,), np.dtype(np.float32)))
    made.append(strip.next(100, (4,), np.dtype(np.float32)))
    for number, piece in enumerate(made):
        piece[...] = number
    assert all((piece == number).all() for number, piece in enumerate(made))
