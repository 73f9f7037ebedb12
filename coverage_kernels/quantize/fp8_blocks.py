"""An fp8 GEMM with scales per block of K: (row, block) for the left side, (block, block) for the right one.

Each partial product is scaled before it is added, so the accumulator cannot be handed to the next dot.
Reduced from DeepSeek's block-scaled GEMM.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, Integers, KernelCase, Uniform, case, empty


@triton.jit
def fp8_blocks_kernel(a, a_scale, b, b_scale, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    col = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    blocks = tl.cdiv(K, BK)
    acc = tl.zeros((BM, BN), tl.float32)
    for block in range(blocks):
        inside = k < K - block * BK
        a_tile = tl.load(a + row[:, None] * K + (block * BK + k)[None, :], mask=inside[None, :], other=0.0)
        b_tile = tl.load(b + col[None, :] * K + (block * BK + k)[:, None], mask=inside[:, None], other=0.0)
        left = tl.load(a_scale + row * blocks + block)
        right = tl.load(b_scale + tl.program_id(1) * blocks + block)
        acc += tl.dot(a_tile, b_tile) * left[:, None] * right
    tl.store(c + row[:, None] * N + col[None, :], acc.to(c.dtype.element_ty))


@case(dtype=["fp8e4nv", "fp8e5"], k=[64, 96, 80])
def fp8_blocks(dtype, k):
    m, n, bk = 32, 64, 32
    blocks = triton.cdiv(k, bk)
    whole, scale = Integers(-4, 5), Uniform(0.1, 1.0)

    def reference(a, a_scale, b, b_scale):
        left = a_scale.repeat_interleave(bk, 1)[:, :k]
        right = b_scale.repeat_interleave(bk, 1)[:, :k].repeat_interleave(32, 0)
        return (a * left) @ (b * right).T

    return KernelCase(
        fp8_blocks_kernel,
        grid=(m // 16, n // 32),
        args=dict(
            a=Buffer((m, k), dtype, fill=whole), a_scale=Buffer((m, blocks), fill=scale),
            b=Buffer((n, k), dtype, fill=whole), b_scale=Buffer((n // 32, blocks), fill=scale),
            c=empty((m, n), "bf16"), N=n, K=k, BM=16, BN=32, BK=bk,
        ),
        reference=reference,
        reduction=k,
    )  # fmt: skip
