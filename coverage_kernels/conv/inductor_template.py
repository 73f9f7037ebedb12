"""2-D convolution as implicit GEMM, as Inductor's `convolution2d` template writes it, groups included.

Rows are output pixels (n, h, w) split by div and mod, columns output channels, the k loop runs over
(kernel row, kernel column, input channel). Padding is a mask on the input coordinate, so an input index
below zero is computed but never read. Channels-last goes in and out by strides alone: packing it gives the
right values in the wrong places.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def inductor_template_kernel(
    X, W, out,
    BATCH: tl.constexpr, IN_C: tl.constexpr, IN_H: tl.constexpr, IN_W: tl.constexpr,
    OUT_C: tl.constexpr, OUT_H: tl.constexpr, OUT_W: tl.constexpr,
    stride_xn, stride_xc, stride_xh, stride_xw, stride_yn, stride_yc, stride_yh, stride_yw,
    KERNEL_H: tl.constexpr, KERNEL_W: tl.constexpr, STRIDE: tl.constexpr, PADDING: tl.constexpr, GROUPS: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    nhw = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    idx_y_w = nhw % OUT_W
    nh = nhw // OUT_W
    idx_y_h = nh % OUT_H
    idx_n = nh // OUT_H
    idx_y_c = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    group = tl.program_id(2)
    GROUP_IN_C: tl.constexpr = IN_C // GROUPS
    GROUP_OUT_C: tl.constexpr = OUT_C // GROUPS
    x_base = X + (group * stride_xc * GROUP_IN_C + idx_n * stride_xn)[:, None]
    w_base = W + ((group * GROUP_OUT_C + idx_y_c) * GROUP_IN_C * KERNEL_H * KERNEL_W)[None, :]
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    BLOCK_K_COUNT = (GROUP_IN_C + BLOCK_K - 1) // BLOCK_K
    for ijk in range(KERNEL_H * KERNEL_W * BLOCK_K_COUNT):
        k = (ijk % BLOCK_K_COUNT) * BLOCK_K
        ij = ijk // BLOCK_K_COUNT
        i = ij // KERNEL_W
        j = ij % KERNEL_W
        idx_x_h = i - PADDING + idx_y_h * STRIDE
        idx_x_w = j - PADDING + idx_y_w * STRIDE
        idx_x_c = tl.arange(0, BLOCK_K) + k
        x_ptrs = x_base + (
            (idx_x_h * stride_xh)[:, None] + (idx_x_w * stride_xw)[:, None] + (idx_x_c * stride_xc)[None, :]
        )
        mask_x = (
            (idx_n < BATCH)[:, None]
            & (idx_x_h >= 0)[:, None]
            & (idx_x_h < IN_H)[:, None]
            & (idx_x_w >= 0)[:, None]
            & (idx_x_w < IN_W)[:, None]
            & (idx_x_c < GROUP_IN_C)[None, :]
        )
        matrix_x = tl.load(x_ptrs, mask=mask_x, other=0.0)
        w_ptrs = w_base + ((idx_x_c * KERNEL_H * KERNEL_W)[:, None] + (i * KERNEL_W) + j)
        mask_w = (idx_x_c[:, None] < GROUP_IN_C) & (idx_y_c[None, :] < GROUP_OUT_C)
        matrix_w = tl.load(w_ptrs, mask=mask_w, other=0.0)
        acc += tl.dot(matrix_x, matrix_w, input_precision="ieee")
    mask = (
        (idx_n < BATCH)[:, None]
        & (idx_y_h < OUT_H)[:, None]
        & (idx_y_w < OUT_W)[:, None]
        & (idx_y_c < GROUP_OUT_C)[None, :]
    )
    pixel = idx_n * stride_yn + idx_y_h * stride_yh + idx_y_w * stride_yw
    channel = (idx_y_c + group * GROUP_OUT_C) * stride_yc
    tl.store(out + (pixel[:, None] + channel[None, :]), acc, mask)


def strides_of(shape: tuple[int, int, int, int], layout: str) -> tuple[int, int, int, int]:
    _, c, h, w = shape
    return (c * h * w, 1, w * c, c) if layout == "nhwc" else (c * h * w, h * w, w, 1)


@case(variant=["nchw-fp32", "nhwc-fp16"], geometry=[(3, 1, 1, 1), (3, 2, 1, 2), (5, 1, 2, 1), (1, 1, 0, 3)])
def inductor_template(variant, geometry):
    layout, dtype = variant.split("-")
    kernel, stride, padding, groups = geometry
    x_shape, w_shape = (2, 18, 9, 11), (12, 18 // groups, kernel, kernel)
    out_h, out_w = ((n + 2 * padding - kernel) // stride + 1 for n in x_shape[2:])
    y_shape = (2, 12, out_h, out_w)
    x_strides, y_strides = strides_of(x_shape, layout), strides_of(y_shape, layout)
    return KernelCase(
        inductor_template_kernel,
        grid=(triton.cdiv(2 * out_h * out_w, 32), triton.cdiv(12 // groups, 16), groups),
        args=dict(
            X=Buffer(x_shape, dtype, strides=x_strides), W=Buffer(w_shape, dtype),
            out=empty(y_shape, dtype, strides=y_strides),
            BATCH=2, IN_C=18, IN_H=9, IN_W=11, OUT_C=12, OUT_H=out_h, OUT_W=out_w,
            **dict(zip(["stride_xn", "stride_xc", "stride_xh", "stride_xw"], x_strides, strict=True)),
            **dict(zip(["stride_yn", "stride_yc", "stride_yh", "stride_yw"], y_strides, strict=True)),
            KERNEL_H=kernel, KERNEL_W=kernel, STRIDE=stride, PADDING=padding, GROUPS=groups,
            BLOCK_M=32, BLOCK_N=16, BLOCK_K=16,
        ),
        reference=lambda X, W: torch.nn.functional.conv2d(X, W, stride=stride, padding=padding, groups=groups),
        reduction=kernel * kernel * 18 // groups,
    )  # fmt: skip
