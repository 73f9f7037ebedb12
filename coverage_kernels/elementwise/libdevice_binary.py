"""Two-argument libdevice functions, and those whose second argument or result is an integer.

Written from Inductor's `TritonOverrides` (torch 2.13). `fmod` and `remainder` are exact by
definition; `nextafter` and `copysign` work on the bits, so they are compared bit by bit.
"""

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

from harness.cases import Buffer, Integers, KernelCase, Tolerance, Uniform, Values, case, empty


@triton.jit
def libdevice_binary_kernel(x, y, out, n, FUNCTION: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at, mask=at < n, other=1.0)
    b = tl.load(y + at, mask=at < n, other=1)
    tl.store(out + at, getattr(libdevice, FUNCTION)(a, b), mask=at < n)


FUNCTIONS = {
    "atan2": (Uniform(-5, 5), Uniform(-5, 5), torch.atan2),
    "fmod": (Uniform(-90, 90), Uniform(1, 7), torch.fmod),
    "hypot": (Uniform(-5, 5), Uniform(-5, 5), torch.hypot),
    "pow": (Uniform(0.05, 5), Uniform(-4, 4), torch.pow),
    "fdim": (Uniform(-5, 5), Uniform(-5, 5), lambda x, y: torch.relu(x - y)),
}


@case(function=list(FUNCTIONS), dtype=["fp32", "fp64"])
def libdevice_binary(function, dtype):
    first, second, reference = FUNCTIONS[function]
    return KernelCase(
        libdevice_binary_kernel,
        grid=(3,),
        args=dict(
            x=Buffer(600, dtype, fill=first),
            y=Buffer(600, dtype, fill=second),
            out=empty(600, dtype),
            n=600,
            FUNCTION=function,
            BLOCK=256,
        ),
        reference=lambda x, y: reference(x, y),
        tolerance=Tolerance("libdevice documents up to 9 ulp for pow in fp32", ulp=12),
    )


NORMAL = Values((0.0, -0.0, 1.0, -1.0, 3.4e38, -3.4e38, 1.2e-38, -1.2e-38, float("inf"), float("-inf"), 2.0, -0.75))


@case(function=["copysign", "nextafter"], dtype=["fp32", "fp64"])
def libdevice_on_bits(function, dtype):
    """Zeros, infinities and extremes. No denormals: NVIDIA's fp32 nextafter takes them for zero."""
    reference = getattr(torch, function)
    return KernelCase(
        libdevice_binary_kernel,
        grid=(3,),
        args=dict(
            x=Buffer(600, dtype, fill=NORMAL),
            y=Buffer(600, dtype),
            out=empty(600, dtype),
            n=600,
            FUNCTION=function,
            BLOCK=256,
        ),
        reference=lambda x, y: reference(x, y),
        exact_dtype=True,
        signed_zeros=True,
    )


@case(dtype=["fp32", "fp64"])
def pow_of_awkward_values(dtype):
    """0**0, negative bases with whole and fractional exponents, infinities: the cases C99 lists."""
    bases = Values((0.0, -0.0, 1.0, -1.0, -2.0, 2.0, float("inf"), float("-inf"), float("nan"), 0.5, -0.5))
    exponents = Values((0.0, 1.0, -1.0, 2.0, 3.0, 0.5, -0.5, float("inf"), float("-inf"), float("nan")))
    return KernelCase(
        libdevice_binary_kernel,
        grid=(1,),
        args=dict(
            x=Buffer(110, dtype, fill=bases),
            y=Buffer(110, dtype, fill=exponents),
            out=empty(110, dtype),
            n=110,
            FUNCTION="pow",
            BLOCK=128,
        ),
        reference=lambda x, y: torch.pow(x, y),
        signed_zeros=True,
        tolerance=Tolerance("libdevice documents up to 9 ulp for pow in fp32", ulp=12),
    )


@case(dtype=["fp32", "fp64"], function=["ldexp", "pow"])
def libdevice_with_an_integer(dtype, function):
    """`__nv_ldexpf` and `__nv_powif` take (float, int32): the two operands differ in type."""
    reference = torch.pow if function == "pow" else (lambda x, y: x * 2.0**y)
    return KernelCase(
        libdevice_binary_kernel,
        grid=(2,),
        args=dict(
            x=Buffer(300, dtype, fill=Uniform(0.5, 2)),
            y=Buffer(300, "int32", fill=Integers(-9, 10)),
            out=empty(300, dtype),
            n=300,
            FUNCTION=function,
            BLOCK=256,
        ),
        reference=lambda x, y: reference(x, y.double()),
        tolerance=Tolerance("repeated multiplication rounds each time", ulp=12),
    )


@triton.jit
def to_integer_kernel(x, out, n, FUNCTION: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0.0)
    tl.store(out + at, getattr(libdevice, FUNCTION)(value), mask=at < n)


@case(function=["llrint", "llround"])
def libdevice_to_int64(function):
    """Halves separate the two: llrint rounds them to even, llround away from zero."""
    halves = Values((0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 3.25, -3.75, 1e6, 0.0))
    away = lambda x: torch.sign(x) * torch.floor(torch.abs(x) + 0.5)  # noqa: E731
    reference = torch.round if function == "llrint" else away
    return KernelCase(
        to_integer_kernel,
        grid=(1,),
        args=dict(x=Buffer(100, fill=halves), out=empty(100, "int64"), n=100, FUNCTION=function, BLOCK=128),
        reference=lambda x: reference(x).long(),
    )
