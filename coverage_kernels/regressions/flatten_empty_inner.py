"""A flattened loop nest whose inner loop runs backwards bounds (5 to ub, ub <= 5) counts no trips at all.

The inner loop is empty for `ub <= 5`, not only for `ub == 5`. Right on the `npu` target and with Triton
3.9.0; on NVIDIA GPUs Triton 3.3.0 to 3.8.0 return 4 for ub = 3, without an error (Triton issue 11656): the pass
`tritongpu-fuse-nested-loops` tests the length of the inner loop for equality with zero.
"""

import triton
import triton.language as tl

from harness.cases import KernelCase, case, empty


@triton.jit
def flatten_empty_inner_kernel(out, ub):
    trips = 0
    for _ in tl.range(0, 4, flatten=True):
        for _ in tl.range(5, ub):
            trips += 1
    tl.store(out, trips)


@case(ub=[-2, 0, 3, 5, 6, 9])
def flatten_empty_inner(ub):
    return KernelCase(
        flatten_empty_inner_kernel,
        grid=(1,),
        args=dict(out=empty(1, "int32"), ub=ub),
        reference=lambda out: out.new_tensor([4 * max(0, ub - 5)]),
    )
