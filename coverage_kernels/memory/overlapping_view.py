"""Sliding windows as a view whose rows overlap (stride 1 in both axes), read and reduced.

The storage is shorter than the shape suggests; making the view contiguous first, or bounding by numel,
goes wrong. A stride of 0 broadcasts one row.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def overlapping_view_kernel(x, out, rows, cols, stride_r, stride_c, BC: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BC)
    value = tl.load(x + row * stride_r + col * stride_c, mask=col < cols, other=0.0)
    tl.store(out + row, tl.sum(value * (col + 1), 0))


@case(stride=[(1, 1), (2, 1), (0, 1), (1, 3)])
def overlapping_view(stride):
    rows, cols = 10, 6
    return KernelCase(
        overlapping_view_kernel,
        grid=(rows,),
        args=dict(
            x=Buffer((rows, cols), strides=stride), out=empty(rows), rows=rows, cols=cols, stride_r=stride[0],
            stride_c=stride[1], BC=8,
        ),
        reference=lambda x: x @ x.new_tensor(range(1, cols + 1)),
        reduction=cols,
    )  # fmt: skip
