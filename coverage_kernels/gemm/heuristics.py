"""A GEMM under `@triton.autotune` with one configuration and `@triton.heuristics`, as libraries ship them.

EVEN_K is computed from the arguments at launch: computed from stale arguments, it drops the K mask.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.autotune(configs=[triton.Config({"BM": 32, "BN": 16, "BK": 32}, num_warps=4, num_stages=2)], key=["K"])
@triton.heuristics({"EVEN_K": lambda args: args["K"] % args["BK"] == 0})
@triton.jit
def heuristics_kernel(a, b, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, EVEN_K: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        if EVEN_K:
            a_tile = tl.load(a + rows[:, None] * K + k[None, :])
            b_tile = tl.load(b + k[:, None] * N + cols[None, :])
        else:
            a_tile = tl.load(a + rows[:, None] * K + k[None, :], mask=k[None, :] < K, other=0.0)
            b_tile = tl.load(b + k[:, None] * N + cols[None, :], mask=k[:, None] < K, other=0.0)
        acc = tl.dot(a_tile, b_tile, acc)
    tl.store(c + rows[:, None] * N + cols[None, :], acc)


@case(k=[64, 65])
def heuristics(k):
    m, n = 64, 32
    return KernelCase(
        heuristics_kernel,
        grid=(m // 32, n // 16),
        args=dict(a=Buffer((m, k), "fp16"), b=Buffer((k, n), "fp16"), c=empty((m, n), "fp16"), N=n, K=k),
        reference=lambda a, b: a @ b,
        reduction=k,
    )
