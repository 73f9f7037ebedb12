"""fp32 operands at each input precision: ieee on any numbers, tf32x3 nearly as good, tf32 on whole numbers.

tf32 keeps 10 bits of the mantissa: whole numbers below 1024 survive it, so the result must be exact there;
`ieee` must not be computed in tf32, which the normal numbers would show.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, Integers, KernelCase, Normal, Tolerance, case, empty


@triton.jit
def input_precision_kernel(a, b, c, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, PRECISION: tl.constexpr):
    m = tl.arange(0, M)
    n = tl.arange(0, N)
    k = tl.arange(0, K)
    a_tile = tl.load(a + m[:, None] * K + k[None, :])
    b_tile = tl.load(b + k[:, None] * N + n[None, :])
    tl.store(c + m[:, None] * N + n[None, :], tl.dot(a_tile, b_tile, input_precision=PRECISION))


@case(precision=["ieee", "tf32x3", "tf32"], k=[16, 64])
def input_precision(precision, k):
    fill = Integers(-500, 501) if precision == "tf32" else Normal()
    three_terms = Tolerance("tf32x3 drops the product of the two low parts: about 2**-20 a term", absolute=k * 2.0**-18)
    return KernelCase(
        input_precision_kernel,
        grid=(1,),
        args=dict(
            a=Buffer((32, k), "fp32", fill=fill), b=Buffer((k, 32), "fp32", fill=fill), c=empty((32, 32), "fp32"),
            M=32, N=32, K=k, PRECISION=precision,
        ),
        reference=lambda a, b: a @ b,
        reduction=k,
        tolerance=three_terms if precision == "tf32x3" else None,
    )  # fmt: skip
