"""Two dots into one accumulator in each step: c = a @ b + p @ q, as a fused pair of projections has it.

The accumulator of the second dot is the result of the first; fusing either into the loop's carried value
in the wrong order, or dropping the first, shows in every element.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def two_dots_kernel(a, b, p, q, c, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    N = tl.num_programs(1) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        left = rows[:, None] * K + k[None, :]
        right = k[:, None] * N + cols[None, :]
        acc = tl.dot(tl.load(a + left), tl.load(b + right), acc)
        acc = tl.dot(tl.load(p + left), tl.load(q + right), acc)
    tl.store(c + rows[:, None] * N + cols[None, :], acc)


@case(dtype=["fp16", "bf16"], k=[32, 96])
def two_dots(dtype, k):
    m, n = 64, 32
    return KernelCase(
        two_dots_kernel,
        grid=(m // 32, n // 16),
        args=dict(
            a=Buffer((m, k), dtype), b=Buffer((k, n), dtype), p=Buffer((m, k), dtype), q=Buffer((k, n), dtype),
            c=empty((m, n), "fp32"), K=k, BM=32, BN=16, BK=32,
        ),
        reference=lambda a, b, p, q: a @ b + p @ q,
        reduction=2 * k,
    )  # fmt: skip
