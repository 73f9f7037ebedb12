"""A persistent GEMM: a fixed number of programs share the tiles, each walking every PROGRAMS-th one.

Programs run different numbers of outer iterations (one may run none), and `flatten` asks the compiler to
merge the tile loop with the k loop. Reduced from the persistent matmul tutorial.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def persistent_kernel(
    a, b, c, M, N, K,
    PROGRAMS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, FLATTEN: tl.constexpr,
):  # fmt: skip
    tiles_n = tl.cdiv(N, BN)
    tiles = tl.cdiv(M, BM) * tiles_n
    for tile in tl.range(tl.program_id(0), tiles, PROGRAMS, flatten=FLATTEN):
        rows = (tile // tiles_n) * BM + tl.arange(0, BM)
        cols = (tile % tiles_n) * BN + tl.arange(0, BN)
        acc = tl.zeros((BM, BN), tl.float32)
        for step in range(tl.cdiv(K, BK)):
            k = step * BK + tl.arange(0, BK)
            a_tile = tl.load(a + rows[:, None] * K + k[None, :], mask=(rows[:, None] < M) & (k[None, :] < K), other=0.0)
            b_tile = tl.load(b + k[:, None] * N + cols[None, :], mask=(k[:, None] < K) & (cols[None, :] < N), other=0.0)
            acc = tl.dot(a_tile, b_tile, acc)
        tl.store(c + rows[:, None] * N + cols[None, :], acc, mask=(rows[:, None] < M) & (cols[None, :] < N))


@case(programs=[1, 4, 13], flatten=[False, True])
def persistent(programs, flatten):
    m, n, k = 50, 41, 40
    return KernelCase(
        persistent_kernel,
        grid=(programs,),
        args=dict(
            a=Buffer((m, k), "bf16"), b=Buffer((k, n), "bf16"), c=empty((m, n), "bf16"),
            M=m, N=n, K=k, PROGRAMS=programs, BM=16, BN=16, BK=16, FLATTEN=flatten,
        ),
        reference=lambda a, b: a @ b,
        reduction=k,
    )  # fmt: skip
