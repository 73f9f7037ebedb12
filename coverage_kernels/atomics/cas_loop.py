"""An atomic that the hardware lacks, built from a compare-and-swap loop: multiply an int64 modulo 2**64.

Each program retries until nobody came between its read and its swap.
"""

import math

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, Constant, Integers, KernelCase, case


@triton.jit
def cas_loop_kernel(x, product):
    factor = tl.load(x + tl.program_id(0))
    seen = tl.atomic_add(product, 0)
    done = False
    while not done:
        now = tl.atomic_cas(product, seen, seen * factor)
        done = now == seen
        seen = now


@case(programs=[1, 12])
def cas_loop(programs):
    return KernelCase(
        cas_loop_kernel,
        grid=(programs,),
        args=dict(x=Buffer(programs, "int64", fill=Integers(2, 9)), product=Buffer(1, "int64", fill=Constant(1))),
        reference=lambda x: {"product": torch.tensor([math.prod(x.tolist())])},
    )
