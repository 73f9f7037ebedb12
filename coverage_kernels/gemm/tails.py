"""A GEMM whose tile divides none of M, N, K, so that each of the three masks matters; K = 0 writes zeros.

A wrong K mask adds garbage to every element, a wrong M or N mask writes outside the output.
Reduced from the Triton matmul tutorial, with the masks that the tutorial avoids by wrapping.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def tails_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a_tile = tl.load(a + rows[:, None] * K + k[None, :], mask=(rows[:, None] < M) & (k[None, :] < K), other=0.0)
        b_tile = tl.load(b + k[:, None] * N + cols[None, :], mask=(k[:, None] < K) & (cols[None, :] < N), other=0.0)
        acc = tl.dot(a_tile, b_tile, acc, input_precision="ieee")
    tl.store(c + rows[:, None] * N + cols[None, :], acc, mask=(rows[:, None] < M) & (cols[None, :] < N))


@case(dtype=["fp32", "fp16", "bf16"], shape=[(64, 64, 64), (33, 65, 47), (1, 31, 100), (17, 19, 0)])
def tails(dtype, shape):
    m, n, k = shape
    return KernelCase(
        tails_kernel,
        grid=(triton.cdiv(m, 32), triton.cdiv(n, 32)),
        args=dict(
            a=Buffer((m, k), dtype), b=Buffer((k, n), dtype), c=empty((m, n), dtype), M=m, N=n, K=k, BM=32, BN=32, BK=32
        ),
        reference=lambda a, b: a @ b,
        reduction=max(1, k),
    )
