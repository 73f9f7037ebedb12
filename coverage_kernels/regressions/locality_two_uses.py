"""Row sums are added up over a loop, and the total is used twice behind it.

Triton pull request 11682: 3.3.0 to 3.7.1 fail in `tritongpu-optimize-thread-locality`, 3.8.0 compiles it. The pass
expects one use of the loop's result.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def locality_two_uses_kernel(x, out, M: tl.constexpr, K: tl.constexpr, STEPS: tl.constexpr):
    rows = tl.arange(0, M)
    at = rows[:, None] * K + tl.arange(0, K)[None, :]
    sums = tl.zeros((M,), tl.float32)
    for step in range(STEPS):
        sums += tl.sum(tl.load(x + step * M * K + at), axis=1)
    tl.store(out + rows, sums)
    tl.store(out + M + rows, 2 * sums)


@case()
def locality_two_uses():
    steps, m, k = 2, 16, 256
    return KernelCase(
        locality_two_uses_kernel,
        grid=(1,),
        args=dict(x=Buffer((steps, m, k)), out=empty((2, m)), M=m, K=k, STEPS=steps),
        reference=lambda x: {"out": x.sum((0, 2)) * x.new_tensor([[1], [2]])},
        reduction=steps * k,
    )
