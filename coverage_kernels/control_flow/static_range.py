"""`tl.static_range` and compile-time `if`: nothing of it may be left at run time, and indices are constants.

The unrolled index picks a different operation each time, which a loop of one body could not do.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def static_range_kernel(x, out, ROUNDS: tl.constexpr, STEP: tl.constexpr, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    value = tl.load(x + lane)
    for i in tl.static_range(0, ROUNDS, STEP):
        if i % 2 == 0:
            value *= i + 1
        if i % 2 == 1:
            value -= i
        tl.static_assert(i < ROUNDS)
    tl.store(out + lane, value)


@case(rounds=[0, 1, 5], step=[1, 2])
def static_range(rounds, step):
    def reference(x):
        for i in range(0, rounds, step):
            x = x * (i + 1) if i % 2 == 0 else x - i
        return x.to(torch.int32)

    return KernelCase(
        static_range_kernel,
        grid=(1,),
        args=dict(x=Buffer(32, "int32"), out=empty(32, "int32"), ROUNDS=rounds, STEP=step, BLOCK=32),
        reference=reference,
    )
