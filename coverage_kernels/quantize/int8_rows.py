"""Rows quantised to int8 by their largest magnitude: scale, round, clamp; a row of zeros keeps scale 1.

Division and rounding are the exact ones (`tl.div_rn`, floor of x + 0.5), so every integer is determined.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, Normal, case, empty


@triton.jit
def int8_rows_kernel(x, out, scales, cols, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lane = tl.arange(0, BLOCK)
    value = tl.load(x + row * stride + lane, mask=lane < cols, other=0.0).to(tl.float32)
    top = tl.max(tl.abs(value), 0)
    scale = tl.where(top > 0, tl.div_rn(top, 127.0), 1.0)
    steps = tl.floor(tl.div_rn(value, tl.broadcast_to(scale, (BLOCK,))) + 0.5)
    tl.store(out + row * cols + lane, tl.clamp(steps, -128.0, 127.0).to(tl.int8), mask=lane < cols)
    tl.store(scales + row, scale)


@case(dtype=["fp32", "fp16", "bf16"], scale=[0.0, 3.0, 1000.0])
def int8_rows(dtype, scale):
    rows, cols = 9, 100

    def reference(x):
        x = x.float()
        top = x.abs().amax(1)
        scales = torch.where(top > 0, top / 127.0, 1.0)
        return {"out": (x / scales[:, None] + 0.5).floor().clamp(-128, 127).to(torch.int8), "scales": scales}

    return KernelCase(
        int8_rows_kernel,
        grid=(rows,),
        args=dict(
            x=Buffer((rows, cols), dtype, strides=(cols + 4, 1), fill=Normal(scale)), out=empty((rows, cols), "int8"),
            scales=empty(rows), cols=cols, stride=cols + 4, BLOCK=128,
        ),
        reference=reference,
        exact_dtype=True,
    )  # fmt: skip
