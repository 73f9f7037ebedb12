"""Kernels with a row to a program: softmax, layer norm, RMS norm, and the sum of columns as their opposite."""

import torch
import torch.nn.functional as functional
import triton
import triton.language as tl

from benchmarks.benchmark import Benchmark, blocks
from harness.cases import Buffer, KernelCase, Normal, Tolerance, empty

EPSILON = 1e-5
ROOT = Tolerance("rsqrt is approximate and the mean's rounding is scaled", ulp=16, absolute=4e-6)


@triton.jit
def softmax_kernel(x, out, cols, BLOCK: tl.constexpr):
    start = tl.program_id(0) * cols
    at = tl.arange(0, BLOCK)
    value = tl.load(x + start + at, mask=at < cols, other=-float("inf"))
    power = tl.exp(value - tl.max(value, axis=0))
    tl.store(out + start + at, power / tl.sum(power, axis=0), mask=at < cols)


@triton.jit
def layernorm_kernel(x, weight, bias, out, cols, eps, BLOCK: tl.constexpr):
    start = tl.program_id(0) * cols
    at = tl.arange(0, BLOCK)
    inside = at < cols
    value = tl.load(x + start + at, mask=inside, other=0.0)
    mean = tl.sum(value, axis=0) / cols
    centred = tl.where(inside, value - mean, 0.0)
    rstd = tl.rsqrt(tl.sum(centred * centred, axis=0) / cols + eps)
    scale = tl.load(weight + at, mask=inside)
    shift = tl.load(bias + at, mask=inside)
    tl.store(out + start + at, centred * rstd * scale + shift, mask=inside)


@triton.jit
def rmsnorm_kernel(x, weight, out, cols, eps, BLOCK: tl.constexpr):
    start = tl.program_id(0) * cols
    at = tl.arange(0, BLOCK)
    inside = at < cols
    value = tl.load(x + start + at, mask=inside, other=0.0)
    rstd = tl.rsqrt(tl.sum(value * value, axis=0) / cols + eps)
    tl.store(out + start + at, value * rstd * tl.load(weight + at, mask=inside), mask=inside)


@triton.jit
def sum_columns_kernel(x, out, rows, cols, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """A tile of columns to a program, which loops over the rows."""
    col = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    total = tl.zeros((BLOCK_M, BLOCK_N), tl.float32)
    for start in range(0, rows, BLOCK_M):
        row = start + tl.arange(0, BLOCK_M)
        inside = (row < rows)[:, None] & (col < cols)[None, :]
        total += tl.load(x + row[:, None] * cols + col[None, :], mask=inside, other=0.0)
    tl.store(out + col, tl.sum(total, axis=0), mask=col < cols)


def softmax(scale: int) -> KernelCase:
    rows, cols = 4096 * scale, 1000
    return KernelCase(
        softmax_kernel,
        grid=(rows,),
        args=dict(x=Buffer((rows, cols)), out=empty((rows, cols)), cols=cols, BLOCK=1024),
        reference=lambda x: x.softmax(-1),
        reduction=cols,
    )


def layernorm(scale: int) -> KernelCase:
    rows, cols = 4096 * scale, 768
    return KernelCase(
        layernorm_kernel,
        grid=(rows,),
        args=dict(
            x=Buffer((rows, cols), fill=Normal(2.0, 1.0)),
            weight=Buffer(cols),
            bias=Buffer(cols),
            out=empty((rows, cols)),
            cols=cols,
            eps=EPSILON,
            BLOCK=1024,
        ),
        reference=lambda x, weight, bias: functional.layer_norm(x, (cols,), weight, bias, EPSILON),
        reduction=cols,
        tolerance=ROOT,
    )


def rmsnorm(scale: int) -> KernelCase:
    rows, cols = 4096 * scale, 2048
    return KernelCase(
        rmsnorm_kernel,
        grid=(rows,),
        args=dict(
            x=Buffer((rows, cols)), weight=Buffer(cols), out=empty((rows, cols)), cols=cols, eps=EPSILON, BLOCK=2048
        ),
        reference=lambda x, weight: functional.rms_norm(x, (cols,), weight, EPSILON),
        reduction=cols,
        tolerance=ROOT,
    )


def sum_columns(scale: int) -> KernelCase:
    rows, cols = 4096, 4096 * scale
    return KernelCase(
        sum_columns_kernel,
        grid=(blocks(cols, 128),),
        args=dict(x=Buffer((rows, cols)), out=empty(cols), rows=rows, cols=cols, BLOCK_M=32, BLOCK_N=128),
        reference=lambda x: x.sum(0),
        reduction=rows,
    )


SOFTMAX = Benchmark("softmax", "4096x1000 fp32", softmax, lambda x, out: lambda: torch.softmax(x, -1, out=out))
LAYERNORM = Benchmark(
    "layernorm",
    "4096x768 fp32",
    layernorm,
    lambda x, weight, bias: lambda: {"out": functional.layer_norm(x, x.shape[1:], weight, bias, EPSILON)},
    "about ten passes over each batch, an operation a pass, where torch fuses all of them into two.",
)
RMSNORM = Benchmark(
    "rmsnorm",
    "4096x2048 fp32",
    rmsnorm,
    lambda x, weight: lambda: {"out": functional.rms_norm(x, x.shape[1:], weight, EPSILON)},
)
SUM_COLUMNS = Benchmark(
    "sum_columns",
    "4096x4096 fp32",
    sum_columns,
    lambda x, out: lambda: torch.sum(x, 0, out=out),
    "each program adds a tile of partial sums once for every block of rows, so that the sums are read and written as"
    " often as the matrix is read; torch keeps them in registers.",
)
