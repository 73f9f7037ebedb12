"""Tensor descriptors made in the kernel: reads outside give the padding, stores outside are dropped.

The block reaches past both ends and, for the shifted copy, past the beginning. Rows, row strides and column
shifts are whole multiples of 16 bytes: NVIDIA's copy engine rounds the end of a stored row up to 16 bytes, and
traps on a start that is not aligned to them.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def tensor_descriptor_kernel(
    x, out, rows, cols, stride_x, stride_out, shift, BR: tl.constexpr, BC: tl.constexpr, PADDING: tl.constexpr
):  # fmt: skip
    source = tl.make_tensor_descriptor(x, [rows, cols], [stride_x, 1], [BR, BC], padding_option=PADDING)
    target = tl.make_tensor_descriptor(out, [rows, cols], [stride_out, 1], [BR, BC])
    row = tl.program_id(0) * BR
    col = tl.program_id(1) * BC
    target.store([row, col], source.load([row - shift, col + shift]))


@case(dtype=["fp32", "fp16", "int8", "int32"], shift=[0, 16])
def tensor_descriptor(dtype, shift):
    return described(dtype, shift, "zero")


@case(dtype=["fp32", "bf16"])
def tensor_descriptor_nan(dtype):
    return described(dtype, 16, "nan")


def described(dtype: str, shift: int, padding: str) -> KernelCase:
    rows, cols, wide = 19, 48, 64

    def reference(x):
        fill = float("nan") if padding == "nan" else 0
        return torch.nn.functional.pad(x, (0, shift, shift, 0), value=fill)[:rows, shift:]

    return KernelCase(
        tensor_descriptor_kernel,
        grid=(triton.cdiv(rows, 8), triton.cdiv(cols, 32)),
        args=dict(
            x=Buffer((rows, cols), dtype, strides=(wide, 1)), out=empty((rows, cols), dtype, strides=(wide, 1)),
            rows=rows, cols=cols, stride_x=wide, stride_out=wide, shift=shift, BR=8, BC=32, PADDING=padding,
        ),
        reference=reference,
    )  # fmt: skip
