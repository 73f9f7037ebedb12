"""fp8e4b15, which neither MLIR nor torch has a type for: bytes in memory, converted by what the backend supplies.

Four bits of exponent with a bias of 15, three of mantissa, no NaN and no infinity. Conversions go through float16,
round half away from zero and saturate at 1.75, as those Triton ships for CUDA do.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Arange, Buffer, KernelCase, Uniform, Values, case, empty


def decoded(byte: torch.Tensor) -> torch.Tensor:
    exponent, mantissa = byte.long() >> 3 & 15, byte.long() & 7
    denormal = mantissa * 2.0**-17
    magnitude = torch.where(exponent == 0, denormal, (1 + mantissa / 8) * 2.0 ** (exponent - 15))
    return torch.where(byte.long() >= 128, -magnitude, magnitude)


def encoded(x: torch.Tensor) -> torch.Tensor:
    """The nearest of the magnitudes up to 1.75; of two as near, the larger."""
    grid = decoded(torch.arange(0x7F))
    magnitude = torch.bucketize(x.double().abs(), (grid[1:] + grid[:-1]) / 2, right=True)
    return (magnitude + 128 * torch.signbit(x)).to(torch.uint8)


@triton.jit
def from_fp8e4b15_kernel(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    value = tl.load(x + at).to(tl.float8e4b15, bitcast=True)
    tl.store(out + at, value.to(out.dtype.element_ty))


@case(target=["fp16", "fp32", "bf16"])
def from_fp8e4b15(target):
    """All 256 patterns: every one is exact."""
    return KernelCase(
        from_fp8e4b15_kernel,
        grid=(1,),
        args=dict(x=Buffer(256, "uint8", fill=Arange()), out=empty(256, target), BLOCK=256),
        reference=lambda x: decoded(x),
        signed_zeros=True,
    )


@triton.jit
def to_fp8e4b15_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n).to(tl.float8e4b15)
    tl.store(out + at, value.to(tl.uint8, bitcast=True), mask=at < n)


HALFWAY = tuple(sign * (1 + (i + 0.5) / 8) for i in range(6) for sign in (1, -1))
EDGES = (0.0, -0.0, 2.0**-18, -(2.0**-18), 2.0**-19, 1.75, 1.8, 1.875, -100.0, float("inf"), -float("inf"))


@case(source=["fp32", "fp16", "bf16"], values=["uniform", "edges"])
def to_fp8e4b15(source, values):
    fill = Uniform(-2.0, 2.0) if values == "uniform" else Values((*HALFWAY, *EDGES))
    return KernelCase(
        to_fp8e4b15_kernel,
        grid=(2,),
        args=dict(x=Buffer(200, source, fill=fill), out=empty(200, "uint8"), n=200, BLOCK=128),
        reference=encoded,
    )


@triton.jit
def dot_kernel(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m = tl.arange(0, M)[:, None]
    n = tl.arange(0, N)[None, :]
    left = tl.load(a + m * K + tl.arange(0, K)[None, :]).to(tl.float8e4b15, bitcast=True)
    right = tl.load(b + tl.arange(0, K)[:, None] * N + n).to(tl.float8e4b15, bitcast=True)
    tl.store(c + m * N + n, tl.dot(left, right))


@case(k=[32, 64])
def fp8e4b15_dot(k):
    """The front end widens both operands to float16; ones, halves and quarters are exact."""
    exact = Values((0x78, 0x70, 0x68, 0x00, 0xF8, 0xF0, 0xE8))
    return KernelCase(
        dot_kernel,
        grid=(1,),
        args=dict(
            a=Buffer((16, k), "uint8", fill=exact), b=Buffer((k, 16), "uint8", fill=exact), c=empty((16, 16)),
            M=16, N=16, K=k,
        ),
        reference=lambda a, b: decoded(a) @ decoded(b),
    )  # fmt: skip
