"""Inductor's `sort_with_index`: values and indices through one bitonic network, NaN the largest.

Reduced from torch 2.13's `triton_helpers`. Each step picks left and right partners by multiplying with
a mask and summing over an axis of two; lanes past the row's end sort behind everything.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Arange, Buffer, KernelCase, Special, Values, case, empty


@triton.jit
def partners(x, shape: tl.constexpr):
    """The left and the right element of every pair along the middle axis of `shape`."""
    pairs = tl.reshape(x, shape)
    right_mask = tl.arange(0, 2)[None, :, None].to(pairs.dtype)
    left = tl.broadcast_to(tl.sum(pairs * (1 - right_mask), 1).to(pairs.dtype)[:, None, :], shape)
    right = tl.broadcast_to(tl.sum(pairs * right_mask, 1).to(pairs.dtype)[:, None, :], shape)
    return tl.reshape(left, x.shape), tl.reshape(right, x.shape)


@triton.jit
def out_of_order(left, right, left_index, right_index, cols, DESCENDING: tl.constexpr):
    left_nan = left != left
    right_nan = right != right
    greater = (left > right) | (left_nan & ~right_nan)
    less = (left < right) | (right_nan & ~left_nan)
    swap = less if DESCENDING else greater
    tied = (left == right) | (left_nan & right_nan)
    swap = swap | (tied & (left_index > right_index))
    left_valid = left_index < cols
    right_valid = right_index < cols
    return (right_valid & ~left_valid) | ((left_valid == right_valid) & swap)


@triton.jit
def compare_and_swap(value, index, cols, flip, DISTANCE: tl.constexpr, DESCENDING: tl.constexpr, IDTYPE: tl.constexpr):
    shape: tl.constexpr = [value.numel // 2 ** (DISTANCE + 1), 2, 2**DISTANCE]
    bits = value.to(IDTYPE, bitcast=True)
    left_bits, right_bits = partners(bits, shape)
    left_index, right_index = partners(index, shape)
    left = left_bits.to(value.dtype, bitcast=True)
    right = right_bits.to(value.dtype, bitcast=True)
    swap = out_of_order(left, right, left_index, right_index, cols, DESCENDING) ^ flip
    value = (bits ^ tl.where(swap, left_bits ^ right_bits, 0).to(IDTYPE)).to(value.dtype, bitcast=True)
    return value, index ^ tl.where(swap, left_index ^ right_index, 0).to(index.dtype)


@triton.jit
def alternating(STAGE: tl.constexpr, N: tl.constexpr):
    """True for every other run of 2**STAGE elements; false everywhere where one run is all there is."""
    return (tl.arange(0, N) // 2**STAGE) % 2 != 0


@triton.jit
def sort_with_index_kernel(
    x, values, indices, cols, DESCENDING: tl.constexpr, IDTYPE: tl.constexpr, STAGES: tl.constexpr, N: tl.constexpr
):
    row = tl.program_id(0)
    at = tl.arange(0, N)
    value = tl.load(x + row * cols + at, mask=at < cols, other=0.0)
    index = at.to(tl.int16)
    for stage in tl.static_range(1, STAGES + 1):
        flip = alternating(stage, N)
        for step in tl.static_range(stage):
            value, index = compare_and_swap(value, index, cols, flip, stage - 1 - step, DESCENDING, IDTYPE)
    tl.store(values + row * cols + at, value, mask=at < cols)
    tl.store(indices + row * cols + at, index.to(tl.int64), mask=at < cols)


@case(cols=[10, 32], descending=[False, True], fill=["ties", "special"])
def sort_with_index(cols, descending, fill):
    """Stable, so that one order is right: ties (0.0 and -0.0 included) and NaNs keep their order."""
    fills = {"ties": Values((3, 1, 2, 3, float("nan"), 1, -1, 0, 3)), "special": Special()}

    def reference(x):
        ordered = x.sort(dim=-1, stable=True, descending=descending)
        return {"values": ordered.values, "indices": ordered.indices}

    return KernelCase(
        sort_with_index_kernel,
        grid=(3,),
        args=dict(
            x=Buffer((3, cols), fill=fills[fill]),
            values=empty((3, cols)),
            indices=empty((3, cols), "int64"),
            cols=cols,
            DESCENDING=descending,
            IDTYPE=tl.int32,
            STAGES=5,
            N=32,
        ),
        reference=reference,
    )


@case(cols=[16])
def sort_halves_with_index(cols):
    """fp16: the network moves 16-bit patterns."""

    def reference(x):
        ordered = x.sort(dim=-1, stable=True)
        return {"values": ordered.values, "indices": ordered.indices}

    return KernelCase(
        sort_with_index_kernel,
        grid=(3,),
        args=dict(
            x=Buffer((3, cols), "fp16", fill=Special()),
            values=empty((3, cols), "fp16"),
            indices=empty((3, cols), "int64"),
            cols=cols,
            DESCENDING=False,
            IDTYPE=tl.int16,
            STAGES=4,
            N=16,
        ),
        reference=reference,
    )


@triton.jit
def bucketize_kernel(x, boundaries, out, n, COUNT: tl.constexpr, RIGHT: tl.constexpr, BLOCK: tl.constexpr):
    """Inductor's binary search: all lanes halve their interval together."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0.0)
    low = tl.zeros([BLOCK], tl.int32)
    high = tl.full([BLOCK], COUNT, tl.int32)
    remaining = COUNT + 1
    while remaining > 1:
        middle = (low + high) // 2
        inside = middle < COUNT
        bound = tl.load(boundaries + middle, mask=inside, other=0.0)
        above = value >= bound if RIGHT else value > bound
        above = above | (value != value)
        low = tl.where(above & inside, middle + 1, low)
        high = tl.where(above, high, middle)
        remaining = (remaining + 1) // 2
    tl.store(out + at, low, mask=at < n)


@case(right=[False, True], count=[1, 5, 16])
def bucketize(right, count):
    """Values on a boundary go left or right of it; NaN goes past the last."""
    values = Values((-1.0, 0.0, 0.5, 1.0, 3.0, 4.5, 15.0, 16.0, 99.0, float("nan")))
    return KernelCase(
        bucketize_kernel,
        grid=(2,),
        args=dict(
            x=Buffer(100, fill=values),
            boundaries=Buffer(count, fill=Arange()),
            out=empty(100, "int32"),
            n=100,
            COUNT=count,
            RIGHT=right,
            BLOCK=64,
        ),
        reference=lambda x, boundaries: torch.bucketize(x, boundaries, right=right),
    )
