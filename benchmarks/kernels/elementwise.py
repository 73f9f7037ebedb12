"""16 M elements of fp32: an addition, an exponential and GELU. Memory bound on any hardware but an interpreter."""

import torch
import torch.nn.functional as functional
import triton
import triton.language as tl

from benchmarks.benchmark import Benchmark, blocks
from harness.cases import Buffer, KernelCase, Tolerance, empty

ELEMENTS = 1 << 24
BLOCK = 1024


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(out + at, tl.load(x + at, mask=mask) + tl.load(y + at, mask=mask), mask=mask)


@triton.jit
def exp_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    tl.store(out + at, tl.exp(tl.load(x + at, mask=mask)), mask=mask)


@triton.jit
def gelu_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = at < n
    value = tl.load(x + at, mask=mask)
    tl.store(out + at, 0.5 * value * (1.0 + tl.erf(value * 0.7071067811865476)), mask=mask)


def add(scale: int) -> KernelCase:
    n = ELEMENTS * scale
    return KernelCase(
        add_kernel,
        grid=(blocks(n, BLOCK),),
        args=dict(x=Buffer(n), y=Buffer(n), out=empty(n), n=n, BLOCK=BLOCK),
        reference=lambda x, y: x + y,
    )


def exp(scale: int) -> KernelCase:
    n = ELEMENTS * scale
    return KernelCase(
        exp_kernel,
        grid=(blocks(n, BLOCK),),
        args=dict(x=Buffer(n), out=empty(n), n=n, BLOCK=BLOCK),
        reference=lambda x: x.exp(),
    )


def gelu(scale: int) -> KernelCase:
    n = ELEMENTS * scale
    return KernelCase(
        gelu_kernel,
        grid=(blocks(n, BLOCK),),
        args=dict(x=Buffer(n), out=empty(n), n=n, BLOCK=BLOCK),
        reference=lambda x: functional.gelu(x),
        tolerance=Tolerance("1 + erf(x) cancels where x is negative, in torch too", absolute=4e-6),
    )


ADD = Benchmark("add", "16 M fp32", add, lambda x, y, out: lambda: torch.add(x, y, out=out))
EXP = Benchmark("exp", "16 M fp32", exp, lambda x, out: lambda: torch.exp(x, out=out))
GELU = Benchmark("gelu", "16 M fp32", gelu, lambda x, out: lambda: torch.ops.aten.gelu.out(x, out=out))
