"""Rows added to the rows an index names (index_add): duplicates accumulate, rows nobody names stay.

A 2-D tile of atomics with a column tail; whole numbers keep the sum exact in fp16 and bf16 too.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, Integers, KernelCase, case


@triton.jit
def scatter_add_kernel(x, index, out, rows, cols, stride, BR: tl.constexpr, BC: tl.constexpr):
    row = tl.program_id(0) * BR + tl.arange(0, BR)
    col = tl.arange(0, BC)
    inside = (row < rows)[:, None] & (col < cols)[None, :]
    target = tl.load(index + row, mask=row < rows, other=0)
    value = tl.load(x + row[:, None] * cols + col[None, :], mask=inside, other=0.0)
    tl.atomic_add(out + target[:, None] * stride + col[None, :], value, mask=inside)


@case(dtype=["fp32", "fp16", "bf16", "int32"])
def scatter_add(dtype):
    rows, cols, targets = 21, 12, 6
    whole = Integers(-3, 4)
    return KernelCase(
        scatter_add_kernel,
        grid=(triton.cdiv(rows, 8),),
        args=dict(
            x=Buffer((rows, cols), dtype, fill=whole), index=Buffer(rows, "int64", fill=Integers(0, targets - 1)),
            out=Buffer((targets, cols), dtype, strides=(20, 1), fill=whole), rows=rows, cols=cols,
            stride=20, BR=8, BC=16,
        ),
        reference=lambda x, index, out: {"out": out.index_add(0, index, x)},
    )  # fmt: skip
