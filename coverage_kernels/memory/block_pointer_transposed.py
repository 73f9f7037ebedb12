"""A block pointer over column-major storage (`order=(0, 1)`), starting inside the matrix, stored transposed.

Triton 3.9 refuses `tl.make_block_ptr`; the tensor descriptors beside this file replace it there.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def block_pointer_transposed_kernel(x, out, rows, cols, first_row, BR: tl.constexpr, BC: tl.constexpr):
    row = tl.program_id(0) * BR
    col = tl.program_id(1) * BC
    kept = rows - first_row
    source = tl.make_block_ptr(x, (rows, cols), (1, rows), (first_row + row, col), (BR, BC), (0, 1))
    tile = tl.trans(tl.load(source, boundary_check=(0, 1), padding_option="zero"))
    target = tl.make_block_ptr(out, (cols, kept), (kept, 1), (col, row), (BC, BR), (1, 0))
    tl.store(target, tile, boundary_check=(0, 1))


@case(
    needs="tl.make_block_ptr",
    dtype=["fp32", "int32"],
    first_row=[0, 5],
)
def block_pointer_transposed(dtype, first_row):
    rows, cols = 29, 18
    return KernelCase(
        block_pointer_transposed_kernel,
        grid=(triton.cdiv(rows - first_row, 8), triton.cdiv(cols, 16)),
        args=dict(
            x=Buffer((rows, cols), dtype, strides=(1, rows)), out=empty((cols, rows - first_row), dtype), rows=rows,
            cols=cols, first_row=first_row, BR=8, BC=16,
        ),
        reference=lambda x: x[first_row:].T,
    )  # fmt: skip
