"""A GEMM in fp64, accumulated in fp64: an accumulator of fp32 would lose half of the digits."""

import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def fp64_kernel(a, b, c, K, stride_cm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float64)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a_tile = tl.load(a + rows[:, None] * K + k[None, :], mask=k[None, :] < K, other=0.0)
        b_tile = tl.load(b + k[:, None] * BN + cols[None, :], mask=k[:, None] < K, other=0.0)
        acc = tl.dot(a_tile, b_tile, acc, out_dtype=tl.float64)
    tl.store(c + rows[:, None] * stride_cm + cols[None, :], acc)


@case(k=[16, 50])
def fp64(k):
    m, n = 32, 16
    return KernelCase(
        fp64_kernel,
        grid=(m // 16,),
        args=dict(
            a=Buffer((m, k), "fp64"), b=Buffer((k, n), "fp64"), c=empty((m, n), "fp64", strides=(n + 5, 1), offset=2),
            K=k, stride_cm=n + 5, BM=16, BN=n, BK=16,
        ),
        reference=lambda a, b: a @ b,
        reduction=k,
    )  # fmt: skip
