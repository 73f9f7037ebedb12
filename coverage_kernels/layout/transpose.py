"""Transposes and permutations, through memory and through `tl.trans`, into padded and channels-last strides.

Written for the harness. Every buffer says its strides, so a copy that packs them on the way in or out
puts values in the wrong places.
"""

import itertools

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def transpose_kernel(x, out, rows, cols, x_row, out_row, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    m = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    tile = tl.load(x + m[:, None] * x_row + n[None, :], mask=(m[:, None] < rows) & (n[None, :] < cols))
    inside = (n[:, None] < cols) & (m[None, :] < rows)
    tl.store(out + n[:, None] * out_row + m[None, :], tl.trans(tile), mask=inside)


@case(dtype=["fp16", "fp64", "int1", "int8", "int16", "int64"], shape=[(64, 32), (33, 70), (1, 9)])
def transpose(dtype, shape):
    """Both sides have padded rows; shapes are at and off the tile."""
    rows, cols = shape
    return KernelCase(
        transpose_kernel,
        grid=(triton.cdiv(rows, 32), triton.cdiv(cols, 16)),
        args=dict(
            x=Buffer(shape, dtype, strides=(cols + 7, 1)),
            out=empty((cols, rows), dtype, strides=(rows + 1, 1)),
            rows=rows,
            cols=cols,
            x_row=cols + 7,
            out_row=rows + 1,
            BLOCK_M=32,
            BLOCK_N=16,
        ),
        reference=lambda x: x.T,
    )


@triton.jit
def permute_kernel(
    x,
    out,
    A: tl.constexpr,
    B: tl.constexpr,
    C: tl.constexpr,
    FIRST: tl.constexpr,
    SECOND: tl.constexpr,
    THIRD: tl.constexpr,
):
    a = tl.arange(0, A)[:, None, None]
    b = tl.arange(0, B)[None, :, None]
    tile = tl.permute(tl.load(x + (a * B + b) * C + tl.arange(0, C)[None, None, :]), FIRST, SECOND, THIRD)
    d = tl.arange(0, tile.shape[0])[:, None, None]
    e = tl.arange(0, tile.shape[1])[None, :, None]
    f = tl.arange(0, tile.shape[2])[None, None, :]
    tl.store(out + (d * tile.shape[1] + e) * tile.shape[2] + f, tile)


@case(order=list(itertools.permutations(range(3))))
def permute(order):
    shape = (4, 8, 16)
    return KernelCase(
        permute_kernel,
        grid=(1,),
        args=dict(
            x=Buffer(shape),
            out=empty(tuple(shape[i] for i in order)),
            A=4,
            B=8,
            C=16,
            FIRST=order[0],
            SECOND=order[1],
            THIRD=order[2],
        ),
        reference=lambda x: x.permute(order),
    )


@triton.jit
def copy_4d_kernel(
    x, out, d1, d2, d3, n, x0, x1, x2, x3, y0, y1, y2, y3, BLOCK: tl.constexpr
):  # fmt: skip
    """Element by element from one set of strides to another; the index is taken apart with / and %."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    i3 = at % d3
    i2 = at // d3 % d2
    i1 = at // (d3 * d2) % d1
    i0 = at // (d3 * d2 * d1)
    value = tl.load(x + i0 * x0 + i1 * x1 + i2 * x2 + i3 * x3, mask=inside)
    tl.store(out + i0 * y0 + i1 * y1 + i2 * y2 + i3 * y3, value, mask=inside)


def contiguous(n, c, h, w):
    return c * h * w, h * w, w, 1


def channels_last(n, c, h, w):
    return h * w * c, 1, w * c, c


def padded_heads(n, c, h, w):
    """Every head starts seven elements later than it must."""
    return c * (h * w + 7), h * w + 7, w, 1


def holes(n, c, h, w):
    """What torch.empty_strided gives for strides that leave gaps between all axes."""
    return c * h * w * 8, h * w * 8, w * 4, 2


@case(source=[contiguous, channels_last, padded_heads, holes], target=[contiguous, channels_last, padded_heads, holes])
def strided_copy(source, target):
    shape = (2, 3, 5, 7)
    x_strides, y_strides = source(*shape), target(*shape)
    return KernelCase(
        copy_4d_kernel,
        grid=(2,),
        args=dict(
            x=Buffer(shape, strides=x_strides, offset=3),
            out=empty(shape, strides=y_strides),
            d1=3,
            d2=5,
            d3=7,
            n=210,
            **dict(zip(("x0", "x1", "x2", "x3", "y0", "y1", "y2", "y3"), x_strides + y_strides, strict=True)),
            BLOCK=128,
        ),
        reference=lambda x: x,
    )


@triton.jit
def pixel_shuffle_kernel(x, out, height, width, FACTOR: tl.constexpr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    column = at % (width * FACTOR)
    row = at // (width * FACTOR) % (height * FACTOR)
    channel = at // (width * FACTOR * height * FACTOR)
    source = (channel * FACTOR + row % FACTOR) * FACTOR + column % FACTOR
    value = tl.load(x + (source * height + row // FACTOR) * width + column // FACTOR, mask=at < n)
    tl.store(out + at, value, mask=at < n)


@case(factor=[1, 2, 3])
def pixel_shuffle(factor):

    height, width, channels = 4, 5, 3
    n = channels * factor**2 * height * width
    return KernelCase(
        pixel_shuffle_kernel,
        grid=(triton.cdiv(n, 128),),
        args=dict(
            x=Buffer((channels * factor**2, height, width)),
            out=empty((channels, height * factor, width * factor)),
            height=height,
            width=width,
            FACTOR=factor,
            n=n,
            BLOCK=128,
        ),
        reference=lambda x: torch.nn.functional.pixel_shuffle(x, factor),
    )
