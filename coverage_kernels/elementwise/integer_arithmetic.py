"""Integer add, subtract and multiply at the ends of their range: every width wraps, none saturates.

Written for the harness. Signed and unsigned operands give the same bits; what tells them apart is
division, comparison, shifts and widening, each in a file of its own.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, Special, case, empty


@triton.jit
def wrap_kernel(x, y, added, subtracted, multiplied, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    a = tl.load(x + at, mask=inside)
    b = tl.load(y + at, mask=inside)
    tl.store(added + at, a + b, mask=inside)
    tl.store(subtracted + at, a - b, mask=inside)
    tl.store(multiplied + at, a * b, mask=inside)


def wrapped(operation, x, y):
    """NumPy wraps every width, signed or not; torch has no arithmetic on uint16 to uint64."""
    return torch.from_numpy(operation(x.numpy(), y.numpy()))


@case(dtype=["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def integer_wrap(dtype):
    return KernelCase(
        wrap_kernel,
        grid=(3,),
        args=dict(
            x=Buffer(700, dtype, fill=Special()),
            y=Buffer(700, dtype, fill=Special()),
            added=empty(700, dtype),
            subtracted=empty(700, dtype),
            multiplied=empty(700, dtype),
            n=700,
            BLOCK=256,
        ),
        reference=lambda x, y: {
            "added": wrapped(lambda a, b: a + b, x, y),
            "subtracted": wrapped(lambda a, b: a - b, x, y),
            "multiplied": wrapped(lambda a, b: a * b, x, y),
        },
    )


@triton.jit
def mixed_width_kernel(narrow, wide, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(narrow + at, mask=at < n) + tl.load(wide + at, mask=at < n), mask=at < n)


@case(
    pair=[
        ("int8", "int32", "int32"),
        ("uint8", "int32", "int32"),
        ("int32", "int64", "int64"),
        ("uint8", "int16", "int16"),
        ("int16", "fp32", "fp32"),
        ("fp16", "fp32", "fp32"),
        ("fp32", "fp64", "fp64"),
        ("int1", "int32", "int32"),
    ]
)
def mixed_operands(pair):
    """The narrow operand is widened by its own signedness before the add."""
    narrow, wide, result = pair
    return KernelCase(
        mixed_width_kernel,
        grid=(3,),
        args=dict(narrow=Buffer(700, narrow), wide=Buffer(700, wide), out=empty(700, result), n=700, BLOCK=256),
        reference=lambda narrow, wide: narrow.to(wide.dtype) + wide,
        exact_dtype=True,
    )


@triton.jit
def umulhi_kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.umulhi(tl.load(x + at, mask=at < n), tl.load(y + at, mask=at < n)), mask=at < n)


@case(dtype=["int32", "uint32", "int64", "uint64"])
def umulhi(dtype):
    """The upper half of the product of the *unsigned* readings, also for signed operands."""
    bits = 32 if dtype.endswith("32") else 64

    def reference(x, y):
        unsigned = [t.numpy().view(f"uint{bits}").tolist() for t in (x, y)]
        high = [(a * b) >> bits for a, b in zip(*unsigned, strict=True)]
        signed = [h - (1 << bits) if h >> (bits - 1) else h for h in high]
        return torch.tensor(signed, dtype=getattr(torch, f"int{bits}")).view(x.dtype)

    return KernelCase(
        umulhi_kernel,
        grid=(2,),
        args=dict(
            x=Buffer(300, dtype, fill=Special()),
            y=Buffer(300, dtype, fill=Special()),
            out=empty(300, dtype),
            n=300,
            BLOCK=256,
        ),
        reference=reference,
    )


@triton.jit
def integer_power_kernel(base, exponent, out, n, BITS: tl.constexpr, BLOCK: tl.constexpr):
    """Repeated squaring, unrolled, as Inductor's `pow_integer` helper does it."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    factor = tl.load(base + at, mask=at < n, other=0)
    bits = tl.load(exponent + at, mask=at < n, other=0)
    result = tl.full([BLOCK], 1, factor.dtype)
    for _ in tl.static_range(BITS):
        result = tl.where((bits & 1) != 0, result * factor, result)
        bits = bits >> 1
        factor = factor * factor
    tl.store(out + at, result, mask=at < n)


@case(dtype=["int32", "int64"])
def integer_power(dtype):
    """int32 products wrap, as torch's do."""
    return KernelCase(
        integer_power_kernel,
        grid=(1,),
        args=dict(
            base=Buffer(200, dtype), exponent=Buffer(200, "uint8"), out=empty(200, dtype), n=200, BITS=5, BLOCK=256
        ),
        reference=lambda base, exponent: torch.pow(base, exponent.to(base.dtype)),
    )
