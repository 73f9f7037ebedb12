"""A GEMM over block pointers advanced along K, every tail handled by `boundary_check`.

Triton 3.9 refuses `tl.make_block_ptr`; the tensor descriptors beside this file replace it there.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def block_pointer_gemm_kernel(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row = tl.program_id(0) * BM
    col = tl.program_id(1) * BN
    a_at = tl.make_block_ptr(a, (M, K), (K, 1), (row, 0), (BM, BK), (1, 0))
    b_at = tl.make_block_ptr(b, (K, N), (N, 1), (0, col), (BK, BN), (1, 0))
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(0, K, BK):
        a_tile = tl.load(a_at, boundary_check=(0, 1), padding_option="zero")
        b_tile = tl.load(b_at, boundary_check=(0, 1), padding_option="zero")
        acc = tl.dot(a_tile, b_tile, acc, input_precision="ieee")
        a_at = tl.advance(a_at, (0, BK))
        b_at = tl.advance(b_at, (BK, 0))
    c_at = tl.make_block_ptr(c, (M, N), (N, 1), (row, col), (BM, BN), (1, 0))
    tl.store(c_at, acc.to(c.dtype.element_ty), boundary_check=(0, 1))


@case(
    needs="tl.make_block_ptr",
    dtype=["fp32", "bf16"],
    shape=[(32, 32, 32), (30, 41, 50)],
)
def block_pointer_gemm(dtype, shape):
    m, n, k = shape
    return KernelCase(
        block_pointer_gemm_kernel,
        grid=(triton.cdiv(m, 16), triton.cdiv(n, 32)),
        args=dict(
            a=Buffer((m, k), dtype), b=Buffer((k, n), dtype), c=empty((m, n), dtype), M=m, N=n, K=k, BM=16, BN=32, BK=16
        ),
        reference=lambda a, b: a @ b,
        reduction=k,
    )
