"""Sums over each axis of 2-D and 3-D tiles, over one axis of a long row in a loop, and over everything.

Written for the harness. Small whole numbers keep half-precision sums exact, whatever order the terms
are added in; integers narrower than 32 bits are summed in 32.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, Integers, KernelCase, case, empty


@triton.jit
def sum_2d_kernel(x, out, rows, cols, row_stride, AXIS: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    m = tl.arange(0, BLOCK_M)
    n = tl.arange(0, BLOCK_N)
    inside = (m[:, None] < rows) & (n[None, :] < cols)
    tile = tl.load(x + m[:, None] * row_stride + n[None, :], mask=inside, other=0)
    total = tl.sum(tile, axis=AXIS)
    if AXIS == 0:
        tl.store(out + n, total, mask=n < cols)
    else:
        tl.store(out + m, total, mask=m < rows)


@case(dtype=["fp64", "fp32", "fp16", "bf16", "int8", "int32", "int64", "uint8"], axis=[0, 1])
def sum_2d(dtype, axis):
    """(30, 50) inside a (32, 64) tile, rows 53 elements apart."""
    wide = {"int8": "int32", "uint8": "int32"}.get(dtype, dtype)
    return KernelCase(
        sum_2d_kernel,
        grid=(1,),
        args=dict(
            x=Buffer((30, 50), dtype, strides=(53, 1), fill=Integers(0 if dtype == "uint8" else -4, 5)),
            out=empty(50 if axis == 0 else 30, wide),
            rows=30,
            cols=50,
            row_stride=53,
            AXIS=axis,
            BLOCK_M=32,
            BLOCK_N=64,
        ),
        reference=lambda x: x.sum(axis),
    )


@triton.jit
def sum_3d_kernel(x, out, AXIS: tl.constexpr, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    a = tl.arange(0, A)[:, None, None]
    b = tl.arange(0, B)[None, :, None]
    c = tl.arange(0, C)[None, None, :]
    total = tl.sum(tl.load(x + (a * B + b) * C + c), axis=AXIS)
    rows: tl.constexpr = B if AXIS == 0 else A
    cols: tl.constexpr = B if AXIS == 2 else C
    tl.store(out + tl.arange(0, rows)[:, None] * cols + tl.arange(0, cols)[None, :], total)


@case(axis=[0, 1, 2], dtype=["fp32", "int64"])
def sum_3d(axis, dtype):
    shape = (4, 8, 16)
    left = tuple(extent for i, extent in enumerate(shape) if i != axis)
    return KernelCase(
        sum_3d_kernel,
        grid=(1,),
        args=dict(x=Buffer(shape, dtype), out=empty(left, dtype), AXIS=axis, A=4, B=8, C=16),
        reference=lambda x: x.sum(axis),
        reduction=shape[axis],
    )


@triton.jit
def sum_row_kernel(x, out, cols, BLOCK: tl.constexpr):
    """A row of any length: the accumulator is a block, folded once after the loop, as Inductor does."""
    row = tl.program_id(0)
    accumulator = tl.zeros([BLOCK], tl.float32)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        accumulator += tl.load(x + row * cols + at, mask=at < cols, other=0.0).to(tl.float32)
    tl.store(out + row, tl.sum(accumulator, axis=0).to(out.dtype.element_ty))


@case(cols=[0, 1, 64, 1000], dtype=["fp32", "bf16"])
def sum_of_a_long_row(cols, dtype):
    """Extents of zero, below, at and above the block of 64."""
    return KernelCase(
        sum_row_kernel,
        grid=(5,),
        args=dict(x=Buffer((5, cols), dtype), out=empty(5, dtype), cols=cols, BLOCK=64),
        reference=lambda x: x.sum(1),
        reduction=max(1, cols),
    )


@triton.jit
def sum_column_kernel(x, out, rows, cols, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
    accumulator = tl.zeros([BLOCK_M, BLOCK_N], tl.float32)
    for start in range(0, rows, BLOCK_M):
        m = start + tl.arange(0, BLOCK_M)[:, None]
        accumulator += tl.load(x + m * cols + n, mask=(m < rows) & (n < cols), other=0.0)
    total = tl.sum(accumulator, axis=0)[None, :]
    tl.store(out + n, total, mask=n < cols)


@case(shape=[(100, 70), (16, 64), (1, 5)])
def sum_of_long_columns(shape):
    rows, cols = shape
    return KernelCase(
        sum_column_kernel,
        grid=(triton.cdiv(cols, 32),),
        args=dict(x=Buffer(shape), out=empty(cols), rows=rows, cols=cols, BLOCK_M=16, BLOCK_N=32),
        reference=lambda x: x.sum(0),
        reduction=rows,
    )


@triton.jit
def sum_everything_kernel(x, out, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    at = tl.arange(0, BLOCK_M)[:, None] * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
    tile = tl.load(x + at)
    tl.store(out, tl.sum(tile))
    tl.store(out + 1, tl.max(tile))
    tl.store(out + 2, tl.min(tile))
    # The kept axis of extent one broadcasts back over the tile.
    tl.store(out + 3, tl.max(tile - tl.max(tile, axis=1, keep_dims=True)))


@case(dtype=["fp32", "int32"])
def sum_of_everything(dtype):
    return KernelCase(
        sum_everything_kernel,
        grid=(1,),
        args=dict(x=Buffer((16, 32), dtype), out=empty(4, dtype), BLOCK_M=16, BLOCK_N=32),
        reference=lambda x: torch.stack([x.sum(), x.max(), x.min(), torch.zeros_like(x.max())]),
        reduction=512,
    )
