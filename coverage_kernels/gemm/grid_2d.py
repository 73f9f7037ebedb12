"""A 2-D grid that is far from square: 1 tile of rows by 5 of columns, and the other way round.

A grid passed outermost first agrees with every 1-D kernel and leaves columns unwritten in this one.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def grid_2d_kernel(a, b, c, N: tl.constexpr, K: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, K)
    a_tile = tl.load(a + rows[:, None] * K + k[None, :])
    b_tile = tl.load(b + k[:, None] * N + cols[None, :])
    tl.store(c + rows[:, None] * N + cols[None, :], tl.dot(a_tile, b_tile))


@case(tiles=[(1, 5), (5, 1), (2, 3)])
def grid_2d(tiles):
    m, n, k = tiles[0] * 16, tiles[1] * 16, 16
    return KernelCase(
        grid_2d_kernel,
        grid=tiles,
        args=dict(a=Buffer((m, k), "fp16"), b=Buffer((k, n), "fp16"), c=empty((m, n), "fp32"), N=n, K=k, BM=16, BN=16),
        reference=lambda a, b: a @ b,
        reduction=k,
    )
