"""A batched GEMM whose batch is the third axis of the grid, with a stride of its own for every operand.

The batch of `b` may have stride 0 (one matrix for all) and `a` may be padded between batches: a program
that loses program_id(2), or packs a padded stride, is right in the first batch only. As Inductor's bmm.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def batched_grid_kernel(
    a, b, c, M, N, K, stride_aq, stride_am, stride_bq, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):  # fmt: skip
    batch = tl.program_id(2).to(tl.int64)
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a_at = a + batch * stride_aq + rows[:, None] * stride_am + k[None, :]
        b_at = b + batch * stride_bq + k[:, None] * N + cols[None, :]
        a_tile = tl.load(a_at, mask=(rows[:, None] < M) & (k[None, :] < K), other=0.0)
        b_tile = tl.load(b_at, mask=(k[:, None] < K) & (cols[None, :] < N), other=0.0)
        acc = tl.dot(a_tile, b_tile, acc, input_precision="ieee")
    inside = (rows[:, None] < M) & (cols[None, :] < N)
    tl.store(c + batch * M * N + rows[:, None] * N + cols[None, :], acc, mask=inside)


@case(dtype=["fp32", "fp16"], shared_b=[False, True])
def batched_grid(dtype, shared_b):
    q, m, n, k = 5, 20, 33, 24
    stride_bq = 0 if shared_b else k * n
    return KernelCase(
        batched_grid_kernel,
        grid=(triton.cdiv(m, 16), triton.cdiv(n, 16), q),
        args=dict(
            a=Buffer((q, m, k), dtype, strides=(m * 32 + 7, 32, 1)),
            b=Buffer((q, k, n), dtype, strides=(stride_bq, n, 1)), c=empty((q, m, n), dtype),
            M=m, N=n, K=k, stride_aq=m * 32 + 7, stride_am=32, stride_bq=stride_bq, BM=16, BN=16, BK=16,
        ),
        reference=lambda a, b: a @ b,
        reduction=k,
    )  # fmt: skip
