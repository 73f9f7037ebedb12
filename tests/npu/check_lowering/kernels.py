"""Small kernels, each with the arguments of one launch: what lowering faults are looked for with."""

# A constexpr parameter takes a plain value.
# pyright: reportArgumentType=false, reportIndexIssue=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import triton
import triton.language as tl


@triton.jit
def copy_tile(out, x, rows, columns, first, M: tl.constexpr, N: tl.constexpr):
    """Rows from `first` up to `rows`, `columns` of them, twice as large; the rest of the block is 7."""
    row = tl.program_id(0) * M + tl.arange(0, M)[:, None]
    column = tl.arange(0, N)[None, :]
    inside = (row >= first) & (row < rows) & (column < columns)
    value = tl.load(x + row * columns + column, inside, other=7.0)
    tl.store(out + row * N + column, value * 2, row < rows)


@triton.jit
def matmul(out, a, b, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    rows, columns, inner = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    left = a + rows[:, None] * k + inner[None, :]
    right = b + inner[:, None] * N + columns[None, :]
    total = tl.zeros((M, N), tl.float32) + 1
    for step in range(0, k, K):
        x = tl.load(left, inner[None, :] < k - step, other=0.0)
        y = tl.load(right, inner[:, None] < k - step, other=0.0)
        total = tl.dot(x, y, total, input_precision="ieee")
        left += K
        right += K * N
    tl.store(out + rows[:, None] * N + columns[None, :], total)


@triton.jit
def normalise(out, x, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    row = tl.program_id(0)
    value = tl.load(x + row * n + at, at < n, other=0.0)
    top = tl.max(value, 0)
    share = (value - top) / (tl.sum(tl.abs(value), 0) + 1)
    tl.store(out + row * n + at, share - value, at < n)


@triton.jit
def wrapped(out, x, rows, M: tl.constexpr, N: tl.constexpr):
    row = (tl.program_id(0) * M + tl.arange(0, M)) % rows
    column = tl.arange(0, N)
    value = tl.load(x + row[:, None] * N + column[None, :])
    tl.store(out + tl.program_id(0) * M * N + tl.arange(0, M)[:, None] * N + column[None, :], value)


@triton.jit
def fibonacci(out, x, n, BLOCK: tl.constexpr):
    """Two tiles that change places in every trip, and two scalars."""
    at = tl.arange(0, BLOCK)
    older, newer = tl.load(x + at), tl.load(x + BLOCK + at)
    small, large = 1, 2
    for _ in range(n):
        older, newer = newer, older + newer
        small, large = large, small + large
    tl.store(out + at, older * small - newer * large)


@triton.jit(noinline=True)
def difference(a, b):
    return a - b


@triton.jit
def calls(out, x, n, m, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at) * difference(n, m))


@triton.jit
def counts(out, x, limit, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at)
    tl.atomic_add(out + value % 4, value, value < limit)


@triton.jit
def rewrites(out, x, BLOCK: tl.constexpr):
    """Reads what it has just stored, elsewhere."""
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at) + 1)
    tl.debug_barrier()
    tl.store(out + BLOCK + at, tl.load(out + (BLOCK - 1) - at))


@triton.jit
def doubles(out, x, n, BLOCK: tl.constexpr):
    """`out` may be `x`, further on: a trip then reads what the one before has stored."""
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        tl.store(out + at, tl.load(x + at) * 2)


def _numbers(*shape: int) -> torch.Tensor:
    """Different everywhere, and summed exactly in any order."""
    count = 1
    for extent in shape:
        count *= extent
    return (torch.arange(count, dtype=torch.float32) * 37 % 101 - 50).reshape(shape)


def _integers(count: int) -> torch.Tensor:
    return torch.arange(count, dtype=torch.int32)


def _double_onwards() -> None:
    memory = _numbers(160)
    doubles[(1,)](memory[32:], memory, 128, BLOCK=32)


Launch = Callable[[], Any]


def launches() -> dict[str, Launch]:
    """Each launches its kernel on the active driver, on memory of its own."""
    return {
        "copy_tile": lambda: copy_tile[(2,)](torch.zeros(64, 16), _numbers(64, 13), 53, 13, 2, M=32, N=16),
        "matmul": lambda: matmul[(1,)](torch.zeros(16, 32), _numbers(16, 40), _numbers(40, 32), 40, M=16, N=32, K=16),
        "normalise": lambda: normalise[(3,)](torch.zeros(3, 200), _numbers(3, 200), 200, BLOCK=256),
        "wrapped": lambda: wrapped[(3,)](torch.zeros(48, 16), _numbers(20, 16), 20, M=16, N=16),
        "fibonacci": lambda: fibonacci[(1,)](torch.zeros(64), _numbers(128), 5, BLOCK=64),
        "calls": lambda: calls[(1,)](torch.zeros(32), _numbers(32), 5, 3, BLOCK=32),
        "counts": lambda: counts[(1,)](_integers(4) * 0, _integers(64), 50, BLOCK=64),
        "doubles": lambda: doubles[(1,)](torch.zeros(128), _numbers(128), 128, BLOCK=32),
        "doubles_onwards": _double_onwards,
        "rewrites": lambda: rewrites[(1,)](torch.zeros(128), _numbers(64), BLOCK=64),
    }
