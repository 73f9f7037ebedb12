"""A flattened loop nest in one branch, and in the other an assumption about its inner bound.

What `tl.assume(n > 0)` says holds where `m == 0`, and the nest runs where it is not. Triton issue 11519: `tritongpu-
fuse-nested-loops` of 3.6.0 to 3.8.0 believes it there too, 3.9.0 does not. Silent: with `n == 0` the inner loop's
body runs all the same.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def flatten_assume_elsewhere_kernel(x, out, m, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    sums = tl.zeros((BLOCK,), tl.float32)
    if m == 0:
        tl.assume(n > 0)
        sums += tl.load(x + at)
    else:
        for _ in tl.range(0, m, flatten=True):
            for row in range(n):
                sums += tl.load(x + row * BLOCK + at)
    tl.store(out + at, sums)


@case(n=[0, 2])
def flatten_assume_elsewhere(n):
    return KernelCase(
        flatten_assume_elsewhere_kernel,
        grid=(1,),
        args=dict(x=Buffer((2, 64)), out=empty(64), m=3, n=n, BLOCK=64),
        reference=lambda x: {"out": 3 * x[:n].sum(0)},
        reduction=6,
    )
