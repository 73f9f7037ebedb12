"""A `while` loop whose condition is a `tl.condition`, with and without hoisting out of the loop.

The load that could be hoisted is safe only when the loop runs: with a bound of zero its address is outside.
Triton's interpreter takes the condition object itself for true and never leaves the loop.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def while_options_kernel(x, out, trips, at, DISABLE_LICM: tl.constexpr):
    done = 0
    total = 0
    while tl.condition(done < trips, disable_licm=DISABLE_LICM):
        total += tl.load(x + at)
        done += 1
    tl.store(out, total)


@case(disable_licm=[False, True], trips=[0, 1, 4])
def while_options(disable_licm, trips):
    at = 7 if trips else 1 << 20
    return KernelCase(
        while_options_kernel,
        grid=(1,),
        args=dict(x=Buffer(8, "int32"), out=empty(1, "int32"), trips=trips, at=at, DISABLE_LICM=disable_licm),
        reference=lambda x: x[7:] * trips,
    )
