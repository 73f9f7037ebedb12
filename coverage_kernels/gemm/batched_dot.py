"""`tl.dot` of 3-D blocks: the first axis is a batch inside one program.

The batch axis must stay the slowest in both operands and in the result, and the accumulator is 3-D too.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def batched_dot_kernel(a, b, c, Q: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    q = (tl.program_id(0) * Q + tl.arange(0, Q))[:, None, None]
    m = tl.arange(0, M)[None, :, None]
    n = tl.arange(0, N)[None, None, :]
    left = tl.load(a + q * M * K + m * K + tl.arange(0, K)[None, None, :])
    right = tl.load(b + q * K * N + tl.arange(0, K)[None, :, None] * N + n)
    tl.store(c + q * M * N + m * N + n, tl.dot(left, right, input_precision="ieee"))


@case(dtype=["fp32", "fp16"], q=[2, 4])
def batched_dot(dtype, q):
    m, n, k = 16, 32, 16
    return KernelCase(
        batched_dot_kernel,
        grid=(3,),
        args=dict(
            a=Buffer((3 * q, m, k), dtype), b=Buffer((3 * q, k, n), dtype), c=empty((3 * q, m, n), "fp32"),
            Q=q, M=m, N=n, K=k,
        ),
        reference=lambda a, b: a @ b,
        reduction=k,
    )  # fmt: skip
