"""Operands in each of the four storage orders, and a transposed tile made in registers by `tl.trans`.

The same values in row-major and in column-major storage must give the same product.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def transposed_kernel(
    a, b, c, N, K, stride_am, stride_ak, stride_bk, stride_bn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):  # fmt: skip
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a_tile = tl.load(a + rows[:, None] * stride_am + k[None, :] * stride_ak)
        b_tile = tl.load(b + cols[:, None] * stride_bn + k[None, :] * stride_bk)
        acc = tl.dot(a_tile, tl.trans(b_tile), acc)
    tl.store(c + rows[:, None] * N + cols[None, :], acc)


@case(order=["nn", "nt", "tn", "tt"], dtype=["fp16", "bf16"])
def transposed(order, dtype):
    m, n, k = 32, 48, 64
    a_strides = (k, 1) if order[0] == "n" else (1, m)
    b_strides = (n, 1) if order[1] == "n" else (1, k)
    return KernelCase(
        transposed_kernel,
        grid=(m // 16, n // 16),
        args=dict(
            a=Buffer((m, k), dtype, strides=a_strides), b=Buffer((k, n), dtype, strides=b_strides),
            c=empty((m, n), dtype), N=n, K=k, stride_am=a_strides[0], stride_ak=a_strides[1],
            stride_bk=b_strides[0], stride_bn=b_strides[1], BM=16, BN=16, BK=32,
        ),
        reference=lambda a, b: a @ b,
        reduction=k,
    )  # fmt: skip
