"""A strided slice copied between storages with different offsets, strides and alignments, tails in both axes.

Element 0 is not at the start of either storage and the holes must be left alone: packing on the way in or
out shifts rows, and a wide vector access reads or writes the neighbours.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def offset_views_kernel(
    x, out, rows, cols, x_r, x_c, out_r, out_c, BR: tl.constexpr, BC: tl.constexpr
):  # fmt: skip
    row = tl.program_id(0) * BR + tl.arange(0, BR)[:, None]
    col = tl.program_id(1) * BC + tl.arange(0, BC)[None, :]
    inside = (row < rows) & (col < cols)
    tl.store(out + row * out_r + col * out_c, tl.load(x + row * x_r + col * x_c, mask=inside), mask=inside)


@case(dtype=["int8", "fp64"], layout=["padded", "transposed", "sparse"], alignment=[8, 64])
def offset_views(dtype, layout, alignment):
    rows, cols = 11, 21
    x_strides, out_strides = {
        "padded": ((cols + 7, 1), (cols + 2, 1)),
        "transposed": ((1, rows), (cols, 1)),
        "sparse": ((cols * 3, 3), (1, rows + 5)),
    }[layout]
    return KernelCase(
        offset_views_kernel,
        grid=(triton.cdiv(rows, 4), triton.cdiv(cols, 16)),
        args=dict(
            x=Buffer((rows, cols), dtype, strides=x_strides, offset=7, alignment=alignment),
            out=empty((rows, cols), dtype, strides=out_strides, offset=3, alignment=alignment), rows=rows, cols=cols,
            x_r=x_strides[0], x_c=x_strides[1], out_r=out_strides[0], out_c=out_strides[1], BR=4, BC=16,
        ),
        reference=lambda x: x,
    )  # fmt: skip
