"""A transposed convolution written as a gather: only taps that land on a whole input pixel count.

`(row + padding - i) % stride` with a negative left side uses Triton's truncating remainder: the mask that
guards it, not the remainder, must decide.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def transposed_kernel(
    x, w, out, H, W, OUT_H, OUT_W, IN_C: tl.constexpr, OUT_C: tl.constexpr, TAPS: tl.constexpr, STRIDE: tl.constexpr,
    PADDING: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    pixel = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    channel = tl.program_id(1)
    row = pixel // OUT_W
    col = pixel % OUT_W
    acc = tl.zeros((BLOCK,), tl.float32)
    for c in range(IN_C):
        for i in range(TAPS):
            for j in range(TAPS):
                up = row + PADDING - i
                left = col + PADDING - j
                whole = (up % STRIDE == 0) & (left % STRIDE == 0) & (up >= 0) & (left >= 0)
                inside = whole & (up // STRIDE < H) & (left // STRIDE < W) & (row < OUT_H)
                value = tl.load(x + (c * H + up // STRIDE) * W + left // STRIDE, mask=inside, other=0.0)
                acc += value * tl.load(w + ((c * OUT_C + channel) * TAPS + i) * TAPS + j)
    tl.store(out + channel * OUT_H * OUT_W + pixel, acc, mask=row < OUT_H)


@case(stride=[1, 2, 3], padding=[0, 1])
def transposed(stride, padding):
    in_c, out_c, h, w, taps = 3, 2, 5, 6, 3
    out_h, out_w = ((size - 1) * stride - 2 * padding + taps for size in (h, w))
    return KernelCase(
        transposed_kernel,
        grid=(triton.cdiv(out_h * out_w, 64), out_c),
        args=dict(
            x=Buffer((1, in_c, h, w)), w=Buffer((in_c, out_c, taps, taps)), out=empty((1, out_c, out_h, out_w)),
            H=h, W=w, OUT_H=out_h, OUT_W=out_w, IN_C=in_c, OUT_C=out_c, TAPS=taps, STRIDE=stride, PADDING=padding,
            BLOCK=64,
        ),
        reference=lambda x, w: torch.nn.functional.conv_transpose2d(x, w, stride=stride, padding=padding),
        reduction=in_c * taps * taps,
    )  # fmt: skip
