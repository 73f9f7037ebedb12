"""Conversions to and from the 8-bit floats, all 256 patterns one way and the rounding edges the other.

Written for the harness. Triton narrows to fp8 by rounding to nearest even and saturates: what is too
large becomes the largest finite number, infinities included, while NaN stays NaN.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Arange, Buffer, KernelCase, Special, Uniform, Values, case, empty
from harness.cases.dtypes import dtype_named


@triton.jit
def to_fp8_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n, other=0.0).to(out.dtype.element_ty), mask=at < n)


def narrowed(x, target):
    """Through torch, which overflows instead: the finite range is clamped first."""
    dtype = dtype_named(target).torch
    limit = torch.finfo(dtype).max
    return x.float().clamp(-limit, limit).to(dtype)


@case(source=["fp32", "fp16", "bf16"], target=["fp8e4nv", "fp8e5"])
def to_fp8(source, target):
    """Normal numbers, and a spread down through the denormals of both formats."""
    return KernelCase(
        to_fp8_kernel,
        grid=(4,),
        args=dict(x=Buffer(500, source), out=empty(500, target), n=500, BLOCK=128),
        reference=lambda x: narrowed(x, target),
        exact_dtype=True,
    )


@case(target=["fp8e4nv", "fp8e5"])
def to_fp8_halfway(target):
    """Values exactly between two neighbours go to the even one, on both sides of zero and among denormals."""
    mantissa = 3 if target == "fp8e4nv" else 2
    step = 2.0**-mantissa
    least = 2.0**-9 if target == "fp8e4nv" else 2.0**-16
    halfway = [sign * (1 + (i + 0.5) * step) for i in range(2**mantissa) for sign in (1, -1)]
    denormal = [(i + 0.5) * least for i in range(2**mantissa)]
    return KernelCase(
        to_fp8_kernel,
        grid=(1,),
        args=dict(
            x=Buffer(100, fill=Values((*halfway, *denormal, 0.0, -0.0))), out=empty(100, target), n=100, BLOCK=128
        ),
        reference=lambda x: narrowed(x, target),
        exact_dtype=True,
        signed_zeros=True,
    )


@case(source=["fp32", "fp16"], target=["fp8e4nv", "fp8e5"])
def to_fp8_saturates(source, target):
    fill = Values((400.0, 449.0, 464.0, 500.0, -1000.0, 57344.0, 60000.0, 65504.0, -65504.0, float("nan"), 1.0))
    return KernelCase(
        to_fp8_kernel,
        grid=(1,),
        args=dict(x=Buffer(100, source, fill=fill), out=empty(100, target), n=100, BLOCK=128),
        reference=lambda x: narrowed(x, target),
        exact_dtype=True,
    )


@triton.jit
def from_fp8_kernel(x, out, n, FP8: tl.constexpr, BLOCK: tl.constexpr):
    """The bytes are read as integers and reinterpreted."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0).to(FP8, bitcast=True)
    tl.store(out + at, value.to(out.dtype.element_ty), mask=at < n)


KINDS = {"fp8e4nv": tl.float8e4nv, "fp8e5": tl.float8e5}


@case(source=["fp8e4nv", "fp8e5"], target=["fp32", "fp16"])
def from_fp8(source, target):
    """All 256 patterns: every one is exact in fp16 and fp32."""
    return KernelCase(
        from_fp8_kernel,
        grid=(2,),
        args=dict(x=Buffer(256, "uint8", fill=Arange()), out=empty(256, target), n=256, FP8=KINDS[source], BLOCK=128),
        reference=lambda x: x.view(dtype_named(source).torch).float(),
        signed_zeros=True,
    )


@case(source=["fp8e4nv", "fp8e5"])
def from_fp8_to_bf16(source):
    """The finite patterns only: on NVIDIA, Triton scales e5m2 into bf16 by a multiplication, which turns
    infinity into 65536 and NaN into larger numbers."""
    last = 0x7E if source == "fp8e4nv" else 0x7B
    finite = Values((*range(last + 1), *range(0x80, 0x80 + last + 1)))
    return KernelCase(
        from_fp8_kernel,
        grid=(2,),
        args=dict(x=Buffer(256, "uint8", fill=finite), out=empty(256, "bf16"), n=256, FP8=KINDS[source], BLOCK=128),
        reference=lambda x: x.view(dtype_named(source).torch).float(),
        signed_zeros=True,
    )


@triton.jit
def fp8_arithmetic_kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at, mask=at < n, other=0.0).to(tl.float32)
    b = tl.load(y + at, mask=at < n, other=0.0).to(tl.float32)
    tl.store(out + at, (a * b + a).to(out.dtype.element_ty), mask=at < n)


@case(dtype=["fp8e4nv", "fp8e5"])
def fp8_in_and_out(dtype):
    """fp8 buffers on both sides, fp32 between, as a fused epilogue has it; the buffers start at odd bytes."""
    return KernelCase(
        fp8_arithmetic_kernel,
        grid=(3,),
        args=dict(
            x=Buffer(300, dtype, offset=1),
            y=Buffer(300, dtype, offset=3),
            out=empty(300, dtype, offset=5),
            n=300,
            BLOCK=128,
        ),
        reference=lambda x, y: narrowed(x.float() * y.float() + x.float(), dtype),
        exact_dtype=True,
    )


@triton.jit
def truncate_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0.0)
    tl.store(out + at, value.to(out.dtype.element_ty, fp_downcast_rounding="rtz"), mask=at < n)


@case(target=["fp16", "bf16"])
def round_toward_zero(target):
    """The rounding mode is the caller's: the dropped bits of fp32 are simply dropped."""
    dropped = {"fp16": 13, "bf16": 16}[target]

    def reference(x):
        bits = x.view(torch.int32) >> dropped << dropped
        return bits.view(torch.float32).to(dtype_named(target).torch)

    return KernelCase(
        truncate_kernel,
        grid=(3,),
        args=dict(x=Buffer(300, fill=Uniform(-100, 100)), out=empty(300, target), n=300, BLOCK=128),
        reference=reference,
        exact_dtype=True,
    )


@triton.jit
def copy_fp8_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n), mask=at < n)


@case(dtype=["fp8e4nv", "fp8e5"])
def copy_of_special_fp8(dtype):
    """No conversion at all: the bytes arrive as they were."""
    return KernelCase(
        copy_fp8_kernel,
        grid=(3,),
        args=dict(x=Buffer(300, dtype, fill=Special()), out=empty(300, dtype), n=300, BLOCK=128),
        reference=lambda x: x,
        exact_dtype=True,
        signed_zeros=True,
    )
