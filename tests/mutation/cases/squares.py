"""Square tiles: an axis or an order that is wrong changes no shape, so that only values can tell."""

import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def row_sums_kernel(x, out, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(out + at, tl.sum(tl.load(x + at[:, None] * N + at[None, :]), axis=1))


@case(n=[16])
def row_sums(n):
    return KernelCase(
        row_sums_kernel,
        grid=(1,),
        args={"x": Buffer((n, n)), "out": empty(n), "N": n},
        reference=lambda x: x.sum(1),
        reduction=n,
    )


@triton.jit
def transpose_kernel(x, out, N: tl.constexpr):
    at = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(out + at, tl.trans(tl.load(x + at)))


@case(n=[16])
def transpose(n):
    return KernelCase(
        transpose_kernel, grid=(1,), args={"x": Buffer((n, n)), "out": empty((n, n)), "N": n}, reference=lambda x: x.T
    )
