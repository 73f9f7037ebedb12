"""`tl.dot_scaled`: operands in a microscaling format, one e8m0 scale (a power of two) per 32 elements of K.

mxfp8 (e4m3, e5m2) holds one element a byte; mxfp4 (e2m1) packs two along K, the first in the low half.
Every product and power of two here is exact, so scales applied along the wrong axis, swapped halves or
a wrong bias of the exponent are seen and nothing else is.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, Integers, KernelCase, case, empty


@triton.jit
def dot_scaled_kernel(
    a, a_scale, b, b_scale, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr,
    A_FORMAT: tl.constexpr, B_FORMAT: tl.constexpr, A_PACK: tl.constexpr, B_PACK: tl.constexpr,
    B_SCALED: tl.constexpr,
):  # fmt: skip
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    a_k = tl.arange(0, K // A_PACK)
    b_k = tl.arange(0, K // B_PACK)
    groups = tl.arange(0, K // 32)
    a_tile = tl.load(a + m[:, None] * (K // A_PACK) + a_k[None, :])
    b_tile = tl.load(b + b_k[:, None] * N + n[None, :])
    a_scales = tl.load(a_scale + m[:, None] * (K // 32) + groups[None, :])
    b_scales = tl.load(b_scale + n[:, None] * (K // 32) + groups[None, :]) if B_SCALED else None
    acc = tl.dot_scaled(a_tile, a_scales, A_FORMAT, b_tile, b_scales, B_FORMAT)
    tl.store(c + m[:, None] * N + n[None, :], acc)


E2M1 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], dtype=torch.float64)
STORED = {"e4m3": ("fp8e4nv", 1), "e5m2": ("fp8e5", 1), "e2m1": ("uint8", 2), "bf16": ("bf16", 1), "fp16": ("fp16", 1)}


def operand(shape: tuple[int, int], fmt: str, k_axis: int) -> Buffer:
    dtype, pack = STORED[fmt]
    shape = tuple(n // pack if axis == k_axis else n for axis, n in enumerate(shape))
    return Buffer(shape, dtype, fill=Integers(0, 256) if fmt == "e2m1" else Integers(-4, 5))


def decoded(values: torch.Tensor, fmt: str, k_axis: int) -> torch.Tensor:
    if fmt != "e2m1":
        return values
    halves = torch.stack([values.long() & 15, values.long() >> 4], dim=k_axis + 1)
    return E2M1[halves].flatten(k_axis, k_axis + 1)


def power_of_two(scale: torch.Tensor) -> torch.Tensor:
    return (2.0 ** (scale.double() - 127)).repeat_interleave(32, dim=1)


FORMATS = [("e4m3", "e4m3"), ("e5m2", "e4m3"), ("e2m1", "e2m1"), ("e2m1", "e4m3"), ("e2m1", "bf16"), ("e2m1", "fp16")]


@case(formats=FORMATS)
def dot_scaled(formats):
    m, n, k = 32, 32, 64
    left, right = formats
    scaled = right not in ("bf16", "fp16")

    def reference(a, a_scale, b, b_scale):
        b_factor = power_of_two(b_scale).T if scaled else 1.0
        return (decoded(a, left, 1) * power_of_two(a_scale)) @ (decoded(b, right, 0) * b_factor)

    scales = Integers(125, 130)
    return KernelCase(
        dot_scaled_kernel,
        grid=(1,),
        args=dict(
            a=operand((m, k), left, 1), a_scale=Buffer((m, k // 32), "uint8", fill=scales),
            b=operand((k, n), right, 0), b_scale=Buffer((n, k // 32), "uint8", fill=scales), c=empty((m, n), "fp32"),
            M=m, N=n, K=k, A_FORMAT=left, B_FORMAT=right,
            A_PACK=STORED[left][1], B_PACK=STORED[right][1], B_SCALED=scaled,
        ),
        reference=reference,
    )  # fmt: skip
