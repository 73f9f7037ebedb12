"""fp8 operands into an fp32 accumulator; the two formats have different exponents and may not be mixed up.

Whole numbers up to 4 are exact in both formats, so a result that is off at all was decoded wrongly.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, Integers, KernelCase, case, empty


@triton.jit
def fp8_kernel(a, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a_tile = tl.load(a + rows[:, None] * K + k[None, :])
        b_tile = tl.load(b + k[:, None] + cols[None, :] * K)
        acc = tl.dot(a_tile, b_tile, acc)
    tl.store(c + rows[:, None] * N + cols[None, :], acc)


@case(dtype=["fp8e4nv", "fp8e5"], out=["fp32", "bf16"])
def fp8(dtype, out):
    m, n, k = 64, 32, 128
    whole = Integers(-4, 5)
    return KernelCase(
        fp8_kernel,
        grid=(m // 32, n // 32),
        args=dict(
            a=Buffer((m, k), dtype, fill=whole), b=Buffer((k, n), dtype, strides=(1, k), fill=whole),
            c=empty((m, n), out), N=n, K=k, BM=32, BN=32, BK=64,
        ),
        reference=lambda a, b: a @ b,
    )  # fmt: skip
