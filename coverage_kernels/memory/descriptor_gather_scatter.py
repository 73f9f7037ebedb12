"""`gather` and `scatter` of a tensor descriptor: rows picked by a tensor of indices, a run of columns of each.

Rows come in any order, twice (gather), and from outside the tensor on either side, as does the end of the columns:
what is outside reads as the padding and is not written.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, Values, case, empty


@triton.jit
def descriptor_gather_kernel(
    x, index, out, rows, cols, stride, column, PICKED: tl.constexpr, BC: tl.constexpr, PADDING: tl.constexpr
):
    source = tl.make_tensor_descriptor(x, [rows, cols], [stride, 1], [1, BC], padding_option=PADDING)
    at = tl.program_id(0) * PICKED + tl.arange(0, PICKED)
    value = source.gather(tl.load(index + at), column)
    tl.store(out + at[:, None] * BC + tl.arange(0, BC)[None, :], value)


PICKED = (3, 0, 9, 3, -1, 5, 1, 8, 2, 10, 4, 7, 100, 6, 0, 0)


@case(dtype=["fp32", "fp16", "int32"], column=[0, 16])
def descriptor_gather(dtype, column):
    return gathered(dtype, column, "zero")


@case(dtype=["fp32"])
def descriptor_gather_nan(dtype):
    return gathered(dtype, 16, "nan")


def gathered(dtype: str, column: int, padding: str) -> KernelCase:
    rows, cols, wide = 10, 40, 48

    def reference(x):
        fill = float("nan") if padding == "nan" else 0
        outside = torch.full((1, 32), fill, dtype=x.dtype)
        padded = torch.nn.functional.pad(x, (0, 32), value=fill)[:, column : column + 32]
        return torch.cat([padded[[row]] if 0 <= row < rows else outside for row in PICKED])

    return KernelCase(
        descriptor_gather_kernel,
        grid=(2,),
        args=dict(
            x=Buffer((rows, cols), dtype, strides=(wide, 1)),
            index=Buffer(16, "int32", fill=Values(PICKED)), out=empty((16, 32), dtype),
            rows=rows, cols=cols, stride=wide, column=column, PICKED=8, BC=32, PADDING=padding,
        ),
        reference=reference,
    )  # fmt: skip


@triton.jit
def descriptor_scatter_kernel(x, index, out, rows, cols, stride, column, PICKED: tl.constexpr, BC: tl.constexpr):
    target = tl.make_tensor_descriptor(out, [rows, cols], [stride, 1], [1, BC])
    at = tl.arange(0, PICKED)
    value = tl.load(x + at[:, None] * BC + tl.arange(0, BC)[None, :])
    target.scatter(value, tl.load(index + at), column)


@case(dtype=["fp32", "fp16", "int32"], column=[0, 16])
def descriptor_scatter(dtype, column):
    """Rows and columns that nobody picked keep what they held; no row is picked twice."""
    rows, cols, wide = 10, 40, 48
    picked = (3, 0, 9, 10, -1, 5, 1, 8)

    def reference(x, out):
        end = min(column + 32, cols)
        for source, row in zip(x, picked, strict=True):
            if 0 <= row < rows:
                out[row, column:end] = source[: end - column]
        return {"out": out}

    return KernelCase(
        descriptor_scatter_kernel,
        grid=(1,),
        args=dict(
            x=Buffer((8, 32), dtype), index=Buffer(8, "int32", fill=Values(picked)),
            out=Buffer((rows, cols), dtype, strides=(wide, 1)),
            rows=rows, cols=cols, stride=wide, column=column, PICKED=8, BC=32,
        ),
        reference=reference,
    )  # fmt: skip
