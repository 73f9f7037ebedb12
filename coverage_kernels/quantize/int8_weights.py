"""A GEMM of fp16 activations with int8 weights, scaled per output channel in the epilogue.

The weights are widened in registers, exactly; a scale applied per row instead of per column shows everywhere.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, Integers, KernelCase, Uniform, case, empty


@triton.jit
def int8_weights_kernel(a, w, scales, c, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    col = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a_tile = tl.load(a + row[:, None] * K + k[None, :])
        w_tile = tl.load(w + col[None, :] * K + k[:, None], mask=(col < N)[None, :], other=0)
        acc = tl.dot(a_tile, w_tile.to(a_tile.dtype), acc)
    acc *= tl.load(scales + col, mask=col < N, other=0.0)[None, :]
    tl.store(c + row[:, None] * N + col[None, :], acc.to(c.dtype.element_ty), mask=(col < N)[None, :])


@case(dtype=["fp16", "bf16"], n=[32, 45])
def int8_weights(dtype, n):
    m, k = 32, 64
    return KernelCase(
        int8_weights_kernel,
        grid=(m // 16, triton.cdiv(n, 16)),
        args=dict(
            a=Buffer((m, k), dtype), w=Buffer((n, k), "int8", fill=Integers(-128, 128)),
            scales=Buffer(n, fill=Uniform(0.01, 0.1)), c=empty((m, n), dtype), N=n, K=k, BM=16, BN=16, BK=32,
        ),
        reference=lambda a, w, scales: a @ w.double().T * scales,
        reduction=k,
    )  # fmt: skip
