"""Copies whose index is computed: concatenation, padding, slices, rolls, flips, diagonals, resizing.

Written for the harness; `cat`, `constant_pad` and `reflect_pad` have the form Inductor gives them,
with one masked load per source and a select between them.
"""

import torch
import torch.nn.functional as functional
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, Special, case, empty


@triton.jit
def cat_kernel(x, y, z, out, n, split1, split2, cols, BLOCK: tl.constexpr):
    """Three sources along the last axis; each lane loads from the one it belongs to."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    row = at // cols
    col = at % cols
    first = col < split1
    second = (col >= split1) & (col < split2)
    third = col >= split2
    a = tl.load(x + row * split1 + col, mask=inside & first, other=0.0)
    b = tl.load(y + row * (split2 - split1) + (col - split1), mask=inside & second, other=0.0)
    c = tl.load(z + row * (cols - split2) + (col - split2), mask=inside & third, other=0.0)
    tl.store(out + at, tl.where(first, a, tl.where(second, b, c)), mask=inside)


@case(widths=[(5, 9, 2), (1, 1, 1), (16, 0, 16)], dtype=["fp32", "fp16"])
def cat(widths, dtype):
    """One width is zero: that source is empty and never read."""
    rows, cols = 7, sum(widths)
    x, y, z = (Buffer((rows, width), dtype, fill=Special()) for width in widths)
    return KernelCase(
        cat_kernel,
        grid=(triton.cdiv(rows * cols, 64),),
        args=dict(
            x=x,
            y=y,
            z=z,
            out=empty((rows, cols), dtype),
            n=rows * cols,
            split1=widths[0],
            split2=widths[0] + widths[1],
            cols=cols,
            BLOCK=64,
        ),
        reference=lambda x, y, z: torch.cat([x, y, z], 1),
        signed_zeros=True,
    )


@triton.jit
def constant_pad_kernel(x, out, rows, cols, top, left, out_rows, out_cols, value, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row = at // out_cols - top
    col = at % out_cols - left
    inside = (row >= 0) & (row < rows) & (col >= 0) & (col < cols)
    # The address of a padded lane lies outside the buffer, on either side.
    tl.store(out + at, tl.load(x + row * cols + col, mask=inside, other=value), mask=at < out_rows * out_cols)


@case(padding=[(0, 0, 0, 0), (1, 2, 3, 4), (5, 0, 0, 5)], value=[-1.5, float("-inf")])
def constant_pad(padding, value):
    rows, cols = 6, 9
    left, right, top, bottom = padding
    shape = (rows + top + bottom, cols + left + right)
    return KernelCase(
        constant_pad_kernel,
        grid=(triton.cdiv(shape[0] * shape[1], 64),),
        args=dict(
            x=Buffer((rows, cols)),
            out=empty(shape),
            rows=rows,
            cols=cols,
            top=top,
            left=left,
            out_rows=shape[0],
            out_cols=shape[1],
            value=value,
            BLOCK=64,
        ),
        reference=lambda x: functional.pad(x, padding, value=value),
    )


@triton.jit
def reflect_pad_kernel(x, out, cols, left, out_cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    source = cols - 1 - tl.abs(cols - 1 - tl.abs(at - left))
    tl.store(out + row * out_cols + at, tl.load(x + row * cols + source, mask=at < out_cols), mask=at < out_cols)


@case(padding=[(0, 0), (3, 5), (9, 9)])
def reflect_pad(padding):
    left, right = padding
    width = 10 + left + right
    return KernelCase(
        reflect_pad_kernel,
        grid=(4,),
        args=dict(x=Buffer((4, 10)), out=empty((4, width)), cols=10, left=left, out_cols=width, BLOCK=32),
        reference=lambda x: functional.pad(x, padding, mode="reflect"),
    )


@triton.jit
def roll_kernel(x, out, rows, cols, down, right, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    source_row = (row - down + rows) % rows
    source_col = (at - right + cols) % cols
    tl.store(out + row * cols + at, tl.load(x + source_row * cols + source_col, mask=at < cols), mask=at < cols)


@case(shift=[(0, 0), (1, 3), (4, 12)])
def roll(shift):
    return KernelCase(
        roll_kernel,
        grid=(5,),
        args=dict(
            x=Buffer((5, 13), "int32"),
            out=empty((5, 13), "int32"),
            rows=5,
            cols=13,
            down=shift[0],
            right=shift[1],
            BLOCK=16,
        ),
        reference=lambda x: x.roll(shift, (0, 1)),
    )


@triton.jit
def reverse_kernel(x, out, n, BLOCK: tl.constexpr):
    """Addresses that fall as lanes rise; the last program's lie before the buffer and are masked."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + (n - 1 - at), mask=at < n), mask=at < n)


