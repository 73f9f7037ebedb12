"""Reinterpreting bits: floats as integers and back, for tricks that hand-written kernels play.

Written for the harness. Nothing is rounded here, so NaN payloads and signed zeros pass through.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, Special, Uniform, case, empty
from harness.cases.dtypes import dtype_named


@triton.jit
def bitcast_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n).to(out.dtype.element_ty, bitcast=True), mask=at < n)


PAIRS = [("fp32", "int32"), ("fp32", "uint32"), ("int32", "fp32"), ("fp64", "int64"), ("int64", "fp64")]
PAIRS += [
    ("fp16", "int16"),
    ("int16", "bf16"),
    ("bf16", "uint16"),
    ("fp16", "bf16"),
    ("int8", "uint8"),
    ("uint64", "int64"),
    ("fp8e4nv", "int8"),
    ("fp8e5", "int8"),
    ("fp8e4nv", "uint8"),
]


@case(pair=PAIRS)
def bitcast(pair):
    source, target = pair
    return KernelCase(
        bitcast_kernel,
        grid=(3,),
        args=dict(x=Buffer(300, source, fill=Special()), out=empty(300, target), n=300, BLOCK=128),
        reference=lambda x: x.view(dtype_named(target).torch),
        exact_dtype=True,
        signed_zeros=True,
    )


@triton.jit
def parts_of_a_float_kernel(x, exponent, mantissa, n, BLOCK: tl.constexpr):
    """frexp by hand: take the bits apart, put the mantissa together with a fresh exponent."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    bits = tl.load(x + at, mask=at < n, other=1.0).to(tl.uint32, bitcast=True)
    power = ((bits >> 23) & 0xFF).to(tl.int32) - 126
    fraction = ((bits & 0x807FFFFF) | 0x3F000000).to(tl.float32, bitcast=True)
    tl.store(exponent + at, power, mask=at < n)
    tl.store(mantissa + at, fraction, mask=at < n)


@case(low=[-100.0, 0.001])
def parts_of_a_float(low):
    def reference(x):
        mantissa, exponent = torch.frexp(x)
        return {"mantissa": mantissa, "exponent": exponent}

    return KernelCase(
        parts_of_a_float_kernel,
        grid=(3,),
        args=dict(
            x=Buffer(300, fill=Uniform(low, 100.0)), exponent=empty(300, "int32"), mantissa=empty(300), n=300, BLOCK=128
        ),
        reference=reference,
    )


@triton.jit
def round_to_bf16_kernel(x, out, n, BLOCK: tl.constexpr):
    """Round to nearest even by adding a bias to the bits, as kernels do on hardware without bf16."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0.0)
    bits = value.to(tl.uint32, bitcast=True)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    rounded = tl.where(value != value, 0x7FC0, rounded)
    tl.store(out + at, rounded.to(tl.uint16).to(tl.bfloat16, bitcast=True), mask=at < n)


@case(fill=["normal", "special"])
def round_to_bf16_by_hand(fill):
    return KernelCase(
        round_to_bf16_kernel,
        grid=(3,),
        args=dict(
            x=Buffer(300, fill=Special() if fill == "special" else None), out=empty(300, "bf16"), n=300, BLOCK=128
        ),
        reference=lambda x: x.bfloat16(),
        exact_dtype=True,
        signed_zeros=True,
    )
