"""int8 times int8 into int32: exact, with the extremes -128 and 127 present, and a K tail masked to zero.

An accumulator of 16 bits, an operand read as unsigned, or a product rounded through fp16 shows at once.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, Integers, KernelCase, Special, case, empty


@triton.jit
def int8_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.int32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a_tile = tl.load(a + rows[:, None] * K + k[None, :], mask=(rows[:, None] < M) & (k[None, :] < K), other=0)
        b_tile = tl.load(b + k[:, None] * N + cols[None, :], mask=(k[:, None] < K) & (cols[None, :] < N), other=0)
        acc = tl.dot(a_tile, b_tile, acc, out_dtype=tl.int32)
    tl.store(c + rows[:, None] * N + cols[None, :], acc, mask=(rows[:, None] < M) & (cols[None, :] < N))


@case(values=["extremes", "uniform"], shape=[(32, 32, 128), (17, 40, 77)])
def int8(values, shape):
    m, n, k = shape
    fill = Special() if values == "extremes" else Integers(-128, 128)
    return KernelCase(
        int8_kernel,
        grid=(triton.cdiv(m, 32), triton.cdiv(n, 32)),
        args=dict(
            a=Buffer((m, k), "int8", fill=fill), b=Buffer((k, n), "int8", fill=fill), c=empty((m, n), "int32"),
            M=m, N=n, K=k, BM=32, BN=32, BK=64,
        ),
        reference=lambda a, b: (a.long() @ b.long()).int(),
    )  # fmt: skip
