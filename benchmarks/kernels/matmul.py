"""Matrix products: whole tiles, tails masked on every side, and half precision in grouped program order."""

import torch
import triton
import triton.language as tl

from benchmarks.benchmark import Benchmark, blocks
from harness.cases import Buffer, KernelCase, empty


@triton.jit
def matmul_kernel(a, b, out, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Whole tiles: no masks."""
    row = tl.program_id(1) * BM + tl.arange(0, BM)
    col = tl.program_id(0) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    a_at = a + row[:, None] * K + k[None, :]
    b_at = b + k[:, None] * N + col[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        acc = tl.dot(tl.load(a_at), tl.load(b_at), acc, input_precision="ieee")
        a_at += BK
        b_at += BK * N
    tl.store(out + row[:, None] * N + col[None, :], acc)


@triton.jit
def masked_kernel(a, b, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row = tl.program_id(1) * BM + tl.arange(0, BM)
    col = tl.program_id(0) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a_tile = tl.load(a + row[:, None] * K + k[None, :], mask=(row < M)[:, None] & (k < K)[None, :], other=0.0)
        b_tile = tl.load(b + k[:, None] * N + col[None, :], mask=(k < K)[:, None] & (col < N)[None, :], other=0.0)
        acc = tl.dot(a_tile, b_tile, acc, input_precision="ieee")
    tl.store(out + row[:, None] * N + col[None, :], acc, mask=(row < M)[:, None] & (col < N)[None, :])


@triton.jit
def grouped_kernel(
    a, b, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr
):  # fmt: skip
    """As Triton's tutorial has it: a 1-D grid, programs in groups of rows, rows and columns that wrap."""
    pid = tl.program_id(0)
    rows, cols = tl.cdiv(M, BM), tl.cdiv(N, BN)
    in_group = GROUP * cols
    first = pid // in_group * GROUP
    height = min(rows - first, GROUP)
    pid_m = first + (pid % in_group) % height
    pid_n = (pid % in_group) // height
    row = (pid_m * BM + tl.arange(0, BM)) % M
    col = (pid_n * BN + tl.arange(0, BN)) % N
    k = tl.arange(0, BK)
    a_at = a + row[:, None] * K + k[None, :]
    b_at = b + k[:, None] * N + col[None, :]
    acc = tl.zeros((BM, BN), tl.float32)
    for step in range(tl.cdiv(K, BK)):
        a_tile = tl.load(a_at, mask=k[None, :] < K - step * BK, other=0.0)
        b_tile = tl.load(b_at, mask=k[:, None] < K - step * BK, other=0.0)
        acc = tl.dot(a_tile, b_tile, acc)
        a_at += BK
        b_at += BK * N
    row = pid_m * BM + tl.arange(0, BM)
    col = pid_n * BN + tl.arange(0, BN)
    tl.store(out + row[:, None] * N + col[None, :], acc.to(tl.float16), mask=(row < M)[:, None] & (col < N)[None, :])


def _matmul(kernel, shape, dtype, grid, **settings) -> KernelCase:
    m, n, k = shape
    return KernelCase(
        kernel,
        grid=grid,
        args=dict(a=Buffer((m, k), dtype), b=Buffer((k, n), dtype), out=empty((m, n), dtype), N=n, K=k, **settings),
        reference=lambda a, b: a @ b,
        reduction=k,
    )


def matmul(scale: int) -> KernelCase:
    m, n, k = 1024 * scale, 1024, 1024
    return _matmul(matmul_kernel, (m, n, k), "fp32", (n // 128, m // 128), BM=128, BN=128, BK=32)


def masked(scale: int) -> KernelCase:
    m, n, k = 1000 * scale, 1000, 1000
    grid = (blocks(n, 128), blocks(m, 128))
    return _matmul(masked_kernel, (m, n, k), "fp32", grid, M=m, BM=128, BN=128, BK=32)


def grouped(scale: int) -> KernelCase:
    m, n, k = 1024 * scale, 1024, 1024
    grid = (blocks(n, 128) * blocks(m, 128),)
    return _matmul(grouped_kernel, (m, n, k), "fp16", grid, M=m, BM=128, BN=128, BK=32, GROUP=8)


def eager(a, b, out):
    return lambda: torch.matmul(a, b, out=out)


def eager_through_fp32(a, b, out):
    """torch's own fp16 product on a CPU without fp16 arithmetic takes seconds: this is what one would write there."""
    wide_a, wide_b, wide_out = (torch.empty(one.shape, dtype=torch.float32) for one in (a, b, out))
    return lambda: out.copy_(torch.matmul(wide_a.copy_(a), wide_b.copy_(b), out=wide_out))


MATMUL = Benchmark("matmul", "1024x1024x1024 fp32", matmul, eager)
MATMUL_MASKED = Benchmark("matmul_masked", "1000x1000x1000 fp32", masked, eager)
MATMUL_FP16 = Benchmark("matmul_fp16", "1024x1024x1024 fp16", grouped, eager_through_fp32)
