"""A matrix times a vector with no `tl.dot`: a broadcast product summed over the last axis.

What Inductor emits when one side of the matmul is 1: each row is reduced in chunks into a 2-D accumulator.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def gemv_kernel(a, x, out, M, K, stride_am, BM: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    acc = tl.full([BM, BK], 0, tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)[None, :]
        inside = (rows < M) & (k < K)
        product = tl.load(a + rows * stride_am + k, inside, other=0.0).to(tl.float32) * tl.load(x + k, k < K, other=0.0)
        acc = tl.where(inside, acc + product, acc)
    tl.store(out + rows, tl.sum(acc, 1)[:, None], rows < M)


@case(dtype=["fp32", "bf16"], shape=[(40, 300), (7, 64)])
def gemv(dtype, shape):
    m, k = shape
    return KernelCase(
        gemv_kernel,
        grid=(triton.cdiv(m, 8),),
        args=dict(
            a=Buffer((m, k), dtype, strides=(k + 9, 1)), x=Buffer(k, dtype, offset=1), out=empty(m, dtype),
            M=m, K=k, stride_am=k + 9, BM=8, BK=64,
        ),
        reference=lambda a, x: a @ x,
        reduction=k,
    )  # fmt: skip
