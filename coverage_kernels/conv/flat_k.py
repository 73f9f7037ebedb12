"""Implicit GEMM whose k index is one flat number, split into (channel, kernel row, kernel column) per lane.

The address along K is piecewise affine, dilation spreads the window, and no K block ends at a channel: a
lowering that takes the first lane's split for all of them reads the wrong taps.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def flat_k_kernel(
    x, w, bias, out, H, W, OUT_H, OUT_W, PIXELS, CHANNELS: tl.constexpr, OUT_C: tl.constexpr, TAPS: tl.constexpr,
    STRIDE: tl.constexpr, PADDING: tl.constexpr, DILATION: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
    BK: tl.constexpr,
):  # fmt: skip
    pixel = tl.program_id(0) * BM + tl.arange(0, BM)
    image = pixel // (OUT_H * OUT_W)
    top = (pixel // OUT_W % OUT_H) * STRIDE - PADDING
    left = (pixel % OUT_W) * STRIDE - PADDING
    channel_out = tl.arange(0, BN)
    depth: tl.constexpr = CHANNELS * TAPS * TAPS
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, depth, BK):
        k = start + tl.arange(0, BK)
        row = top[:, None] + (k // TAPS % TAPS)[None, :] * DILATION
        col = left[:, None] + (k % TAPS)[None, :] * DILATION
        plane = image[:, None] * CHANNELS + (k // (TAPS * TAPS))[None, :]
        inside = (row >= 0) & (row < H) & (col >= 0) & (col < W) & (k < depth)[None, :] & (pixel < PIXELS)[:, None]
        x_tile = tl.load(x + (plane * H + row) * W + col, mask=inside, other=0.0)
        w_mask = (k < depth)[:, None] & (channel_out < OUT_C)[None, :]
        w_tile = tl.load(w + channel_out[None, :] * depth + k[:, None], mask=w_mask, other=0.0)
        acc = tl.dot(x_tile, w_tile, acc, input_precision="ieee")
    acc += tl.load(bias + channel_out, mask=channel_out < OUT_C, other=0.0)[None, :]
    out_row = (image * OUT_C * OUT_H * OUT_W + pixel % (OUT_H * OUT_W))[:, None]
    keep = (pixel < PIXELS)[:, None] & (channel_out < OUT_C)[None, :]
    tl.store(out + out_row + channel_out[None, :] * OUT_H * OUT_W, acc, mask=keep)


@case(dtype=["fp32", "bf16"], geometry=[(1, 0, 1), (2, 2, 1), (1, 2, 2), (2, 3, 3)])
def flat_k(dtype, geometry):
    stride, padding, dilation = geometry
    n, c, h, w, out_c, taps = 2, 5, 10, 8, 7, 3
    out_h, out_w = ((size + 2 * padding - dilation * (taps - 1) - 1) // stride + 1 for size in (h, w))
    return KernelCase(
        flat_k_kernel,
        grid=(triton.cdiv(n * out_h * out_w, 32),),
        args=dict(
            x=Buffer((n, c, h, w), dtype), w=Buffer((out_c, c, taps, taps), dtype), bias=Buffer(out_c, dtype),
            out=empty((n, out_c, out_h, out_w), dtype), H=h, W=w, OUT_H=out_h, OUT_W=out_w, PIXELS=n * out_h * out_w,
            CHANNELS=c, OUT_C=out_c, TAPS=taps, STRIDE=stride, PADDING=padding, DILATION=dilation, BM=32, BN=16, BK=16,
        ),
        reference=lambda x, w, bias: torch.nn.functional.conv2d(x, w, bias, stride, padding, dilation),
        reduction=c * taps * taps,
    )  # fmt: skip
