"""Split-KV decode: programs attend to shares of the context, a second kernel merges by log-sum-exp.

The last shares may be empty: they write a weight of zero (log-sum-exp of minus infinity), not garbage.
Reduced from flash decoding.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, Launch, case, empty


@triton.jit
def partial_kernel(q, k, v, part, part_lse, scale, T, share, D: tl.constexpr, BN: tl.constexpr):
    split = tl.program_id(0)
    d = tl.arange(0, D)
    query = tl.load(q + d)
    begin = split * share
    end = tl.minimum(begin + share, T)
    top = tl.full((), float("-inf"), tl.float32)
    total = tl.zeros((), tl.float32)
    acc = tl.zeros((D,), tl.float32)
    for start in range(begin, end, BN):
        cols = start + tl.arange(0, BN)
        seen = cols < end
        keys = tl.load(k + cols[:, None] * D + d[None, :], mask=seen[:, None], other=0.0)
        scores = tl.where(seen, tl.sum(keys * query[None, :], 1) * scale, float("-inf"))
        new_top = tl.maximum(top, tl.max(scores, 0))
        weights = tl.exp(scores - new_top)
        values = tl.load(v + cols[:, None] * D + d[None, :], mask=seen[:, None], other=0.0)
        acc = acc * tl.exp(top - new_top) + tl.sum(weights[:, None] * values, 0)
        total = total * tl.exp(top - new_top) + tl.sum(weights, 0)
        top = new_top
    if begin < end:
        acc = acc / total
    tl.store(part + split * D + d, acc)
    tl.store(part_lse + split, top + tl.log(total) if begin < end else float("-inf"))


@triton.jit
def combine_kernel(part, part_lse, out, D: tl.constexpr, SPLITS: tl.constexpr):
    split = tl.arange(0, SPLITS)
    d = tl.arange(0, D)
    lse = tl.load(part_lse + split)
    weights = tl.exp(lse - tl.max(lse, 0))
    parts = tl.load(part + split[:, None] * D + d[None, :])
    tl.store(out + d, tl.sum(parts * weights[:, None], 0) / tl.sum(weights, 0))


@case(length=[64, 50, 20])
def split_kv_decode(length):
    d, splits, share = 32, 4, 16
    part, part_lse = empty((splits, d)), empty(splits)

    def reference(q, k, v):
        scores = k @ q * d**-0.5
        shares = [slice(i * share, min((i + 1) * share, length)) for i in range(splits)]
        parts = torch.stack([scores[s].softmax(0) @ v[s] for s in shares])
        lse = torch.stack([scores[s].logsumexp(0) for s in shares])
        return {"part": parts, "part_lse": lse, "out": scores.softmax(0) @ v}

    return KernelCase(
        partial_kernel,
        grid=(splits,),
        args=dict(
            q=Buffer(d), k=Buffer((length, d)), v=Buffer((length, d)), part=part, part_lse=part_lse,
            scale=d**-0.5, T=length, share=share, D=d, BN=8,
        ),
        then=[Launch(combine_kernel, (1,), dict(part=part, part_lse=part_lse, out=empty(d), D=d, SPLITS=splits))],
        reference=reference,
        reduction=length,
    )  # fmt: skip
