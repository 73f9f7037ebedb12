"""Benchmarks small enough for a test."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from benchmarks.benchmark import Benchmark, blocks
from harness.cases import Buffer, KernelCase, empty


@triton.jit
def double_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


def double(scale: int) -> KernelCase:
    n = 50 * scale
    return KernelCase(
        double_kernel,
        grid=(blocks(n, 16),),
        args={"x": Buffer(n), "out": empty(n), "n": n, "BLOCK": 16},
        reference=lambda x: x * 2,
    )


TINY = Benchmark("tiny", "50 fp32", double, lambda x, out: lambda: torch.mul(x, 2, out=out))
RETURNS = Benchmark("returns", "50 fp32", double, lambda x: lambda: {"out": x + x})
WRONG = Benchmark("wrong", "50 fp32", double, lambda x, out: lambda: torch.mul(x, 3, out=out))
