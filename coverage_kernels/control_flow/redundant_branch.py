"""A runtime branch around a load in a loop that is always taken (or never): the bound already implies it.

A pass that speculates the load, or drops the branch with its `else` value, is wrong for the mixed case.
Reduced from generated code that guards every load by `if start < n`.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def redundant_branch_kernel(x, out, n, limit, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, n, BLOCK):
        if start < limit:
            tile = tl.load(x + start + lane, mask=start + lane < n, other=0.0)
        else:
            tile = tl.full((BLOCK,), 1.0, tl.float32)
        total += tile
    tl.store(out + lane, total)


@case(n=[128, 100], limit=["always", "never", "half"])
def redundant_branch(n, limit):
    bound = {"always": n, "never": 0, "half": 64}[limit]
    block = 32

    def reference(x):
        padded = torch.cat([x, x.new_zeros(-n % block)]).reshape(-1, block)
        taken = torch.arange(0, n, block) < bound
        return torch.where(taken[:, None], padded, 1.0).sum(0)

    return KernelCase(
        redundant_branch_kernel,
        grid=(1,),
        args=dict(x=Buffer(n), out=empty(block), n=n, limit=bound, BLOCK=block),
        reference=reference,
        reduction=4,
    )
