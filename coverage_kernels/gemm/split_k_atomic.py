"""Split-K: each program adds its share of K into the zeroed output with a masked `tl.atomic_add`.

Whole numbers make the sum exact, so that the order in which programs arrive cannot show. An output that
is not zeroed, a share counted twice or an atomic outside the mask does.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, Constant, Integers, KernelCase, case


@triton.jit
def split_k_atomic_kernel(
    a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT_K: tl.constexpr
):  # fmt: skip
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(tl.program_id(2) * BK, K, SPLIT_K * BK):
        k = start + tl.arange(0, BK)
        a_tile = tl.load(a + rows[:, None] * K + k[None, :], mask=(rows[:, None] < M) & (k[None, :] < K), other=0.0)
        b_tile = tl.load(b + k[:, None] * N + cols[None, :], mask=(k[:, None] < K) & (cols[None, :] < N), other=0.0)
        acc = tl.dot(a_tile, b_tile, acc)
    inside = (rows[:, None] < M) & (cols[None, :] < N)
    tl.atomic_add(c + rows[:, None] * N + cols[None, :], acc, mask=inside)


@case(split=[1, 2, 5], shape=[(32, 32, 128), (40, 23, 100)])
def split_k_atomic(split, shape):
    m, n, k = shape
    whole = Integers(-4, 5)
    return KernelCase(
        split_k_atomic_kernel,
        grid=(triton.cdiv(m, 16), triton.cdiv(n, 16), split),
        args=dict(
            a=Buffer((m, k), "fp16", fill=whole), b=Buffer((k, n), "fp16", fill=whole),
            c=Buffer((m, n), "fp32", fill=Constant(0)), M=m, N=n, K=k, BM=16, BN=16, BK=16, SPLIT_K=split,
        ),
        reference=lambda a, b: {"c": a @ b},
    )  # fmt: skip
