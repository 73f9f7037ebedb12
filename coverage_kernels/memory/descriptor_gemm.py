"""A GEMM over tensor descriptors, the right operand stored transposed, tails dropped by the descriptors."""

import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def descriptor_gemm_kernel(a, b, c, M, N, K, stride_c, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    a_tiles = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    b_tiles = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    c_tiles = tl.make_tensor_descriptor(c, [M, N], [stride_c, 1], [BM, BN])
    row = tl.program_id(0) * BM
    col = tl.program_id(1) * BN
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(a_tiles.load([row, k]), b_tiles.load([col, k]).T, acc)
    c_tiles.store([row, col], acc.to(c.dtype.element_ty))


@case(dtype=["fp16", "bf16"], shape=[(64, 32, 64), (50, 24, 40)])
def descriptor_gemm(dtype, shape):
    m, n, k = shape
    return KernelCase(
        descriptor_gemm_kernel,
        grid=(triton.cdiv(m, 32), triton.cdiv(n, 32)),
        args=dict(
            a=Buffer((m, k), dtype), b=Buffer((n, k), dtype), c=empty((m, n), dtype, strides=(40, 1)), M=m, N=n, K=k,
            stride_c=40, BM=32, BN=32, BK=32,
        ),
        reference=lambda a, b: a @ b.T,
        reduction=k,
    )  # fmt: skip
