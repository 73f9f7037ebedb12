"""A grid-stride loop with 64-bit indices, whose pointer advances as a loop-carried value.

Programs take different numbers of steps; the carried pointer must advance by the whole grid and not by a block.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def grid_stride_kernel(x, out, n, BLOCK: tl.constexpr):
    first = tl.program_id(0).to(tl.int64) * BLOCK
    step = tl.num_programs(0) * BLOCK
    lane = tl.arange(0, BLOCK)
    x_at = x + first + lane
    out_at = out + first + lane
    for start in range(first, n, step):
        inside = start + lane < n
        tl.store(out_at, tl.load(x_at, mask=inside, other=0.0) * 3, mask=inside)
        x_at += step
        out_at += step


@case(programs=[1, 3, 8], n=[7, 200])
def grid_stride(programs, n):
    return KernelCase(
        grid_stride_kernel,
        grid=(programs,),
        args=dict(x=Buffer(n, offset=3), out=empty(n), n=n, BLOCK=16),
        reference=lambda x: x * 3,
    )
