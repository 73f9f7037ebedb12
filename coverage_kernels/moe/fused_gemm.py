"""The fused mixture-of-experts GEMM: token rows gathered by a sorted list padded per expert, one expert a tile.

Padding entries point past the tokens and must neither be read nor stored; the routing weight is applied in
the epilogue. Reduced from vLLM's fused_moe kernel.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, Values, case, empty


@triton.jit
def fused_gemm_kernel(
    a, b, c, weights, sorted_ids, expert_ids, N, K, valid, stride_be, stride_bn,
    TOP_K: tl.constexpr, WEIGHTED: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    tiles_n = tl.cdiv(N, BN)
    pid_m = tl.program_id(0) // tiles_n
    pid_n = tl.program_id(0) % tiles_n
    ids = tl.load(sorted_ids + pid_m * BM + tl.arange(0, BM)).to(tl.int64)
    token_mask = ids < valid
    cols = (pid_n * BN + tl.arange(0, BN).to(tl.int64)) % N
    k = tl.arange(0, BK)
    expert = tl.load(expert_ids + pid_m).to(tl.int64)
    a_at = a + (ids[:, None] // TOP_K * K + k[None, :])
    b_at = b + expert * stride_be + (k[:, None] + cols[None, :] * stride_bn)
    acc = tl.zeros((BM, BN), tl.float32)
    for step in range(tl.cdiv(K, BK)):
        a_tile = tl.load(a_at, mask=token_mask[:, None] & (k[None, :] < K - step * BK), other=0.0)
        b_tile = tl.load(b_at, mask=k[:, None] < K - step * BK, other=0.0)
        acc += tl.dot(a_tile, b_tile)
        a_at += BK
        b_at += BK
    if WEIGHTED:
        acc *= tl.load(weights + ids, mask=token_mask, other=0.0)[:, None]
    out_cols = pid_n * BN + tl.arange(0, BN)
    inside = token_mask[:, None] & (out_cols[None, :] < N)
    tl.store(c + ids[:, None] * N + out_cols[None, :], acc.to(c.dtype.element_ty), mask=inside)


def sorted_by_expert(experts: list[int], block: int) -> tuple[list[int], list[int]]:
    """Entries of each expert, padded to whole blocks with an entry past the end; and each block's expert."""
    ids, owners = [], []
    for expert in sorted(set(experts)):
        mine = [i for i, e in enumerate(experts) if e == expert]
        mine += [len(experts)] * (-len(mine) % block)
        ids += mine
        owners += [expert] * (len(mine) // block)
    return ids, owners


@case(dtype=["fp16", "bf16"], weighted=[False, True], tokens=[5, 40])
def fused_gemm(dtype, weighted, tokens):
    top_k, count, n, k = 2, 4, 40, 48
    experts = [(i * 7 + i // 3) % count for i in range(tokens * top_k)]
    ids, owners = sorted_by_expert(experts, 16)

    def reference(a, b, weights):
        rows = torch.stack([b[e] @ a[i // top_k] for i, e in enumerate(experts)])
        return {"c": rows * weights[:, None] if weighted else rows}

    return KernelCase(
        fused_gemm_kernel,
        grid=(len(owners) * triton.cdiv(n, 32),),
        args=dict(
            a=Buffer((tokens, k), dtype), b=Buffer((count, n, k), dtype), c=empty((tokens * top_k, n), dtype),
            weights=Buffer(tokens * top_k), sorted_ids=Buffer(len(ids), "int32", fill=Values(tuple(ids))),
            expert_ids=Buffer(len(owners), "int32", fill=Values(tuple(owners))), N=n, K=k, valid=tokens * top_k,
            stride_be=n * k, stride_bn=k, TOP_K=top_k, WEIGHTED=weighted, BM=16, BN=32, BK=32,
        ),
        reference=reference,
        reduction=k,
    )  # fmt: skip
