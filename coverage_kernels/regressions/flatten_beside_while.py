"""A flattened loop nest whose body holds a while loop beside the inner for loop.

Triton issue 11612: 3.3.0 to 3.8.0 fail in `tritongpu-fuse-nested-loops`, 3.9.0 compiles it.
"""

import triton
import triton.language as tl

from harness.cases import KernelCase, case, empty


@triton.jit
def flatten_beside_while_kernel(out, limit):
    total = 0
    for _ in tl.range(0, 3, flatten=True):
        steps = 0
        for step in tl.range(0, 4):
            steps += step
        waited = 0
        while waited < limit:
            waited += 1
        total += steps + waited
    tl.store(out, total)


@case(limit=[0, 5])
def flatten_beside_while(limit):
    return KernelCase(
        flatten_beside_while_kernel,
        grid=(1,),
        args=dict(out=empty(1, "int32"), limit=limit),
        reference=lambda out: out.new_tensor([3 * (6 + limit)]),
    )
