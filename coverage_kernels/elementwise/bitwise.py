"""And, or, xor, not and the three shifts, over every integer width.

Written for the harness. `>>` is arithmetic on signed and logical on unsigned integers; shift amounts
stay below the width, as larger ones are undefined.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, Integers, KernelCase, Special, case, empty


@triton.jit
def bit_operations_kernel(x, y, conjunction, disjunction, difference, inverted, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a = tl.load(x + at, mask=at < n)
    b = tl.load(y + at, mask=at < n)
    tl.store(conjunction + at, a & b, mask=at < n)
    tl.store(disjunction + at, a | b, mask=at < n)
    tl.store(difference + at, a ^ b, mask=at < n)
    tl.store(inverted + at, ~a, mask=at < n)


@case(dtype=["int1", "int8", "int16", "int32", "int64", "uint8", "uint32"])
def bit_operations(dtype):
    outputs = {name: empty(700, dtype) for name in ("conjunction", "disjunction", "difference", "inverted")}
    fill = None if dtype == "int1" else Special()
    return KernelCase(
        bit_operations_kernel,
        grid=(3,),
        args=dict(x=Buffer(700, dtype, fill=fill), y=Buffer(700, dtype, fill=fill), **outputs, n=700, BLOCK=256),
        reference=lambda x, y: {
            name: torch.from_numpy(value)
            for name, value in {
                "conjunction": x.numpy() & y.numpy(),
                "disjunction": x.numpy() | y.numpy(),
                "difference": x.numpy() ^ y.numpy(),
                "inverted": ~x.numpy(),
            }.items()
        },
    )


@triton.jit
def shift_kernel(x, amount, left, right, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n)
    by = tl.load(amount + at, mask=at < n, other=0)
    tl.store(left + at, value << by, mask=at < n)
    tl.store(right + at, value >> by, mask=at < n)


@case(dtype=["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def shifts(dtype):
    width = int(dtype.lstrip("uint"))
    return KernelCase(
        shift_kernel,
        grid=(3,),
        args=dict(
            x=Buffer(700, dtype, fill=Special()),
            amount=Buffer(700, dtype, fill=Integers(0, width)),
            left=empty(700, dtype),
            right=empty(700, dtype),
            n=700,
            BLOCK=256,
        ),
        reference=lambda x, amount: {
            "left": torch.from_numpy(x.numpy() << amount.numpy()),
            "right": torch.from_numpy(x.numpy() >> amount.numpy()),
        },
    )


@triton.jit
def population_count_kernel(x, out, n, BLOCK: tl.constexpr):
    """The classic five steps of masks and shifts, all on unsigned integers."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    bits = tl.load(x + at, mask=at < n, other=0)
    bits = bits - ((bits >> 1) & 0x55555555)
    bits = (bits & 0x33333333) + ((bits >> 2) & 0x33333333)
    bits = (bits + (bits >> 4)) & 0x0F0F0F0F
    tl.store(out + at, (bits * 0x01010101) >> 24, mask=at < n)


@case(n=[300])
def population_count(n):
    return KernelCase(
        population_count_kernel,
        grid=(2,),
        args=dict(x=Buffer(n, "uint32", fill=Special()), out=empty(n, "uint32"), n=n, BLOCK=256),
        reference=lambda x: torch.tensor([value.bit_count() for value in x.tolist()]),
    )
