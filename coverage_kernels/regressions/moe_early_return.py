"""A fused mixture-of-experts GEMM that returns early, after storing zeros, for blocks without an expert.

The token mask is used by the early store, by the loads of the k loop and by the final store. Right on the
`npu` target and with Triton 3.7.0 and newer; compiling this tile (256 x 64 x 64, 4 warps, 2 stages) for
compute capability 8.0, 8.7, 8.9 and 9.0 fails in Triton 3.3.0 to 3.6.0, where
`tritongpu-remove-layout-conversions` leaves "operand #0 does not dominate this use". Without the early
store, or with N for the row stride, it compiles. Reduced from vLLM's fused_moe kernel;
Triton issue 10327.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, Integers, KernelCase, Values, case, empty


@triton.jit
def store_tile(c, value, ids, token_mask, pid_n, N, stride_cm, BN: tl.constexpr):
    cols = pid_n * BN + tl.arange(0, BN)
    inside = token_mask[:, None] & (cols[None, :] < N)
    tl.store(c + ids[:, None] * stride_cm + cols[None, :], value.to(c.dtype.element_ty), mask=inside)


@triton.jit
def moe_early_return_kernel(
    a, b, c, token_ids, expert_ids, N, K, n_tokens, stride_be, stride_bn, stride_cm,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    tiles_n = tl.cdiv(N, BN)
    pid_m = tl.program_id(0) // tiles_n
    pid_n = tl.program_id(0) % tiles_n
    ids = tl.load(token_ids + pid_m * BM + tl.arange(0, BM)).to(tl.int64)
    token_mask = ids < n_tokens
    expert = tl.load(expert_ids + pid_m)
    if expert == -1:
        store_tile(c, tl.zeros((BM, BN), tl.float32), ids, token_mask, pid_n, N, stride_cm, BN)
        return
    b_cols = (pid_n * BN + tl.arange(0, BN)) % N
    k_offsets = tl.arange(0, BK)
    a_at = a + ids[:, None] * K + k_offsets[None, :]
    b_at = b + expert * stride_be + k_offsets[:, None] + b_cols[None, :] * stride_bn
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(tl.cdiv(K, BK)):
        a_tile = tl.load(a_at, mask=token_mask[:, None] & (k_offsets[None, :] < K - k * BK), other=0.0)
        b_tile = tl.load(b_at, mask=k_offsets[:, None] < K - k * BK, other=0.0)
        acc = tl.dot(a_tile, b_tile.to(a_tile.dtype), acc)
        a_at += BK
        b_at += BK
    store_tile(c, acc, ids, token_mask, pid_n, N, stride_cm, BN)


@case(weights=["bf16", "int8"])
def moe_early_return(weights):
    tokens, n, k, block = 300, 72, 80, 256
    # Three blocks: expert 1, no expert, expert 0; the padding entries point past the tokens.
    rows = [range(200), range(200, 250), range(250, 300)]
    owners = (1, -1, 0)
    ids = [i for part in rows for i in (*part, *[tokens] * (block - len(part)))]

    def reference(a, b):
        parts = [a[list(part)] @ b[e].double().T * (e >= 0) for part, e in zip(rows, owners, strict=True)]
        return torch.cat(parts)

    return KernelCase(
        moe_early_return_kernel,
        grid=(3 * triton.cdiv(n, 64),),
        args=dict(
            a=Buffer((tokens, k), "bf16"), b=Buffer((2, n, k), weights, fill=Integers(-8, 9)),
            c=empty((tokens, n), "bf16", strides=(96, 1)), token_ids=Buffer(len(ids), "int32", fill=Values(tuple(ids))),
            expert_ids=Buffer(3, "int32", fill=Values(owners)), N=n, K=k, n_tokens=tokens, stride_be=n * k,
            stride_bn=k, stride_cm=96, BM=block, BN=64, BK=64,
        ),
        reference=reference,
        options=dict(num_warps=4, num_stages=2),
        reduction=k,
    )  # fmt: skip
