"""Block pointers: a copy with boundary checks on either axis, padded with zero or NaN, walked by `tl.advance`.

The block reaches past both ends; an axis not named in `boundary_check` must not be checked and, here, never
leaves its bounds.
Triton 3.9 refuses `tl.make_block_ptr`; the tensor descriptors beside this file replace it there.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def block_pointer_kernel(
    x, out, rows, cols, stride_r, wide, BR: tl.constexpr, BC: tl.constexpr, PADDING: tl.constexpr
):  # fmt: skip
    first = tl.program_id(0) * BR
    source = tl.make_block_ptr(x, (rows, cols), (stride_r, 1), (first, 0), (BR, BC), (1, 0))
    target = tl.make_block_ptr(out, (rows, wide), (wide, 1), (first, 0), (BR, BC), (1, 0))
    for _ in range(wide // BC):
        tile = tl.load(source, boundary_check=(0, 1), padding_option=PADDING)
        tl.store(target, tile, boundary_check=(0,))
        source = tl.advance(source, (0, BC))
        target = tl.advance(target, (0, BC))


@case(
    needs="tl.make_block_ptr",
    dtype=["fp32", "fp16"],
    padding=["zero", "nan"],
    shape=[(8, 16), (13, 21)],
)
def block_pointer(dtype, padding, shape):
    rows, cols = shape
    wide = triton.cdiv(cols, 8) * 8 + 8

    def reference(x):
        return torch.nn.functional.pad(x, (0, wide - cols), value=float("nan") if padding == "nan" else 0.0)

    return KernelCase(
        block_pointer_kernel,
        grid=(triton.cdiv(rows, 4),),
        args=dict(
            x=Buffer((rows, cols), dtype, strides=(cols + 3, 1), offset=5), out=empty((rows, wide), dtype),
            rows=rows, cols=cols, stride_r=cols + 3, wide=wide, BR=4, BC=8, PADDING=padding,
        ),
        reference=reference,
    )  # fmt: skip
