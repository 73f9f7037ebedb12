"""Pointwise kernels whose operands differ in shape: rows, columns, planes, scalars, stride zero.

Written for the harness, in the form of Inductor's 2-D and 3-D pointwise kernels.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def outer_kernel(column, row, out, rows, cols, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    m = tl.program_id(1) * BLOCK_M + tl.arange(0, BLOCK_M)[:, None]
    n = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
    left = tl.load(column + m, mask=m < rows, other=0)
    right = tl.load(row + n, mask=n < cols, other=0)
    tl.store(out + m * cols + n, left * right + left, mask=(m < rows) & (n < cols))


@case(shape=[(1, 1), (33, 70), (1, 100), (100, 1)], dtype=["fp32", "int16"])
def outer_product(shape, dtype):
    """The grid is X over columns, Y over rows; neither is a multiple of its block."""
    rows, cols = shape
    return KernelCase(
        outer_kernel,
        grid=(triton.cdiv(cols, 32), triton.cdiv(rows, 16)),
        args=dict(
            column=Buffer(rows, dtype),
            row=Buffer(cols, dtype),
            out=empty(shape, dtype),
            rows=rows,
            cols=cols,
            BLOCK_M=16,
            BLOCK_N=32,
        ),
        reference=lambda column, row: column[:, None] * row[None, :] + column[:, None],
    )


@triton.jit
def three_axes_kernel(x, y, z, out, rows, cols, BLOCK: tl.constexpr):
    """x is (planes, 1, 1), y is (rows, 1) and z is (cols,): a 3-D grid, one block of columns a program."""
    plane = tl.program_id(2)
    row = tl.program_id(1)
    col = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(z + col, mask=col < cols, other=0.0) * tl.load(y + row) + tl.load(x + plane)
    tl.store(out + (plane * rows + row) * cols + col, value, mask=col < cols)


@case(shape=[(2, 3, 70), (5, 1, 64)])
def three_axes(shape):
    planes, rows, cols = shape
    return KernelCase(
        three_axes_kernel,
        grid=(triton.cdiv(cols, 64), rows, planes),
        args=dict(
            x=Buffer(planes),
            y=Buffer(rows),
            z=Buffer(cols),
            out=empty(shape),
            rows=rows,
            cols=cols,
            BLOCK=64,
        ),
        reference=lambda x, y, z: x[:, None, None] + y[:, None] * z,
    )


@triton.jit
def expanded_tile_kernel(x, y, out, BLOCK_A: tl.constexpr, BLOCK_B: tl.constexpr, BLOCK_C: tl.constexpr):
    """One 3-D tile made of a plane and a vector."""
    a = tl.arange(0, BLOCK_A)[:, None, None]
    b = tl.arange(0, BLOCK_B)[None, :, None]
    c = tl.arange(0, BLOCK_C)[None, None, :]
    plane = tl.load(x + a * BLOCK_C + c)
    vector = tl.load(y + b)
    tl.store(out + (a * BLOCK_B + b) * BLOCK_C + c, plane - vector)


@case(dtype=["fp32", "fp16", "int32"])
def expanded_tile(dtype):
    return KernelCase(
        expanded_tile_kernel,
        grid=(1,),
        args=dict(
            x=Buffer((4, 16), dtype), y=Buffer(8, dtype), out=empty((4, 8, 16), dtype), BLOCK_A=4, BLOCK_B=8, BLOCK_C=16
        ),
        reference=lambda x, y: x[:, None, :] - y[None, :, None],
    )


@triton.jit
def strided_add_kernel(x, y, out, rows, cols, x_row, x_col, y_row, y_col, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < rows * cols
    row = at // cols
    col = at % cols
    left = tl.load(x + row * x_row + col * x_col, mask=inside)
    right = tl.load(y + row * y_row + col * y_col, mask=inside)
    tl.store(out + at, left + right, mask=inside)


@case(y_strides=[(0, 1), (1, 0), (0, 0), (1, 20)], x_strides=[(37, 1), (1, 24)])
def stride_zero(y_strides, x_strides):
    """An expanded tensor repeats its elements through strides of zero; the other operand is padded."""
    rows, cols = 20, 30
    return KernelCase(
        strided_add_kernel,
        grid=(triton.cdiv(rows * cols, 128),),
        args=dict(
            x=Buffer((rows, cols), strides=x_strides),
            y=Buffer(rows * cols).view((rows, cols), strides=y_strides),
            out=empty((rows, cols)),
            rows=rows,
            cols=cols,
            x_row=x_strides[0],
            x_col=x_strides[1],
            y_row=y_strides[0],
            y_col=y_strides[1],
            BLOCK=128,
        ),
        reference=lambda x, y: x + y,
    )
