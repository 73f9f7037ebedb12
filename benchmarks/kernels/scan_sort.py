"""Along rows: a running sum and a sort (a bitonic network in Triton, whatever it likes in torch)."""

import torch
import triton
import triton.language as tl

from benchmarks.benchmark import Benchmark
from harness.cases import Buffer, KernelCase, empty


@triton.jit
def cumsum_kernel(x, out, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(out + at, tl.cumsum(tl.load(x + at), axis=0))


@triton.jit
def sort_kernel(x, out, N: tl.constexpr):
    at = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(out + at, tl.sort(tl.load(x + at)))


def cumsum(scale: int) -> KernelCase:
    shape = (4096 * scale, 1024)
    return KernelCase(
        cumsum_kernel,
        grid=shape[:1],
        args=dict(x=Buffer(shape), out=empty(shape), N=shape[1]),
        reference=lambda x: x.cumsum(-1),
        reduction=shape[1],
    )


def sort(scale: int) -> KernelCase:
    shape = (1024 * scale, 1024)
    return KernelCase(
        sort_kernel,
        grid=shape[:1],
        args=dict(x=Buffer(shape), out=empty(shape), N=shape[1]),
        reference=lambda x: x.sort(-1).values,
    )


def eager_sort(x, out):
    indices = torch.empty(x.shape, dtype=torch.int64)
    return lambda: torch.sort(x, -1, out=(out, indices))


CUMSUM = Benchmark(
    "cumsum",
    "4096x1024 fp32",
    cumsum,
    lambda x, out: lambda: torch.cumsum(x, -1, out=out),
    "NumPy's running sum goes element by element, between a load and a store that are passes of their own.",
)
SORT = Benchmark(
    "sort",
    "1024x1024 fp32",
    sort,
    eager_sort,
    "a bitonic network of 55 rounds, each a handful of passes over memory; torch sorts a row within the cache.",
)
