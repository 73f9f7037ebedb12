"""Several GEMMs of different sizes in one persistent launch; operands come from tables of addresses and sizes.

Each program walks the problems and takes the tiles whose global number falls to it. Reduced from the
grouped GEMM tutorial.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, Pointers, Values, case, empty


@triton.jit
def grouped_gemm_kernel(
    tables, sizes, a0, b0, c0, a1, b1, c1, a2, b2, c2, COUNT, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):  # fmt: skip
    tile = tl.program_id(0)
    finished = 0
    for problem in range(COUNT):
        M = tl.load(sizes + problem * 3)
        N = tl.load(sizes + problem * 3 + 1)
        K = tl.load(sizes + problem * 3 + 2)
        tiles_n = tl.cdiv(N, BN)
        tiles = tl.cdiv(M, BM) * tiles_n
        while tile >= finished and tile < finished + tiles:
            a = tl.load(tables + problem * 3).to(tl.pointer_type(tl.float16))
            b = tl.load(tables + problem * 3 + 1).to(tl.pointer_type(tl.float16))
            c = tl.load(tables + problem * 3 + 2).to(tl.pointer_type(tl.float16))
            rows = (tile - finished) // tiles_n * BM + tl.arange(0, BM)
            cols = (tile - finished) % tiles_n * BN + tl.arange(0, BN)
            acc = tl.zeros((BM, BN), tl.float32)
            for start in range(0, K, BK):
                k = start + tl.arange(0, BK)
                a_mask = (rows < M)[:, None] & (k < K)[None, :]
                b_mask = (k < K)[:, None] & (cols < N)[None, :]
                a_tile = tl.load(a + rows[:, None] * K + k[None, :], mask=a_mask, other=0.0)
                b_tile = tl.load(b + k[:, None] * N + cols[None, :], mask=b_mask, other=0.0)
                acc = tl.dot(a_tile, b_tile, acc)
            inside = (rows < M)[:, None] & (cols < N)[None, :]
            tl.store(c + rows[:, None] * N + cols[None, :], acc.to(tl.float16), mask=inside)
            tile += tl.num_programs(0)
        finished += tiles


@case(programs=[1, 4, 20])
def grouped_gemm(programs):
    problems = ((20, 40, 32), (64, 16, 16), (7, 9, 50))
    operands = {}
    for i, (m, n, k) in enumerate(problems):
        operands |= {f"a{i}": Buffer((m, k), "fp16"), f"b{i}": Buffer((k, n), "fp16"), f"c{i}": empty((m, n), "fp16")}

    def reference(a0, b0, a1, b1, a2, b2):
        return {"c0": a0 @ b0, "c1": a1 @ b1, "c2": a2 @ b2}

    return KernelCase(
        grouped_gemm_kernel,
        grid=(programs,),
        args=dict(
            tables=Buffer((3, 3), "int64", fill=Pointers(tuple(operands))),
            sizes=Buffer((3, 3), "int32", fill=Values(sum(problems, ()))), **operands, COUNT=3, BM=16, BN=16, BK=16,
        ),
        reference=reference,
        reduction=50,
    )  # fmt: skip
