"""2-D convolutions as Inductor's `convolution2d` template writes them: implicit GEMM over output pixels."""

from dataclasses import dataclass

import torch.nn.functional as functional
import triton
import triton.language as tl

from benchmarks.benchmark import Benchmark, blocks
from harness.cases import Buffer, KernelCase, empty
from harness.cases.buffer import contiguous_strides


@triton.jit
def conv_kernel(
    X, W, out,
    BATCH: tl.constexpr, IN_C: tl.constexpr, IN_H: tl.constexpr, IN_W: tl.constexpr,
    OUT_C: tl.constexpr, OUT_H: tl.constexpr, OUT_W: tl.constexpr,
    stride_xn, stride_xc, stride_xh, stride_xw, stride_yn, stride_yc, stride_yh, stride_yw,
    KERNEL: tl.constexpr, STRIDE: tl.constexpr, PADDING: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    nhw = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    idx_y_w = nhw % OUT_W
    nh = nhw // OUT_W
    idx_y_h = nh % OUT_H
    idx_n = nh // OUT_H
    idx_y_c = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    x_base = X + (idx_n * stride_xn)[:, None]
    w_base = W + (idx_y_c * IN_C * KERNEL * KERNEL)[None, :]
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    BLOCK_K_COUNT = (IN_C + BLOCK_K - 1) // BLOCK_K
    for ijk in range(KERNEL * KERNEL * BLOCK_K_COUNT):
        k = (ijk % BLOCK_K_COUNT) * BLOCK_K
        ij = ijk // BLOCK_K_COUNT
        i = ij // KERNEL
        j = ij % KERNEL
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
            & (idx_x_c < IN_C)[None, :]
        )
        matrix_x = tl.load(x_ptrs, mask=mask_x, other=0.0)
        w_ptrs = w_base + ((idx_x_c * KERNEL * KERNEL)[:, None] + (i * KERNEL) + j)
        mask_w = (idx_x_c[:, None] < IN_C) & (idx_y_c[None, :] < OUT_C)
        matrix_w = tl.load(w_ptrs, mask=mask_w, other=0.0)
        acc += tl.dot(matrix_x, matrix_w, input_precision="ieee")
    mask = (
        (idx_n < BATCH)[:, None] & (idx_y_h < OUT_H)[:, None] & (idx_y_w < OUT_W)[:, None] & (idx_y_c < OUT_C)[None, :]
    )
    pixel = idx_n * stride_yn + idx_y_h * stride_yh + idx_y_w * stride_yw
    tl.store(out + (pixel[:, None] + (idx_y_c * stride_yc)[None, :]), acc, mask)


@dataclass(frozen=True)
class Geometry:
    """A square convolution of a square image; `block_k` is the template's block of input channels."""

    channels: int
    extent: int
    filters: int
    kernel: int
    stride: int
    padding: int
    block_k: int

    @property
    def out_extent(self) -> int:
        return (self.extent + 2 * self.padding - self.kernel) // self.stride + 1


def _conv(geometry: Geometry, batch: int) -> KernelCase:
    x_shape = (batch, geometry.channels, geometry.extent, geometry.extent)
    y_shape = (batch, geometry.filters, geometry.out_extent, geometry.out_extent)
    w_shape = (geometry.filters, geometry.channels, geometry.kernel, geometry.kernel)
    pixels = batch * geometry.out_extent**2
    return KernelCase(
        conv_kernel,
        grid=(blocks(pixels, 64), blocks(geometry.filters, 64), 1),
        args=dict(
            X=Buffer(x_shape),
            W=Buffer(w_shape),
            out=empty(y_shape),
            **dict(zip(["BATCH", "IN_C", "IN_H", "IN_W"], x_shape, strict=True)),
            **dict(zip(["OUT_C", "OUT_H", "OUT_W"], y_shape[1:], strict=True)),
            **_strides("x", x_shape),
            **_strides("y", y_shape),
            KERNEL=geometry.kernel,
            STRIDE=geometry.stride,
            PADDING=geometry.padding,
            BLOCK_M=64,
            BLOCK_N=64,
            BLOCK_K=geometry.block_k,
        ),
        reference=lambda X, W: functional.conv2d(X, W, stride=geometry.stride, padding=geometry.padding),
        reduction=geometry.channels * geometry.kernel**2,
    )


def _strides(name: str, shape: tuple[int, ...]) -> dict[str, int]:
    return {f"stride_{name}{axis}": stride for axis, stride in zip("nchw", contiguous_strides(shape), strict=True)}


def _eager(geometry: Geometry):
    return lambda X, W: lambda: {"out": functional.conv2d(X, W, stride=geometry.stride, padding=geometry.padding)}


THREE = Geometry(channels=64, extent=56, filters=64, kernel=3, stride=1, padding=1, block_k=32)
SEVEN = Geometry(channels=3, extent=224, filters=64, kernel=7, stride=2, padding=3, block_k=16)

WHY = (
    "the template finds each pixel's row and column by division, so its loads are gathers, one for each kernel"
    " position and block of channels; torch reads windows of the image where they lie."
)

CONV_3X3 = Benchmark("conv_3x3", "64 channels, 56x56 fp32", lambda scale: _conv(THREE, scale), _eager(THREE), WHY)
CONV_7X7 = Benchmark(
    "conv_7x7", "stride 2, 3 to 64 channels, 224x224 fp32", lambda scale: _conv(SEVEN, scale), _eager(SEVEN), WHY
)
