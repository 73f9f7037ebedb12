"""The old values that atomics return, where only one order of programs gives these: a running total.

Each add returns the sum of those before it. One program with twelve adds has one possible answer; twelve
programs with one add each have it in the order of their ids only.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, Constant, KernelCase, case, empty


@triton.jit
def returned_values_kernel(x, total, before, per_program):
    first = tl.program_id(0) * per_program
    for i in range(first, first + per_program):
        tl.store(before + i, tl.atomic_add(total, tl.load(x + i)))


@case(dtype=["int32", "fp32"], programs=[1, 12])
def returned_values(dtype, programs):
    n = 12

    def reference(x, total):
        sums = torch.cat([x.new_zeros(1), x.cumsum(0).to(x.dtype)])
        return {"before": sums[:-1], "total": sums[-1:]}

    return KernelCase(
        returned_values_kernel,
        grid=(programs,),
        args=dict(
            x=Buffer(n, dtype), total=Buffer(1, dtype, fill=Constant(0)), before=empty(n, dtype),
            per_program=n // programs,
        ),
        reference=reference,
        reduction=n,
        ordered_atomics=programs > 1,
    )  # fmt: skip
