"""Depthwise convolution: no dot, one channel a program column, the window unrolled by `tl.static_range`.

Input and output rows are padded (a row stride larger than the row), so that packing shifts every row.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def depthwise_kernel(
    x, w, out, H, W, OUT_H, OUT_W, CHANNELS, stride_xh, stride_yh, stride_step,
    TAPS: tl.constexpr, PADDING: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    plane = tl.program_id(1)
    channel = plane % CHANNELS
    pixel = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row = pixel // OUT_W
    col = pixel % OUT_W
    acc = tl.zeros((BLOCK,), tl.float32)
    for i in tl.static_range(TAPS):
        for j in tl.static_range(TAPS):
            y = row * stride_step + i - PADDING
            z = col * stride_step + j - PADDING
            inside = (y >= 0) & (y < H) & (z >= 0) & (z < W) & (row < OUT_H)
            value = tl.load(x + plane * H * stride_xh + y * stride_xh + z, mask=inside, other=0.0).to(tl.float32)
            acc += value * tl.load(w + channel * TAPS * TAPS + i * TAPS + j)
    tl.store(out + plane * OUT_H * stride_yh + row * stride_yh + col, acc, mask=row < OUT_H)


@case(dtype=["fp32", "fp16"], step=[1, 2], padding=[0, 1])
def depthwise(dtype, step, padding):
    n, c, h, w, taps = 2, 3, 9, 7, 3
    out_h, out_w = ((size + 2 * padding - taps) // step + 1 for size in (h, w))
    x_strides = (c * h * (w + 5), h * (w + 5), w + 5, 1)
    y_strides = (c * out_h * (out_w + 3), out_h * (out_w + 3), out_w + 3, 1)
    return KernelCase(
        depthwise_kernel,
        grid=(triton.cdiv(out_h * out_w, 16), n * c),
        args=dict(
            x=Buffer((n, c, h, w), dtype, strides=x_strides), w=Buffer((c, 1, taps, taps), dtype),
            out=empty((n, c, out_h, out_w), dtype, strides=y_strides), H=h, W=w, OUT_H=out_h, OUT_W=out_w, CHANNELS=c,
            stride_xh=w + 5, stride_yh=out_w + 3, stride_step=step, TAPS=taps, PADDING=padding, BLOCK=16,
        ),
        reference=lambda x, w: torch.nn.functional.conv2d(x, w, stride=step, padding=padding, groups=c),
        reduction=taps * taps,
    )  # fmt: skip
