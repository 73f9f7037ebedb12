"""A comparison is used, and its truth is assumed on a path that the program does not take.

AMD's pipeline: `tritonamdgpu-fold-true-cmpi` believes the assumption on every path, since both are one operation by
then, and makes the comparison true. Silent. 3.6.0 to 3.9.0; no report of it is known.
"""

import triton
import triton.language as tl

from harness.cases import KernelCase, case, empty


@triton.jit
def amd_assumed_elsewhere_kernel(out, n, flag):
    is_large = n > 5
    if flag > 0:
        tl.assume(is_large)
        tl.store(out + 1, n)
    tl.store(out, is_large.to(tl.int32))


@case(n=[3, 7])
def amd_assumed_elsewhere(n):
    return KernelCase(
        amd_assumed_elsewhere_kernel,
        grid=(1,),
        args=dict(out=empty(1, "int32"), n=n, flag=0),
        reference=lambda out: out.new_tensor([int(n > 5)]),
    )
