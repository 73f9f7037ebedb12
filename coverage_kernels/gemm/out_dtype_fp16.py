"""`tl.dot(..., out_dtype=tl.float16)`: the accumulator itself is fp16.

Small whole numbers keep every partial sum exact in fp16, whatever the order of the sum.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, Integers, KernelCase, case, empty


@triton.jit
def out_dtype_fp16_kernel(a, b, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    m = tl.arange(0, BM)
    n = tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float16)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a_tile = tl.load(a + m[:, None] * K + k[None, :])
        b_tile = tl.load(b + k[:, None] * BN + n[None, :])
        acc = tl.dot(a_tile, b_tile, acc, out_dtype=tl.float16)
    tl.store(c + m[:, None] * BN + n[None, :], acc)


@case(k=[16, 64])
def out_dtype_fp16(k):
    whole = Integers(-4, 5)
    return KernelCase(
        out_dtype_fp16_kernel,
        grid=(1,),
        args=dict(
            a=Buffer((32, k), "fp16", fill=whole), b=Buffer((k, 16), "fp16", fill=whole), c=empty((32, 16), "fp16"),
            K=k, BM=32, BN=16, BK=16,
        ),
        reference=lambda a, b: a @ b,
    )  # fmt: skip
