"""Every integer read-modify-write: add, and, or, xor, max, min; signed and unsigned, 32 and 64 bits.

Several programs and several lanes of one tile meet at each slot. Extremes are present, so an addition that
saturates, or an unsigned maximum compared as signed, is seen. The result does not depend on the order.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, Special, case


@triton.jit
def integer_rmw_kernel(x, slots, OP: tl.constexpr, SLOTS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at)
    slot = slots + at % SLOTS
    if OP == "add":
        tl.atomic_add(slot, value)
    elif OP == "and":
        tl.atomic_and(slot, value)
    elif OP == "or":
        tl.atomic_or(slot, value)
    elif OP == "xor":
        tl.atomic_xor(slot, value)
    elif OP == "max":
        tl.atomic_max(slot, value)
    else:
        tl.atomic_min(slot, value)


PYTHON = {
    "add": lambda a, b: a + b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "max": max,
    "min": min,
}


@case(op=list(PYTHON), dtype=["int32", "uint32", "int64", "uint64"])
def integer_rmw(op, dtype):
    n, count = 96, 5
    bits = int(dtype[-2:])

    def reference(x, slots):
        result = slots.tolist()
        for i, value in enumerate(x.tolist()):
            result[i % count] = PYTHON[op](result[i % count], value) & (2**bits - 1)
            if dtype.startswith("i") and result[i % count] >= 2 ** (bits - 1):
                result[i % count] -= 2**bits
        return {"slots": torch.tensor(result, dtype=slots.dtype)}

    return KernelCase(
        integer_rmw_kernel,
        grid=(3,),
        args=dict(
            x=Buffer(n, dtype, fill=Special()), slots=Buffer(count, dtype, fill=Special()), OP=op, SLOTS=count, BLOCK=32
        ),
        reference=reference,
    )
