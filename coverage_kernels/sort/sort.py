"""Sorting whole tiles: `tl.sort`, `tl.topk`, flips, medians, and ranks by counting.

Written for the harness. `tl.sort` is a bitonic network over a hypercube of twos, so every case runs
many reshapes, xor reductions and selects.
"""

import numpy
import torch
import triton
import triton.language as tl

from harness.cases import Buffer, Integers, KernelCase, Permutation, Values, case, empty


@triton.jit
def sort_kernel(x, out, DESCENDING: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    at = (tl.program_id(0) * M + tl.arange(0, M)[:, None]) * N + tl.arange(0, N)[None, :]
    tl.store(out + at, tl.sort(tl.load(x + at), descending=DESCENDING))


def ordered(x, descending):
    """Through NumPy: torch sorts no uint16 to uint64."""
    ascending = numpy.sort(x.numpy(), -1)
    return torch.from_numpy(ascending[..., ::-1].copy() if descending else ascending)


@case(
    kind=[
        ("fp32", "ascending"),
        ("fp16", "descending"),
        ("int8", "ascending"),
        ("int16", "ascending"),
        ("int32", "descending"),
        ("int64", "ascending"),
        ("uint8", "ascending"),
        ("uint32", "descending"),
    ]
)
def sort(kind):
    """Whole numbers with many ties."""
    dtype, descending = kind[0], kind[1] == "descending"
    return KernelCase(
        sort_kernel,
        grid=(2,),
        args=dict(
            x=Buffer((4, 16), dtype, fill=Integers(0 if dtype.startswith("u") else -60, 60)),
            out=empty((4, 16), dtype),
            DESCENDING=descending,
            M=2,
            N=16,
        ),
        reference=lambda x: ordered(x, descending),
    )


@case(n=[1, 2, 128])
def sort_a_row(n):
    """Lengths at which the network has no stage, one stage, and many."""
    return KernelCase(
        sort_kernel,
        grid=(3,),
        args=dict(x=Buffer((3, n)), out=empty((3, n)), DESCENDING=False, M=1, N=n),
        reference=lambda x: x.sort(-1).values,
    )


@triton.jit
def topk_kernel(x, out, K: tl.constexpr, N: tl.constexpr):
    row = tl.program_id(0)
    best = tl.topk(tl.load(x + row * N + tl.arange(0, N)[None, :]), K)
    tl.store(out + row * K + tl.arange(0, K)[None, :], best)


@case(k=[2, 16], dtype=["fp32", "int32"])
def topk(k, dtype):
    return KernelCase(
        topk_kernel,
        grid=(5,),
        args=dict(x=Buffer((5, 32), dtype, fill=Integers(-99, 100)), out=empty((5, k), dtype), K=k, N=32),
        reference=lambda x: x.topk(k, -1).values,
    )


@triton.jit
def topk_with_index_kernel(x, values, indices, cols, K: tl.constexpr, N: tl.constexpr):
    """Score and index share one 64-bit key: the score above, the inverted index below, so ties go left."""
    row = tl.program_id(0)
    at = tl.arange(0, N)[None, :]
    score = tl.load(x + row * cols + at, mask=at < cols, other=float("-inf"))
    bits = score.to(tl.int32, bitcast=True)
    ordered_bits = bits ^ ((bits >> 31) & 0x7FFFFFFF)
    key = (ordered_bits.to(tl.int64) << 32) | (N - 1 - at).to(tl.int64)
    best = tl.sort(key, descending=True)
    found = N - 1 - (best & 0xFFFFFFFF)
    top = (best >> 32).to(tl.int32)
    top = top ^ ((top >> 31) & 0x7FFFFFFF)
    tl.store(values + row * K + at, top.to(tl.float32, bitcast=True), mask=at < K)
    tl.store(indices + row * K + at, found, mask=at < K)


@case(k=[1, 5, 20], cols=[20, 32])
def topk_with_index(k, cols):
    """A router's top-k: ties take the lower index, k is no power of two."""

    def reference(x):
        values, indices = x.sort(dim=-1, descending=True, stable=True)
        return {"values": values[:, :k], "indices": indices[:, :k]}

    return KernelCase(
        topk_with_index_kernel,
        grid=(6,),
        args=dict(
            x=Buffer((6, cols), fill=Integers(-9, 10)),
            values=empty((6, k)),
            indices=empty((6, k), "int64"),
            cols=cols,
            K=k,
            N=32,
        ),
        reference=reference,
    )


@triton.jit
def flip_kernel(x, out, AXIS: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + at, tl.flip(tl.load(x + at), AXIS))


@case(axis=[0, 1], dtype=["fp32", "int8", "int64"])
def flip(axis, dtype):
    return KernelCase(
        flip_kernel,
        grid=(1,),
        args=dict(x=Buffer((8, 16), dtype), out=empty((8, 16), dtype), AXIS=axis, M=8, N=16),
        reference=lambda x: x.flip(axis),
    )


@triton.jit
def bitonic_merge_kernel(x, out, DESCENDING: tl.constexpr, N: tl.constexpr):
    """Rows that rise, then fall: one merge sorts them."""
    at = tl.program_id(0) * N + tl.arange(0, N)[None, :]
    tl.store(out + at, tl.bitonic_merge(tl.load(x + at), descending=DESCENDING))


@case(descending=[False, True])
def bitonic_merge(descending):
    hill = Values((*range(0, 32, 2), *range(31, 0, -2)))
    return KernelCase(
        bitonic_merge_kernel,
        grid=(2,),
        args=dict(x=Buffer((2, 32), "int32", fill=hill), out=empty((2, 32), "int32"), DESCENDING=descending, N=32),
        reference=lambda x: x.sort(-1, descending=descending).values,
    )


@triton.jit
def rank_kernel(x, out, ranks, n, BLOCK: tl.constexpr):
    """Counting sort by comparison with every other element: a (BLOCK, BLOCK) tile, then a scatter."""
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=float("inf"))
    before = (value[None, :] < value[:, None]) | ((value[None, :] == value[:, None]) & (at[None, :] < at[:, None]))
    rank = tl.sum(before.to(tl.int32), axis=1)
    tl.store(ranks + at, rank, mask=at < n)
    tl.store(out + rank, value, mask=at < n)


@case(n=[1, 40, 64])
def rank_sort(n):
    def reference(x):
        values, order = x.sort(stable=True)
        return {"out": values, "ranks": order.argsort()}

    return KernelCase(
        rank_kernel,
        grid=(1,),
        args=dict(x=Buffer(n, fill=Integers(-9, 10)), out=empty(n), ranks=empty(n, "int32"), n=n, BLOCK=64),
        reference=reference,
    )


@triton.jit
def median_kernel(x, out, N: tl.constexpr):
    at = tl.arange(0, N)
    sorted_row = tl.sort(tl.load(x + tl.program_id(0) * N + at)[None, :])
    middle = tl.where(at[None, :] == (N - 1) // 2, sorted_row, 0)
    tl.store(out + tl.program_id(0), tl.sum(tl.sum(middle, axis=1), axis=0))


@case(n=[32])
def median(n):
    """The lower of the two middle elements, as torch.median."""
    return KernelCase(
        median_kernel,
        grid=(4,),
        args=dict(x=Buffer((4, n), "int32", fill=Permutation()), out=empty(4, "int32"), N=n),
        reference=lambda x: x.median(-1).values,
    )
