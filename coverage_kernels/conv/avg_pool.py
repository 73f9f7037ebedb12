"""Average pooling over channels-last storage, dividing by the window or only by the pixels inside it.

The divisor varies per lane at the border; a window hoisted to a scalar is right in the middle only.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def avg_pool_kernel(
    x, out, H, W, OUT_H, OUT_W, CHANNELS, TOTAL, COUNT_PADDING: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    channel = at % CHANNELS
    col = at // CHANNELS % OUT_W
    row = at // (CHANNELS * OUT_W) % OUT_H
    image = at // (CHANNELS * OUT_W * OUT_H)
    total = tl.zeros((BLOCK,), tl.float32)
    pixels = tl.zeros((BLOCK,), tl.int32)
    for tap in range(9):
        y = row * 2 + tap // 3 - 1
        z = col * 2 + tap % 3 - 1
        inside = (y >= 0) & (y < H) & (z >= 0) & (z < W) & (at < TOTAL)
        total += tl.load(x + ((image * H + y) * W + z) * CHANNELS + channel, mask=inside, other=0.0).to(tl.float32)
        pixels += inside.to(tl.int32)
    divisor = 9.0 if COUNT_PADDING else tl.maximum(pixels, 1).to(tl.float32)
    tl.store(out + at, total / divisor, mask=at < TOTAL)


@case(dtype=["fp32", "fp16"], count_padding=[False, True])
def avg_pool(dtype, count_padding):
    n, c, h, w = 2, 5, 8, 7
    out_h, out_w = (h - 1) // 2 + 1, (w - 1) // 2 + 1
    channels_last = (c * h * w, 1, w * c, c)
    return KernelCase(
        avg_pool_kernel,
        grid=(triton.cdiv(n * c * out_h * out_w, 64),),
        args=dict(
            x=Buffer((n, c, h, w), dtype, strides=channels_last),
            out=empty((n, c, out_h, out_w), dtype, strides=(c * out_h * out_w, 1, out_w * c, c)),
            H=h, W=w, OUT_H=out_h, OUT_W=out_w, CHANNELS=c, TOTAL=n * c * out_h * out_w,
            COUNT_PADDING=count_padding, BLOCK=64,
        ),
        reference=lambda x: torch.nn.functional.avg_pool2d(x, 3, 2, 1, count_include_pad=count_padding),
        reduction=9,
    )  # fmt: skip
