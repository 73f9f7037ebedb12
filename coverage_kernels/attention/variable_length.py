"""Attention over packed sequences of different lengths: the grid is as long as the longest one needs.

Programs past the end of their sequence return early; bounds come from memory (cumulative lengths), and
one sequence is empty.
"""

from itertools import pairwise

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, Tolerance, Values, case, empty


@triton.jit
def variable_length_kernel(q, k, v, out, starts, scale, D: tl.constexpr, B: tl.constexpr):
    sequence = tl.program_id(1)
    begin = tl.load(starts + sequence)
    length = tl.load(starts + sequence + 1) - begin
    first = tl.program_id(0) * B
    if first >= length:
        return
    rows = first + tl.arange(0, B)
    dims = tl.arange(0, D)
    inside = rows[:, None] < length
    q_tile = tl.load(q + (begin + rows)[:, None] * D + dims[None, :], mask=inside, other=0.0)
    top = tl.full((B,), float("-inf"), tl.float32)
    total = tl.zeros((B,), tl.float32)
    acc = tl.zeros((B, D), tl.float32)
    for start in range(0, length, B):
        cols = start + tl.arange(0, B)
        kv_at = (begin + cols)[:, None] * D + dims[None, :]
        k_tile = tl.load(k + kv_at, mask=cols[:, None] < length, other=0.0)
        v_tile = tl.load(v + kv_at, mask=cols[:, None] < length, other=0.0)
        scores = tl.where(cols[None, :] < length, tl.dot(q_tile, tl.trans(k_tile)) * scale, float("-inf"))
        new_top = tl.maximum(top, tl.max(scores, 1))
        weights = tl.exp(scores - new_top[:, None])
        shrink = tl.exp(top - new_top)
        total = total * shrink + tl.sum(weights, 1)
        acc = tl.dot(weights.to(v_tile.dtype), v_tile, acc * shrink[:, None])
        top = new_top
    tl.store(out + (begin + rows)[:, None] * D + dims[None, :], acc / total[:, None], mask=inside)


@case(lengths=[(5, 0, 33, 16), (1, 1)])
def variable_length(lengths):
    d, total = 16, sum(lengths)
    starts = tuple(sum(lengths[:i]) for i in range(len(lengths) + 1))

    def reference(q, k, v):
        parts = [slice(a, b) for a, b in pairwise(starts)]
        return torch.cat([(q[s] @ k[s].T * d**-0.5).softmax(-1) @ v[s] for s in parts])

    return KernelCase(
        variable_length_kernel,
        grid=(triton.cdiv(max(lengths), 16), len(lengths)),
        args=dict(
            q=Buffer((total, d), "fp16"), k=Buffer((total, d), "fp16"), v=Buffer((total, d), "fp16"),
            out=empty((total, d), "fp16"), starts=Buffer(len(starts), "int32", fill=Values(starts)),
            scale=d**-0.5, D=d, B=16,
        ),
        reference=reference,
        reduction=48,
        tolerance=Tolerance("weights narrowed to fp16 for the second dot", absolute=2.0**-10),
    )  # fmt: skip
