"""Two views of one storage: even and odd columns, one read and one written, as a slice assignment makes them.

The views interleave in memory without sharing an element; treating the span of one as its extent clobbers
the other.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case


@triton.jit
def aliasing_views_kernel(even, odd, rows, cols, stride_r, stride_c, BR: tl.constexpr, BC: tl.constexpr):
    row = tl.program_id(0) * BR + tl.arange(0, BR)
    col = tl.arange(0, BC)
    inside = (row < rows)[:, None] & (col < cols)[None, :]
    at = row[:, None] * stride_r + col[None, :] * stride_c
    tl.store(odd + at, tl.load(even + at, mask=inside) + 1, mask=inside)


@case(dtype=["fp32", "int8"], stride_c=[2, 3])
def aliasing_views(dtype, stride_c):
    rows, cols = 9, 7
    width = cols * stride_c + 2
    whole = Buffer((rows, width), dtype)
    strides = (width, stride_c)
    return KernelCase(
        aliasing_views_kernel,
        grid=(triton.cdiv(rows, 4),),
        args=dict(
            even=whole.view((rows, cols), strides), odd=whole.view((rows, cols), strides, offset=1),
            rows=rows, cols=cols, stride_r=width, stride_c=stride_c, BR=4, BC=8,
        ),
        reference=lambda even: {"odd": even + 1},
    )  # fmt: skip
