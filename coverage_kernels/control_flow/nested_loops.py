"""Three loops in each other, the inner bounds depending on the outer indices: a triangular sum.

Inner loops run zero times for the first outer indices and differently per program. Integers: exact.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def nested_loops_kernel(x, out, n, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.int32)
    for i in range(tl.program_id(0), n):
        row = tl.zeros((BLOCK,), tl.int32)
        for j in range(i):
            for k in range(j, i, 2):
                row += tl.load(x + k * BLOCK + lane) * (j + 1)
        total += row * (i - 2)
    tl.store(out + tl.program_id(0) * BLOCK + lane, total)


@case(n=[0, 1, 6])
def nested_loops(n):
    programs, block = 3, 8

    def reference(x):
        out = torch.zeros(programs, block, dtype=torch.int32)
        for p in range(programs):
            for i in range(p, n):
                for j in range(i):
                    out[p] += x[j:i:2].sum(0, dtype=torch.int32) * (j + 1) * (i - 2)
        return out

    return KernelCase(
        nested_loops_kernel,
        grid=(programs,),
        args=dict(x=Buffer((8, block), "int32"), out=empty((programs, block), "int32"), n=n, BLOCK=block),
        reference=reference,
    )
