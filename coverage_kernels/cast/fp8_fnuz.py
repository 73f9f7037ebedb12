"""fp8e4b8 and fp8e5b16 (torch's float8_e4m3fnuz and float8_e5m2fnuz): one NaN, no infinity, no negative zero.

The exponent bias is one more than in the formats they resemble, so that a pattern read as the other format is half or
twice itself. AMD's gfx942 has them; NVIDIA's front end refuses both by name. Narrowing rounds to nearest even and
saturates, infinities included.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Arange, Buffer, KernelCase, Special, Values, case, empty
from harness.cases.dtypes import dtype_named

KINDS = {"fp8e4b8": tl.float8e4b8, "fp8e5b16": tl.float8e5b16}
MANTISSA = {"fp8e4b8": 3, "fp8e5b16": 2}
LEAST = {"fp8e4b8": 2.0**-10, "fp8e5b16": 2.0**-17}


@triton.jit
def convert_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n).to(out.dtype.element_ty), mask=at < n)


def converted(x: Buffer, target: str) -> KernelCase:
    def reference(x):
        """torch makes a NaN of what is too large: the finite range is clamped first."""
        dtype = dtype_named(target).torch
        limit = torch.finfo(dtype).max
        return x.float().clamp(-limit, limit).to(dtype)

    return KernelCase(
        convert_kernel,
        grid=(triton.cdiv(x.numel, 128),),
        args=dict(x=x, out=empty(x.shape, target), n=x.numel, BLOCK=128),
        reference=reference,
        exact_dtype=True,
    )


@case(source=["fp32", "fp16", "bf16"], target=list(KINDS))
def to_fnuz(source, target):
    """NaN, infinities, extremes and -0.0 among normal numbers."""
    return converted(Buffer(500, source, fill=Special()), target)


@case(target=list(KINDS))
def to_fnuz_halfway(target):
    """Values exactly between two neighbours go to the even one, on both sides of zero and among denormals."""
    steps = 2 ** MANTISSA[target]
    halfway = [sign * (1 + (i + 0.5) / steps) for i in range(steps) for sign in (1, -1)]
    denormal = [sign * (i + 0.5) * LEAST[target] for i in range(steps) for sign in (1, -1)]
    return converted(Buffer(100, fill=Values((*halfway, *denormal))), target)


@triton.jit
def read_as_kernel(x, out, n, FP8: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0).to(FP8, bitcast=True)
    tl.store(out + at, value.to(out.dtype.element_ty), mask=at < n)


@case(source=list(KINDS), target=["fp32", "fp16", "bf16"])
def from_fnuz(source, target):
    """All 256 patterns, read as integers and reinterpreted; every one is exact in the wider format."""
    return KernelCase(
        read_as_kernel,
        grid=(2,),
        args=dict(x=Buffer(256, "uint8", fill=Arange()), out=empty(256, target), n=256, FP8=KINDS[source], BLOCK=128),
        reference=lambda x: x.view(dtype_named(source).torch).float(),
        signed_zeros=True,
    )


@triton.jit
def copy_kernel(x, out, bits, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n)
    tl.store(out + at, value, mask=at < n)
    tl.store(bits + at, value.to(tl.int8, bitcast=True), mask=at < n)


@case(dtype=list(KINDS))
def copy_of_fnuz(dtype):
    """No conversion at all, from a buffer that starts at an odd byte: the bytes arrive as they were."""
    return KernelCase(
        copy_kernel,
        grid=(2,),
        args=dict(
            x=Buffer(200, dtype, offset=3, fill=Special()),
            out=empty(200, dtype, offset=1), bits=empty(200, "int8"), n=200, BLOCK=128,
        ),
        reference=lambda x: {"out": x, "bits": x.view(torch.int8)},
        exact_dtype=True,
    )  # fmt: skip
