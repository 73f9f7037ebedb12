"""`if`/`elif`/`else` yielding different tiles and scalars, taken differently by each program.

The branches load from different places, so that a branch executed under the wrong programs reads and
yields the wrong tile; a value defined in both branches merges behind them.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def branch_values_kernel(x, y, out, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    at = pid * BLOCK + tl.arange(0, BLOCK)
    if pid % 3 == 0:
        tile = tl.load(x + at)
        factor = 2.0
    elif pid % 3 == 1:
        tile = tl.load(y + at) + 1.0
        factor = -1.0
        if pid > 3:
            tile = tile * tile
            factor = 0.5
    else:
        tile = tl.zeros((BLOCK,), tl.float32) + pid
        factor = 1.0
    tl.store(out + at, tile * factor)


@case(programs=[1, 2, 7])
def branch_values(programs):
    block = 16

    def reference(x, y):
        rows = []
        for p in range(programs):
            late = (y[p] + 1) ** 2 * 0.5 if p > 3 else -(y[p] + 1)
            rows.append((x[p] * 2, late, torch.full_like(x[p], p))[p % 3])
        return torch.stack(rows)

    return KernelCase(
        branch_values_kernel,
        grid=(programs,),
        args=dict(x=Buffer((programs, block)), y=Buffer((programs, block)), out=empty((programs, block)), BLOCK=block),
        reference=reference,
    )
