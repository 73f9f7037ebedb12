"""Programs walk the output in groups of rows (`GROUP_M`), the last group being short.

The order changes nothing in the result as long as every tile is visited once; an off-by-one in the short
group leaves tiles unwritten. From the Triton matmul tutorial, also through `tl.swizzle2d`.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def grouped_order_kernel(
    a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP_M: tl.constexpr, SWIZZLE: tl.constexpr
):  # fmt: skip
    pid = tl.program_id(0)
    tiles_m = tl.cdiv(M, BM)
    tiles_n = tl.cdiv(N, BN)
    if SWIZZLE:
        pid_m, pid_n = tl.swizzle2d(pid // tiles_n, pid % tiles_n, tiles_m, tiles_n, GROUP_M)
    else:
        group = pid // (GROUP_M * tiles_n)
        first_m = group * GROUP_M
        group_rows = min(tiles_m - first_m, GROUP_M)
        pid_m = first_m + (pid % (GROUP_M * tiles_n)) % group_rows
        pid_n = (pid % (GROUP_M * tiles_n)) // group_rows
    rows = pid_m * BM + tl.arange(0, BM)
    cols = pid_n * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a_tile = tl.load(a + rows[:, None] * K + k[None, :], mask=rows[:, None] < M, other=0.0)
        b_tile = tl.load(b + k[:, None] * N + cols[None, :], mask=cols[None, :] < N, other=0.0)
        acc = tl.dot(a_tile, b_tile, acc)
    tl.store(c + rows[:, None] * N + cols[None, :], acc, mask=(rows[:, None] < M) & (cols[None, :] < N))


@case(group=[1, 3, 8], swizzle=[False, True])
def grouped_order(group, swizzle):
    m, n, k = 75, 60, 32
    return KernelCase(
        grouped_order_kernel,
        grid=(triton.cdiv(m, 16) * triton.cdiv(n, 16),),
        args=dict(
            a=Buffer((m, k), "fp16"), b=Buffer((k, n), "fp16"), c=empty((m, n), "fp32"),
            M=m, N=n, K=k, BM=16, BN=16, BK=16, GROUP_M=group, SWIZZLE=swizzle,
        ),
        reference=lambda a, b: a @ b,
        reduction=k,
    )  # fmt: skip
