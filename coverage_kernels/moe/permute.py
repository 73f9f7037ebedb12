"""Token permutation: one program counts the tokens of each expert and ranks them, then rows are moved.

Ranks come from a cumulative sum over one-hot columns, so tokens of an expert keep their order; one expert
gets nothing. The second launch scatters the rows to where the first one said.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, Launch, Values, case, empty


@triton.jit
def rank_kernel(experts, offsets, target, n, BLOCK: tl.constexpr, EXPERTS: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    expert = tl.arange(0, EXPERTS)
    mine = tl.load(experts + lane, mask=lane < n, other=-1)
    one_hot = (mine[:, None] == expert[None, :]).to(tl.int32)
    counts = tl.sum(one_hot, 0)
    starts = tl.cumsum(counts, 0) - counts
    rank = tl.cumsum(one_hot, 0) - 1
    place = tl.sum(one_hot * (rank + starts[None, :]), 1)
    tl.store(offsets + expert, starts)
    tl.store(offsets + EXPERTS, n)
    tl.store(target + lane, place, mask=lane < n)


@triton.jit
def move_kernel(x, target, moved, width, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lane = tl.arange(0, BLOCK)
    place = tl.load(target + row)
    value = tl.load(x + row * width + lane, mask=lane < width)
    tl.store(moved + place * width + lane, value, mask=lane < width)


@case(experts=[(3, 0, 0, 1, 3, 3, 0, 1, 1), (2,) * 7])
def permute(experts):
    n, width, count = len(experts), 20, 4
    target = empty(n, "int32")
    move = dict(x=Buffer((n, width)), target=target, moved=empty((n, width)), width=width, BLOCK=32)

    def reference(x, experts):
        order = experts.argsort(stable=True)
        counts = torch.bincount(experts.long(), minlength=count)
        offsets = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
        return {"offsets": offsets.int(), "target": order.argsort().int(), "moved": x[order]}

    return KernelCase(
        rank_kernel,
        grid=(1,),
        args=dict(
            experts=Buffer(n, "int32", fill=Values(experts)), offsets=empty(count + 1, "int32"), target=target, n=n,
            BLOCK=16, EXPERTS=count,
        ),
        then=[Launch(move_kernel, (n,), move)],
        reference=reference,
    )  # fmt: skip
