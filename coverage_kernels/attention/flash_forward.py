"""Flash attention, forward: online softmax over key blocks, the running maximum rescaling sum and output.

Causal programs stop early, so the number of key blocks differs per program; the sequence ends inside a
block. Also writes the log-sum-exp that the backward pass needs. Reduced from the fused attention tutorial.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, Tolerance, case, empty


@triton.jit
def flash_forward_kernel(
    q, k, v, out, lse, scale, T, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr
):  # fmt: skip
    head = tl.program_id(1) * T * D
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    dims = tl.arange(0, D)
    q_tile = tl.load(q + head + rows[:, None] * D + dims[None, :], mask=rows[:, None] < T, other=0.0)
    top = tl.full((BM,), float("-inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    end = min((tl.program_id(0) + 1) * BM, T) if CAUSAL else T
    for start in range(0, end, BN):
        cols = start + tl.arange(0, BN)
        k_tile = tl.load(k + head + cols[None, :] * D + dims[:, None], mask=cols[None, :] < T, other=0.0)
        scores = tl.dot(q_tile, k_tile, input_precision="ieee") * (scale * 1.4426950408889634)
        seen = cols[None, :] < T
        if CAUSAL:
            seen = seen & (cols[None, :] <= rows[:, None])
        scores = tl.where(seen, scores, float("-inf"))
        new_top = tl.maximum(top, tl.max(scores, 1))
        weights = tl.exp2(scores - new_top[:, None])
        shrink = tl.exp2(top - new_top)
        total = total * shrink + tl.sum(weights, 1)
        v_tile = tl.load(v + head + cols[:, None] * D + dims[None, :], mask=cols[:, None] < T, other=0.0)
        acc = tl.dot(weights.to(v_tile.dtype), v_tile, acc * shrink[:, None], input_precision="ieee")
        top = new_top
    tl.store(out + head + rows[:, None] * D + dims[None, :], acc / total[:, None], mask=rows[:, None] < T)
    tl.store(lse + tl.program_id(1) * T + rows, (top + tl.log2(total)) * 0.6931471805599453, mask=rows < T)


# The softmax weights are narrowed before the second dot: half an ulp of each, carried into the sum.
NARROWED = {
    "fp16": Tolerance("weights narrowed to fp16 for the second dot", absolute=2.0**-10),
    "bf16": Tolerance("weights narrowed to bf16 for the second dot", absolute=2.0**-7),
}


@case(dtype=["fp32", "fp16", "bf16"], causal=[False, True], length=[64, 45])
def flash_forward(dtype, causal, length):
    heads, d = 3, 16
    shape = (1, heads, length, d)

    def reference(q, k, v):
        scores = q @ k.mT * d**-0.5
        if causal:
            scores = scores.masked_fill(torch.ones(length, length, dtype=torch.bool).triu(1), float("-inf"))
        return {"out": scores.softmax(-1) @ v, "lse": scores.logsumexp(-1)}

    return KernelCase(
        flash_forward_kernel,
        grid=(triton.cdiv(length, 32), heads),
        args=dict(
            q=Buffer(shape, dtype), k=Buffer(shape, dtype), v=Buffer(shape, dtype), out=empty(shape, dtype),
            lse=empty(shape[:3], "fp32"), scale=d**-0.5, T=length, D=d, BM=32, BN=16, CAUSAL=causal,
        ),
        reference=reference,
        reduction=length,
        tolerance=NARROWED.get(dtype),
    )  # fmt: skip
