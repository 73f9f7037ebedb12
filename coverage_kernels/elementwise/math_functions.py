"""Functions of `tl` itself (no libdevice): exponentials, logarithms, roots, rounding, fused multiply-add.

Written for the harness. Triton lowers these to the `math` dialect; `exp` and `log` are approximate
instructions on hardware, `sqrt_rn` and `div_rn` are correctly rounded there and compared exactly.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, Normal, Special, Tolerance, Uniform, case, empty


@triton.jit
def math_kernel(x, wide_x, out, wide_out, n, FUNCTION: tl.constexpr, BLOCK: tl.constexpr):
    """One function in fp32 and in fp64."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=1.0)
    wide_value = tl.load(wide_x + at, mask=at < n, other=1.0)
    tl.store(out + at, getattr(tl, FUNCTION)(value), mask=at < n)
    tl.store(wide_out + at, getattr(tl, FUNCTION)(wide_value), mask=at < n)


FUNCTIONS = {
    "exp": (-8, 8, torch.exp),
    "exp2": (-8, 8, torch.exp2),
    "log": (0.01, 90, torch.log),
    "log2": (0.01, 90, torch.log2),
    "sin": (-3, 3, torch.sin),
    "cos": (-3, 3, torch.cos),
    "sqrt": (0, 90, torch.sqrt),
    "rsqrt": (0.01, 90, torch.rsqrt),
    "erf": (-3, 3, torch.erf),
    "floor": (-9, 9, torch.floor),
    "ceil": (-9, 9, torch.ceil),
    "abs": (-9, 9, torch.abs),
}


@case(function=list(FUNCTIONS))
def math_function(function):
    low, high, reference = FUNCTIONS[function]
    return KernelCase(
        math_kernel,
        grid=(4,),
        args=dict(
            x=Buffer(1000, fill=Uniform(low, high)),
            wide_x=Buffer(1000, "fp64", fill=Uniform(low, high)),
            out=empty(1000),
            wide_out=empty(1000, "fp64"),
            n=1000,
            FUNCTION=function,
            BLOCK=256,
        ),
        reference=lambda x, wide_x: {"out": reference(x), "wide_out": reference(wide_x)},
    )


@triton.jit
def precise_kernel(x, y, root, quotient, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at, mask=at < n, other=1.0)
    b = tl.load(y + at, mask=at < n, other=1.0)
    tl.store(root + at, tl.sqrt_rn(a), mask=at < n)
    tl.store(quotient + at, tl.div_rn(b, a), mask=at < n)


@case(n=[1000])
def correctly_rounded_root_and_quotient(n):
    return KernelCase(
        precise_kernel,
        grid=(4,),
        args=dict(x=Buffer(n, fill=Uniform(0.1, 90)), y=Buffer(n), root=empty(n), quotient=empty(n), n=n, BLOCK=256),
        reference=lambda x, y: {"root": torch.sqrt(x), "quotient": y / x},
        exact_dtype=True,
    )


@triton.jit
def fma_kernel(x, y, z, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at, mask=at < n)
    b = tl.load(y + at, mask=at < n)
    c = tl.load(z + at, mask=at < n)
    tl.store(out + at, tl.fma(a, b, c), mask=at < n)


@case(dtype=["fp32", "fp64", "fp16", "bf16"])
def fma(dtype):
    return KernelCase(
        fma_kernel,
        grid=(4,),
        args=dict(
            x=Buffer(1000, dtype),
            y=Buffer(1000, dtype),
            z=Buffer(1000, dtype),
            out=empty(1000, dtype),
            n=1000,
            BLOCK=256,
        ),
        reference=lambda x, y, z: x * y + z,
        tolerance=Tolerance(
            "the product cancels against the addend", ulp=4, absolute=1e-6 if dtype != "fp64" else 1e-15
        ),
    )


@case(dtype=["fp32"])
def fma_rounds_once(dtype):
    """x * x - round(x * x) is the rounding error itself: zero when the product is rounded first."""

    def error(x, y, z):
        return (x.double() * y.double() + z.double()).float()

    one_and_a_bit = Uniform(1.0, 2.0)
    return KernelCase(
        square_error_kernel,
        grid=(2,),
        args=dict(x=Buffer(300, dtype, fill=one_and_a_bit), out=empty(300, dtype), n=300, BLOCK=256),
        reference=lambda x: error(x, x, -(x * x)),
        exact_dtype=True,
    )


@triton.jit
def square_error_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n)
    # Through the bits, so that no pass may contract the product into the fma.
    square = (value * value).to(tl.int32, bitcast=True).to(tl.float32, bitcast=True)
    tl.store(out + at, tl.fma(value, value, -square), mask=at < n)


@triton.jit
def negate_and_abs_kernel(x, negated, absolute, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n)
    tl.store(negated + at, -value, mask=at < n)
    tl.store(absolute + at, tl.abs(value), mask=at < n)


@case(dtype=["fp64", "fp32", "fp16", "bf16", "int8", "int16", "int32", "int64"])
def negate_and_abs(dtype):
    """The smallest integer has no positive counterpart and stays itself; NaN stays NaN. The sign of -(0.0)
    is left open: Triton up to 3.7 computes 0 - x, later releases negate."""
    return KernelCase(
        negate_and_abs_kernel,
        grid=(3,),
        args=dict(
            x=Buffer(600, dtype, fill=Special()),
            negated=empty(600, dtype),
            absolute=empty(600, dtype),
            n=600,
            BLOCK=256,
        ),
        reference=lambda x: {"negated": -x, "absolute": torch.abs(x)},
        exact_dtype=True,
    )


@triton.jit
def distance_kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at, mask=at < n, other=1.0).to(tl.float32)
    b = tl.load(y + at, mask=at < n, other=1.0).to(tl.float32)
    distance = tl.sqrt(a * a + b * b)
    tl.store(out + at, distance / (1.0 + tl.exp2(-distance)), mask=at < n)


@case(dtype=["fp16", "bf16", "fp32"])
def fused_pointwise(dtype):
    """A chain as Inductor fuses it: half precision is loaded, fp32 computed, half precision stored."""
    return KernelCase(
        distance_kernel,
        grid=(3,),
        args=dict(
            x=Buffer(600, dtype, fill=Normal(2.0)), y=Buffer(600, dtype), out=empty(600, dtype), n=600, BLOCK=256
        ),
        reference=lambda x, y: torch.hypot(x, y) / (1 + torch.exp2(-torch.hypot(x, y))),
        tolerance=Tolerance("a root, an exponential and a division in fp32, approximate on hardware", ulp=8),
    )
