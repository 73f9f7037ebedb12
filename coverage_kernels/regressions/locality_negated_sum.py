"""A loop carries the negated row sums of its last step: the sum goes into an op with one operand.

Triton issue 11631: 3.3.0 to 3.8.0 fail in `tritongpu-optimize-thread-locality`, 3.9.0 compiles it. The pass takes
whatever uses the sum for the addition that accumulates it.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def locality_negated_sum_kernel(x, out, M: tl.constexpr, K: tl.constexpr, STEPS: tl.constexpr):
    rows = tl.arange(0, M)
    at = rows[:, None] * K + tl.arange(0, K)[None, :]
    last = tl.zeros((M,), tl.float32)
    for step in range(STEPS):
        last = -tl.sum(tl.load(x + step * M * K + at), axis=1)
    tl.store(out + rows, last)


@case()
def locality_negated_sum():
    steps, m, k = 2, 16, 256
    return KernelCase(
        locality_negated_sum_kernel,
        grid=(1,),
        args=dict(x=Buffer((steps, m, k)), out=empty(m), M=m, K=k, STEPS=steps),
        reference=lambda x: {"out": -x[-1].sum(1)},
        reduction=k,
    )
