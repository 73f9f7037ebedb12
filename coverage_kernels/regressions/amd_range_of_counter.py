"""A counter of a loop nest, and one of a loop with a bounded number of trips, compared behind the loop.

Triton pull request 11313: on gfx942, `tritonamdgpu-fold-true-cmpi` of 3.8.0 decides the comparisons wrongly. Silent:
the range analysis stops too early, so that the counters seem to be smaller than they get.
"""

import triton
import triton.language as tl

from harness.cases import KernelCase, case, empty


@triton.jit
def amd_range_of_nest_kernel(out):
    trips = 0
    for _ in range(3):
        for _ in range(4):
            trips += 1
    if trips >= 8:
        tl.store(out, 1)
    else:
        tl.store(out, 0)


@triton.jit
def amd_range_of_bounded_kernel(out, n):
    trips = 0
    for _ in range(tl.minimum(tl.maximum(n, 0), 4)):
        trips += 1
    if trips >= 4:
        tl.store(out, 100)
    else:
        tl.store(out, trips)


@case()
def amd_range_of_nest():
    return KernelCase(
        amd_range_of_nest_kernel,
        grid=(1,),
        args=dict(out=empty(1, "int32")),
        reference=lambda out: out.new_tensor([1]),
    )


@case(n=[0, 2, 9])
def amd_range_of_bounded(n):
    return KernelCase(
        amd_range_of_bounded_kernel,
        grid=(1,),
        args=dict(out=empty(1, "int32"), n=n),
        reference=lambda out: out.new_tensor([100 if n >= 4 else n]),
    )
