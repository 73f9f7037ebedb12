"""Cumulative sums and products: both axes, both directions, every dtype, longer than the block.

Written for the harness. Whole numbers keep sums exact in half precision; powers of two and signs keep
products exact everywhere.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, Integers, KernelCase, Values, case, empty


@triton.jit
def cumsum_kernel(x, out, AXIS: tl.constexpr, REVERSE: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    at = tl.arange(0, BLOCK_M)[:, None] * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
    tl.store(out + at, tl.cumsum(tl.load(x + at), axis=AXIS, reverse=REVERSE))


def cumulated(x, axis, reverse):
    if not reverse:
        return x.cumsum(axis)
    return x.flip(axis).cumsum(axis).flip(axis)


@case(dtype=["fp32", "fp16", "int64"], axis=[0, 1], reverse=[False, True])
def cumsum(dtype, axis, reverse):
    return KernelCase(
        cumsum_kernel,
        grid=(1,),
        args=dict(
            x=Buffer((16, 32), dtype, fill=Integers(-4, 5)),
            out=empty((16, 32), dtype),
            AXIS=axis,
            REVERSE=reverse,
            BLOCK_M=16,
            BLOCK_N=32,
        ),
        reference=lambda x: cumulated(x, axis, reverse),
    )


@case(dtype=["int8", "uint8", "int16"])
def cumsum_widens(dtype):
    """Integers narrower than 32 bits are summed in 32: the sums leave int8."""
    return KernelCase(
        cumsum_kernel,
        grid=(1,),
        args=dict(
            x=Buffer((4, 64), dtype, fill=Integers(90, 120)),
            out=empty((4, 64), "int32"),
            AXIS=1,
            REVERSE=False,
            BLOCK_M=4,
            BLOCK_N=64,
        ),
        reference=lambda x: x.cumsum(1),
    )


@triton.jit
def cumprod_kernel(x, out, cols, REVERSE: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row * cols + at, mask=at < cols, other=1)
    tl.store(out + row * cols + at, tl.cumprod(value, axis=0, reverse=REVERSE), mask=at < cols)


@case(dtype=["fp64", "int32"], reverse=[False, True])
def cumprod(dtype, reverse):
    """Reversed, the masked lanes come first and must be neutral."""
    return KernelCase(
        cumprod_kernel,
        grid=(3,),
        args=dict(
            x=Buffer((3, 25), dtype, fill=Values((2, -1, 1, 2, 1, -1, 1))),
            out=empty((3, 25), dtype),
            cols=25,
            REVERSE=reverse,
            BLOCK=32,
        ),
        reference=lambda x: x.flip(1).cumprod(1).flip(1) if reverse else x.cumprod(1),
    )


@triton.jit
def long_cumsum_kernel(x, out, cols, x_stride, EXCLUSIVE: tl.constexpr, BLOCK: tl.constexpr):
    """The carry between blocks is the block's total, not its last lane: the tail may be masked."""
    row = tl.program_id(0)
    carry = tl.zeros([], tl.float32)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(x + row * x_stride + at, mask=at < cols, other=0.0)
        running = carry + tl.cumsum(value, axis=0)
        if EXCLUSIVE:
            running -= value
        tl.store(out + row * cols + at, running, mask=at < cols)
        carry += tl.sum(value, axis=0)


@case(cols=[64, 65, 300], exclusive=[False, True])
def long_cumsum(cols, exclusive):
    return KernelCase(
        long_cumsum_kernel,
        grid=(4,),
        args=dict(
            x=Buffer((4, cols), strides=(cols + 5, 1), fill=Integers(-9, 10)),
            out=empty((4, cols)),
            cols=cols,
            x_stride=cols + 5,
            EXCLUSIVE=exclusive,
            BLOCK=64,
        ),
        reference=lambda x: x.cumsum(1) - (x if exclusive else 0),
    )


@triton.jit
def cumsum_3d_kernel(x, out, AXIS: tl.constexpr, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    a = tl.arange(0, A)[:, None, None]
    b = tl.arange(0, B)[None, :, None]
    at = (a * B + b) * C + tl.arange(0, C)[None, None, :]
    tl.store(out + at, tl.cumsum(tl.load(x + at), axis=AXIS))


@case(axis=[0, 1, 2])
def cumsum_of_three_axes(axis):
    return KernelCase(
        cumsum_3d_kernel,
        grid=(1,),
        args=dict(x=Buffer((4, 8, 16), "int32"), out=empty((4, 8, 16), "int32"), AXIS=axis, A=4, B=8, C=16),
        reference=lambda x: x.cumsum(axis),
    )


@triton.jit
def compact_kernel(x, out, count, n, BLOCK: tl.constexpr):
    """Stream compaction: the exclusive sum of the flags is the place of each element that stays."""
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0)
    keep = ((value > 0) & (at < n)).to(tl.int32)
    place = tl.cumsum(keep, axis=0) - keep
    tl.store(out + place, value, mask=keep != 0)
    tl.store(count, tl.sum(keep, axis=0))


@case(n=[1, 100, 128])
def compact_positive(n):
    """What lies behind the last kept element stays poison."""

    def reference(x, out):
        kept = x[x > 0]
        return {"out": torch.cat([kept, out[len(kept) :]]), "count": torch.tensor([len(kept)])}

    return KernelCase(
        compact_kernel,
        grid=(1,),
        args=dict(x=Buffer(n, "int32"), out=empty(n, "int32"), count=empty(1, "int32"), n=n, BLOCK=128),
        reference=reference,
    )