@case(n=[1, 100, 128], dtype=["int8"])
def reverse(n, dtype):
    return KernelCase(
        reverse_kernel,
        grid=(triton.cdiv(n, 64),),
        args=dict(x=Buffer(n, dtype), out=empty(n, dtype), n=n, BLOCK=64),
        reference=lambda x: x.flip(0),
    )


@triton.jit
def slice_kernel(x, out, start, step, row_stride, count, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row * row_stride + start + at * step, mask=at < count)
    tl.store(out + row * count + at, value, mask=at < count)


@case(start=[0, 3], step=[1, 2, 5])
def strided_slice(start, step):
    count = len(range(start, 30, step))
    return KernelCase(
        slice_kernel,
        grid=(4,),
        args=dict(
            x=Buffer((4, 30), "int16"),
            out=empty((4, count), "int16"),
            start=start,
            step=step,
            row_stride=30,
            count=count,
            BLOCK=32,
        ),
        reference=lambda x: x[:, start::step],
    )


@triton.jit
def triangle_kernel(x, lower, diagonal, n, shift, BLOCK: tl.constexpr):
    m = tl.arange(0, BLOCK)[:, None]
    c = tl.arange(0, BLOCK)[None, :]
    inside = (m < n) & (c < n)
    value = tl.load(x + m * n + c, mask=inside, other=0.0)
    tl.store(lower + m * n + c, tl.where(c - m <= shift, value, 0.0), mask=inside)
    # Of every row one lane stores: a mask that is a diagonal.
    tl.store(diagonal + m + 0 * c, value, mask=inside & (m == c))


@case(shift=[-2, 0, 3])
def triangle(shift):
    return KernelCase(
        triangle_kernel,
        grid=(1,),
        args=dict(x=Buffer((20, 20)), lower=empty((20, 20)), diagonal=empty(20), n=20, shift=shift, BLOCK=32),
        reference=lambda x: {"lower": x.tril(shift), "diagonal": x.diagonal()},
    )


@triton.jit
def upsample_kernel(x, out, width, out_height, out_width, row_scale, col_scale, BLOCK: tl.constexpr):
    """Nearest neighbour as Inductor computes it: a float scale, truncated to an index."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < out_height * out_width
    row = ((at // out_width).to(tl.float32) * row_scale).to(tl.int32)
    col = ((at % out_width).to(tl.float32) * col_scale).to(tl.int32)
    tl.store(out + at, tl.load(x + row * width + col, mask=inside), mask=inside)


@case(target=[(8, 12), (16, 6), (4, 6)])
def upsample_nearest(target):
    return KernelCase(
        upsample_kernel,
        grid=(triton.cdiv(target[0] * target[1], 64),),
        args=dict(
            x=Buffer((4, 6)),
            out=empty(target),
            width=6,
            out_height=target[0],
            out_width=target[1],
            row_scale=4 / target[0],
            col_scale=6 / target[1],
            BLOCK=64,
        ),
        reference=lambda x: functional.interpolate(x[None, None], size=target, mode="nearest")[0, 0],
    )


@triton.jit
def unfold_kernel(x, out, WINDOW: tl.constexpr, step, windows, BLOCK: tl.constexpr):
    """Windows that overlap: neighbouring programs read the same elements."""
    window = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[:, None]
    at = tl.arange(0, WINDOW)[None, :]
    inside = window < windows
    tl.store(out + window * WINDOW + at, tl.load(x + window * step + at, mask=inside), mask=inside)


@case(step=[1, 3, 8])
def unfold(step):
    windows = (100 - 8) // step + 1
    return KernelCase(
        unfold_kernel,
        grid=(triton.cdiv(windows, 16),),
        args=dict(x=Buffer(100), out=empty((windows, 8)), WINDOW=8, step=step, windows=windows, BLOCK=16),
        reference=lambda x: x.unfold(0, 8, step),
    )


@triton.jit
def shift_window_kernel(x, out, n, BLOCK: tl.constexpr):
    """An overlapping view: rows of stride one, so that row r is the buffer from element r on."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    tl.store(out + row * n + at, tl.load(x + row + at, mask=at < n) * 2, mask=at < n)


@case(n=[9, 16])
def overlapping_view(n):
    """(6, n) over n + 5 elements, as a Hankel matrix lies in memory."""
    return KernelCase(
        shift_window_kernel,
        grid=(6,),
        args=dict(x=Buffer(n + 5, "int32").view((6, n), strides=(1, 1)), out=empty((6, n), "int32"), n=n, BLOCK=16),
        reference=lambda x: 2 * x,
    )
