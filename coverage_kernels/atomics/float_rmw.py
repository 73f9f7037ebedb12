"""Float atomics: add in fp64, fp32, fp16 and bf16; max and min in fp32 and fp64, negative numbers included.

Triton makes float max and min out of integer ones on the bits, signed for positive and unsigned for negative
numbers; whole numbers keep the sums exact in every order.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, Integers, KernelCase, case


@triton.jit
def float_rmw_kernel(x, slots, OP: tl.constexpr, SLOTS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at)
    slot = slots + at % SLOTS
    if OP == "add":
        tl.atomic_add(slot, value)
    elif OP == "max":
        tl.atomic_max(slot, value)
    else:
        tl.atomic_min(slot, value)


REDUCE = {"add": "sum", "max": "amax", "min": "amin"}


@case(operation=["add-fp64", "add-fp32", "add-fp16", "add-bf16", "max-fp32", "min-fp32", "max-fp64", "min-fp64"])
def float_rmw(operation):
    op, dtype = operation.split("-")
    n, count = 64, 8
    low, high = (-4, 5) if op == "add" else (-300, 300)

    def reference(x, slots):
        together = torch.cat([slots[None], x.reshape(-1, count)])
        return {"slots": getattr(together, REDUCE[op])(0)}

    return KernelCase(
        float_rmw_kernel,
        grid=(4,),
        args=dict(
            x=Buffer(n, dtype, fill=Integers(low, high)), slots=Buffer(count, dtype, fill=Integers(low, high)),
            OP=op, SLOTS=count, BLOCK=16,
        ),
        reference=reference,
    )  # fmt: skip
