"""Shapes changed inside the kernel: reshape, join, split, interleave, cat, broadcast, expand_dims.

Written for the harness. Each goes through a tile in registers, so it is the order of the elements in
the tile that is at stake, not an address.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Arange, Buffer, Integers, KernelCase, case, empty


@triton.jit
def reshape_kernel(x, out, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr, ROWS: tl.constexpr, COLS: tl.constexpr):
    a = tl.arange(0, A)[:, None, None]
    b = tl.arange(0, B)[None, :, None]
    tile = tl.load(x + (a * B + b) * C + tl.arange(0, C)[None, None, :])
    flat = tl.reshape(tile * 2, [ROWS, COLS])
    tl.store(out + tl.arange(0, ROWS)[:, None] * COLS + tl.arange(0, COLS)[None, :], flat)


@case(target=[(32, 16), (4, 128), (512, 1), (1, 512), (64, 8)], dtype=["int16"])
def view_3d_as_2d(target, dtype):
    return KernelCase(
        reshape_kernel,
        grid=(1,),
        args=dict(
            x=Buffer((4, 8, 16), dtype, fill=Arange(-256, 1)),
            out=empty(target, dtype),
            A=4,
            B=8,
            C=16,
            ROWS=target[0],
            COLS=target[1],
        ),
        reference=lambda x: (x * 2).reshape(target),
    )


@triton.jit
def reshaped_mask_kernel(flags, x, out, A: tl.constexpr, B: tl.constexpr):
    """A mask made for one shape and used for another, and a column made of a reshaped row."""
    set_ = tl.load(flags + tl.arange(0, A * B)) != 0
    column = tl.expand_dims(tl.load(x + tl.arange(0, A)), 1)
    at = tl.arange(0, A)[:, None] * B + tl.arange(0, B)[None, :]
    tl.store(out + at, tl.broadcast_to(column, [A, B]), mask=tl.reshape(set_, [A, B]))


@case(dtype=["fp16", "bf16", "int8"])
def reshaped_mask(dtype):
    """What the mask leaves out stays poison."""

    def reference(flags, x, out):
        return {"out": torch.where(flags.reshape(8, 16), x[:, None].to(out.dtype), out)}

    return KernelCase(
        reshaped_mask_kernel,
        grid=(1,),
        args=dict(flags=Buffer(128, "int1"), x=Buffer(8, dtype), out=empty((8, 16), dtype), A=8, B=16),
        reference=reference,
    )


@triton.jit
def join_kernel(x, y, joined, interleaved, N: tl.constexpr):
    at = tl.arange(0, N)
    a = tl.load(x + at)
    b = tl.load(y + at)
    tl.store(joined + 2 * at[:, None] + tl.arange(0, 2)[None, :], tl.join(a, b))
    tl.store(interleaved + tl.arange(0, 2 * N), tl.interleave(a, b))


@case(dtype=["fp32", "bf16", "int16", "int64"])
def join_and_interleave(dtype):
    return KernelCase(
        join_kernel,
        grid=(1,),
        args=dict(
            x=Buffer(32, dtype), y=Buffer(32, dtype), joined=empty((32, 2), dtype), interleaved=empty(64, dtype), N=32
        ),
        reference=lambda x, y: {"joined": torch.stack([x, y], 1), "interleaved": torch.stack([x, y], 1).flatten()},
    )


@triton.jit
def split_kernel(x, even, odd, total, M: tl.constexpr, N: tl.constexpr):
    m = tl.arange(0, M)[:, None]
    n = tl.arange(0, N)[None, :]
    tile = tl.load(x + m * N + n)
    left, right = tl.split(tl.reshape(tile, [M, N // 2, 2]))
    half = m * (N // 2) + tl.arange(0, N // 2)[None, :]
    tl.store(even + half, left)
    tl.store(odd + half, right)
    # Split, then join again: the tile is back in order.
    tl.store(total + m * N + n, tl.reshape(tl.join(left, right), [M, N]) + tile)


@case(dtype=["fp32", "fp16", "bf16", "int8", "int16", "int32", "int64"])
def split_pairs(dtype):
    return KernelCase(
        split_kernel,
        grid=(1,),
        args=dict(
            x=Buffer((4, 32), dtype),
            even=empty((4, 16), dtype),
            odd=empty((4, 16), dtype),
            total=empty((4, 32), dtype),
            M=4,
            N=32,
        ),
        reference=lambda x: {"even": x[:, ::2], "odd": x[:, 1::2], "total": 2 * x},
    )


@triton.jit
def rotate_pairs_kernel(x, cos, sin, out, cols, HALF: tl.constexpr):
    """Interleaved rotary embedding: neighbours are a complex number."""
    row = tl.program_id(0)
    at = tl.arange(0, HALF)
    tile = tl.reshape(tl.load(x + row * cols + tl.arange(0, 2 * HALF)), [HALF, 2])
    re, im = tl.split(tile)
    c = tl.load(cos + row * HALF + at)
    s = tl.load(sin + row * HALF + at)
    tl.store(out + row * cols + tl.arange(0, 2 * HALF), tl.interleave(re * c - im * s, re * s + im * c))


@case(dtype=["fp32", "fp64"])
def rotate_pairs(dtype):
    def reference(x, cos, sin):
        re, im = x[:, ::2], x[:, 1::2]
        return torch.stack([re * cos - im * sin, re * sin + im * cos], -1).flatten(1)

    return KernelCase(
        rotate_pairs_kernel,
        grid=(6,),
        args=dict(
            x=Buffer((6, 32), dtype),
            cos=Buffer((6, 16), dtype),
            sin=Buffer((6, 16), dtype),
            out=empty((6, 32), dtype),
            cols=32,
            HALF=16,
        ),
        reference=reference,
        reduction=2,
    )


@triton.jit
def cat_tiles_kernel(x, y, out, N: tl.constexpr):
    """`tl.cat` may reorder, so only a sum and an exchange with itself are safe to look at."""
    at = tl.arange(0, N)
    both = tl.cat(tl.load(x + at), tl.load(y + at), can_reorder=True)
    tl.store(out, tl.sum(both, axis=0))
    tl.store(out + 1, tl.max(both, axis=0))


@case(dtype=["int8", "int16", "int32", "int64", "fp16", "bf16", "fp32", "fp64"])
def cat_in_any_order(dtype):
    """Whole numbers are exact in every dtype and order; sums of narrow integers are made in 32 bits."""
    wide = {"int8": "int32", "int16": "int32"}.get(dtype, dtype)
    return KernelCase(
        cat_tiles_kernel,
        grid=(1,),
        args=dict(x=Buffer(32, dtype, fill=Integers()), y=Buffer(32, dtype, fill=Integers()), out=empty(2, wide), N=32),
        reference=lambda x, y: torch.stack([x.sum() + y.sum(), torch.maximum(x.max(), y.max())]),
    )


@triton.jit
def broadcast_kernel(x, y, out, M: tl.constexpr, N: tl.constexpr):
    row = tl.load(x + tl.arange(0, N))
    column = tl.load(y + tl.arange(0, M))
    wide = tl.broadcast_to(row[None, :], [M, N])
    tall = tl.expand_dims(column, 1).broadcast_to(M, N)
    a, b = tl.broadcast(row[None, :], column[:, None])
    tl.store(out + tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :], wide * 3 + tall + a - b)


@case(shape=[(8, 16), (1, 32), (32, 1)])
def broadcast(shape):
    m, n = shape
    return KernelCase(
        broadcast_kernel,
        grid=(1,),
        args=dict(x=Buffer(n, "int32"), y=Buffer(m, "int32"), out=empty(shape, "int32"), M=m, N=n),
        reference=lambda x, y: (4 * x[None, :]).expand(m, n),
    )
