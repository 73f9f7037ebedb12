"""Division and remainder of integers: Triton truncates as C does, torch and Python round down.

Written for the harness; the second kernel is Inductor's `div_floor_integer` and `remainder_integer`,
which correct the truncated result for operands of different sign. The most negative value divided by
-1 overflows and is left out: it is undefined on every target.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, Integers, KernelCase, Values, case, empty


@triton.jit
def truncated_division_kernel(x, y, quotient, remainder, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at, mask=at < n, other=1)
    b = tl.load(y + at, mask=at < n, other=1)
    tl.store(quotient + at, a // b, mask=at < n)
    tl.store(remainder + at, a % b, mask=at < n)


DIVISORS = Values((1, 2, 3, 7, 16, 100, -1, -2, -3, -7, -16, -100))
POSITIVE_DIVISORS = Values((1, 2, 3, 7, 16, 100, 127))


@case(dtype=["int8", "int16", "int32", "int64"])
def truncated_division(dtype):
    return KernelCase(
        truncated_division_kernel,
        grid=(3,),
        args=dict(
            x=Buffer(600, dtype, fill=Integers(-127, 128)),
            y=Buffer(600, dtype, fill=DIVISORS),
            quotient=empty(600, dtype),
            remainder=empty(600, dtype),
            n=600,
            BLOCK=256,
        ),
        reference=lambda x, y: {"quotient": torch.div(x, y, rounding_mode="trunc"), "remainder": torch.fmod(x, y)},
    )


@case(dtype=["uint8", "uint16", "uint32", "uint64"])
def unsigned_division(dtype):
    """Dividends with the top bit set are large, not negative."""
    top = 1 << (int(dtype.removeprefix("uint")) - 1)
    # int64 carries the fill, so uint64 gets its top bit from -1, which is 2**64 - 1.
    dividends = Values((0, 1, 99, top - 1, -1 if dtype == "uint64" else top, -2 if dtype == "uint64" else 2 * top - 1))
    return KernelCase(
        truncated_division_kernel,
        grid=(2,),
        args=dict(
            x=Buffer(420, dtype, fill=dividends),
            y=Buffer(420, dtype, fill=POSITIVE_DIVISORS),
            quotient=empty(420, dtype),
            remainder=empty(420, dtype),
            n=420,
            BLOCK=256,
        ),
        reference=lambda x, y: {
            "quotient": torch.from_numpy(x.numpy() // y.numpy()),
            "remainder": torch.from_numpy(x.numpy() % y.numpy()),
        },
    )


@triton.jit
def floor_division_kernel(x, y, quotient, remainder, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at, mask=at < n, other=1)
    b = tl.load(y + at, mask=at < n, other=1)
    truncated = a // b
    left_over = a % b
    signs_differ = (a < 0) != (b < 0)
    tl.store(quotient + at, tl.where(signs_differ & (left_over != 0), truncated - 1, truncated), mask=at < n)
    tl.store(remainder + at, tl.where(signs_differ & (left_over != 0), left_over + b, left_over), mask=at < n)


@case(dtype=["int8", "int32", "int64"])
def floor_division(dtype):
    return KernelCase(
        floor_division_kernel,
        grid=(3,),
        args=dict(
            x=Buffer(600, dtype, fill=Integers(-127, 128)),
            y=Buffer(600, dtype, fill=DIVISORS),
            quotient=empty(600, dtype),
            remainder=empty(600, dtype),
            n=600,
            BLOCK=256,
        ),
        reference=lambda x, y: {"quotient": torch.div(x, y, rounding_mode="floor"), "remainder": torch.remainder(x, y)},
    )


@triton.jit
def constant_divisor_kernel(x, out, n, DIVISOR: tl.constexpr, BLOCK: tl.constexpr):
    """Compile-time divisors are what passes rewrite into shifts and multiplications."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=0)
    tl.store(out + at, value // DIVISOR * 1000 + value % DIVISOR, mask=at < n)


@case(divisor=[1, 2, 7, 64, -3, -8])
def division_by_a_constant(divisor):
    return KernelCase(
        constant_divisor_kernel,
        grid=(2,),
        args=dict(
            x=Buffer(500, "int32", fill=Integers(-1000, 1000)),
            out=empty(500, "int32"),
            n=500,
            DIVISOR=divisor,
            BLOCK=256,
        ),
        reference=lambda x: torch.div(x, divisor, rounding_mode="trunc") * 1000 + torch.fmod(x, divisor),
    )


@triton.jit
def float_remainder_kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at, mask=at < n, other=1.0)
    b = tl.load(y + at, mask=at < n, other=1.0)
    tl.store(out + at, a % b, mask=at < n)


@case(dtype=["fp32", "fp64"])
def float_remainder(dtype):
    """`%` on floats is fmod: the sign is the dividend's. Quarters keep every step exact."""
    return KernelCase(
        float_remainder_kernel,
        grid=(3,),
        args=dict(
            x=Buffer(600, dtype, fill=Integers(-50, 50)),
            y=Buffer(600, dtype, fill=Values((0.75, -0.75, 2.5, -2.5, 3.0, 8.0, -8.0))),
            out=empty(600, dtype),
            n=600,
            BLOCK=256,
        ),
        reference=lambda x, y: torch.fmod(x, y),
    )
