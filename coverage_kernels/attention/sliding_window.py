"""Sliding-window attention: each query sees the last WINDOW keys, so the loop has two divergent bounds.

The first key block may be masked for every row but one, where a running maximum of minus infinity turns
into NaN unless it is guarded.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def sliding_window_kernel(q, k, v, out, scale, T, WINDOW, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    dims = tl.arange(0, D)
    inside = rows[:, None] < T
    q_tile = tl.load(q + rows[:, None] * D + dims[None, :], mask=inside, other=0.0)
    top = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    first = tl.maximum(tl.program_id(0) * BM - WINDOW + 1, 0) // BN * BN
    last = tl.minimum((tl.program_id(0) + 1) * BM, T)
    for start in range(first, last, BN):
        cols = start + tl.arange(0, BN)
        k_tile = tl.load(k + cols[:, None] * D + dims[None, :], mask=cols[:, None] < T, other=0.0)
        v_tile = tl.load(v + cols[:, None] * D + dims[None, :], mask=cols[:, None] < T, other=0.0)
        scores = tl.dot(q_tile, tl.trans(k_tile), input_precision="ieee") * scale
        gap = rows[:, None] - cols[None, :]
        scores = tl.where((gap >= 0) & (gap < WINDOW), scores, float("-inf"))
        new_top = tl.maximum(top, tl.max(scores, 1))
        safe_top = tl.where(new_top == float("-inf"), 0.0, new_top)
        weights = tl.exp(scores - safe_top[:, None])
        shrink = tl.exp(top - safe_top)
        total = total * shrink + tl.sum(weights, 1)
        acc = tl.dot(weights, v_tile.to(tl.float32), acc * shrink[:, None], input_precision="ieee")
        top = new_top
    tl.store(out + rows[:, None] * D + dims[None, :], acc / total[:, None], mask=inside)


@case(window=[1, 7, 40], length=[48, 61])
def sliding_window(window, length):
    d = 16

    def reference(q, k, v):
        gap = torch.arange(length)[:, None] - torch.arange(length)[None, :]
        scores = (q @ k.T * d**-0.5).masked_fill((gap < 0) | (gap >= window), float("-inf"))
        return scores.softmax(-1) @ v

    return KernelCase(
        sliding_window_kernel,
        grid=(triton.cdiv(length, 16),),
        args=dict(
            q=Buffer((length, d)), k=Buffer((length, d)), v=Buffer((length, d)), out=empty((length, d)),
            scale=d**-0.5, T=length, WINDOW=window, D=d, BM=16, BN=16,
        ),
        reference=reference,
        reduction=window + 16,
    )  # fmt: skip
