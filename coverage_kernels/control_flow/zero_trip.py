"""Loops that may not run at all: bounds equal, reversed, or a negative step that never enters.

What the loop carries must come out as it went in; a loop turned into do-while form runs once.
"""

import triton
import triton.language as tl

from harness.cases import KernelCase, case, empty


@triton.jit
def zero_trip_kernel(out, low, high, STEP: tl.constexpr):
    trips = 0
    last = -7
    for i in range(low, high, STEP):
        trips += 1
        last = i
    tl.store(out, trips)
    tl.store(out + 1, last)


@case(bounds=[(0, 0), (5, 2), (-3, -3), (2, 5), (-4, 3)], step=[1, 3, -1, -2])
def zero_trip(bounds, step):
    low, high = bounds
    steps = [-7, *range(low, high, step)]

    def reference(out):
        return out.new_tensor([len(steps) - 1, steps[-1]])

    return KernelCase(
        zero_trip_kernel,
        grid=(1,),
        args=dict(out=empty(2, "int32"), low=low, high=high, STEP=step),
        reference=reference,
    )
