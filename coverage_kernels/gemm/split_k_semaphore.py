"""Split-K in a fixed order: program k waits for its turn on the tile's semaphore, adds, and passes it on.

Programs wait for one another, so a simulator that runs them one after the other in the wrong order, or in
lock step without forward progress, hangs here. Reduced from a split-K GEMM with a lock per output tile.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, Constant, KernelCase, case, empty


@triton.jit
def split_k_semaphore_kernel(a, b, c, semaphores, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    tile = tl.program_id(0)
    share = tl.program_id(1)
    shares = tl.num_programs(1)
    rows = tile * BM + tl.arange(0, BM)
    cols = tl.arange(0, BN)
    k = share * BK + tl.arange(0, BK)
    acc = tl.dot(tl.load(a + rows[:, None] * K + k[None, :]), tl.load(b + k[:, None] * N + cols[None, :]))
    at = c + rows[:, None] * N + cols[None, :]
    while tl.atomic_cas(semaphores + tile, share, share) != share:
        pass
    if share > 0:
        acc += tl.load(at, volatile=True)
    tl.store(at, acc)
    tl.debug_barrier()
    tl.atomic_xchg(semaphores + tile, (share + 1) % shares)


@case(shares=[1, 2, 4])
def split_k_semaphore(shares):
    m, n, k = 32, 16, 32 * shares
    return KernelCase(
        split_k_semaphore_kernel,
        grid=(m // 16, shares),
        args=dict(
            a=Buffer((m, k), "fp16"), b=Buffer((k, n), "fp16"), c=empty((m, n), "fp32"),
            semaphores=Buffer(m // 16, "int32", fill=Constant(0)), N=n, K=k, BM=16, BN=16, BK=32,
        ),
        reference=lambda a, b, semaphores: {"c": a @ b, "semaphores": semaphores},
        reduction=k,
    )  # fmt: skip
