"""Every one-argument libdevice function that Inductor can emit, over fp32 and fp64.

Written from Inductor's `TritonOverrides` (torch 2.13): each entry is a function, the interval its
arguments are drawn from and torch's own. Triton turns each into a `tt.extern_elementwise` with the
symbol `__nv_NAMEf` or `__nv_NAME`; the second case draws special values instead.
"""

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

from harness.cases import Buffer, KernelCase, Special, Uniform, Values, case, empty


@triton.jit
def libdevice_unary_kernel(x, wide_x, out, wide_out, n, FUNCTION: tl.constexpr, BLOCK: tl.constexpr):
    """The fp32 and the fp64 function of one name."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=1.0)
    wide_value = tl.load(wide_x + at, mask=at < n, other=1.0)
    tl.store(out + at, getattr(libdevice, FUNCTION)(value), mask=at < n)
    tl.store(wide_out + at, getattr(libdevice, FUNCTION)(wide_value), mask=at < n)


SPECIAL = Values(
    (
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -0.5,
        2.5,
        float("nan"),
        float("inf"),
        float("-inf"),
        3.4e38,
        -3.4e38,
        1.2e-38,
        -1.2e-38,
    )
)

FUNCTIONS = {
    "abs": (-4, 4, torch.abs),
    "acos": (-1, 1, torch.acos),
    "acosh": (1, 50, torch.acosh),
    "asin": (-1, 1, torch.asin),
    "asinh": (-20, 20, torch.asinh),
    "atan": (-20, 20, torch.atan),
    "atanh": (-0.98, 0.98, torch.atanh),
    "ceil": (-9, 9, torch.ceil),
    "cos": (-20, 20, torch.cos),
    "cosh": (-8, 8, torch.cosh),
    "erf": (-3, 3, torch.erf),
    "erfc": (-2, 3, torch.erfc),
    "erfinv": (-0.98, 0.98, torch.erfinv),
    "exp": (-20, 20, torch.exp),
    "exp2": (-20, 20, torch.exp2),
    "expm1": (-2, 4, torch.expm1),
    "floor": (-9, 9, torch.floor),
    "lgamma": (3, 40, torch.lgamma),
    "log": (0.01, 90, torch.log),
    "log10": (0.01, 90, torch.log10),
    "log1p": (-0.9, 20, torch.log1p),
    "log2": (0.01, 90, torch.log2),
    "nearbyint": (-9, 9, torch.round),
    "rint": (-9, 9, torch.round),
    "round": (-9, 9, lambda x: torch.sign(x) * torch.floor(torch.abs(x) + 0.5)),
    "rsqrt": (0.01, 90, torch.rsqrt),
    "sin": (-20, 20, torch.sin),
    "sinh": (-8, 8, torch.sinh),
    "sqrt": (0, 90, torch.sqrt),
    "tan": (-1.5, 1.5, torch.tan),
    "tanh": (-4, 4, torch.tanh),
    "trunc": (-9, 9, torch.trunc),
}


def libdevice_unary_case(function, fill, n):
    reference = FUNCTIONS[function][2]
    return KernelCase(
        libdevice_unary_kernel,
        grid=(triton.cdiv(n, 256),),
        args=dict(
            x=Buffer(n, fill=fill),
            wide_x=Buffer(n, "fp64", fill=fill),
            out=empty(n),
            wide_out=empty(n, "fp64"),
            n=n,
            FUNCTION=function,
            BLOCK=256,
        ),
        reference=lambda x, wide_x: {"out": reference(x), "wide_out": reference(wide_x)},
    )


@case(function=list(FUNCTIONS))
def libdevice_unary(function):
    low, high, _ = FUNCTIONS[function]
    return libdevice_unary_case(function, Uniform(low, high), 1000)


@case(function=["floor", "ceil", "trunc", "nearbyint", "sqrt", "exp", "log", "tanh", "asinh", "erf"])
def libdevice_unary_of_special_values(function):
    """NaN, infinities, zeros and extremes. No denormals: NVIDIA's fp32 functions take them for zero."""
    return libdevice_unary_case(function, SPECIAL, 200)


@triton.jit
def libdevice_predicate_kernel(x, out, n, FUNCTION: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=1.0)
    # libdevice answers in int32 and any non-zero value means yes.
    tl.store(out + at, getattr(libdevice, FUNCTION)(value).to(tl.int1), mask=at < n)


@case(function=["isnan", "isinf", "signbit"], dtype=["fp32", "fp64"])
def libdevice_predicate(function, dtype):
    reference = getattr(torch, function)
    return KernelCase(
        libdevice_predicate_kernel,
        grid=(2,),
        args=dict(x=Buffer(400, dtype, fill=Special()), out=empty(400, "int1"), n=400, FUNCTION=function, BLOCK=256),
        reference=lambda x: reference(x),
        exact_dtype=True,
    )
