"""Row sums are added up over a loop that also stores what it has so far, before each step.

Triton issue 11836: `tritongpu-optimize-thread-locality` of 3.3.0 to 3.8.0 gets it wrong, 3.9.0 right. Silent: only
the stored sums are wrong, the last one is right. The pass keeps one partial sum per thread in the accumulator and
adds them up after the loop, although the loop reads the accumulator itself.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def locality_running_sums_kernel(x, before, total, M: tl.constexpr, K: tl.constexpr, STEPS: tl.constexpr):
    rows = tl.arange(0, M)
    at = rows[:, None] * K + tl.arange(0, K)[None, :]
    sums = tl.zeros((M,), tl.float32)
    for step in range(STEPS):
        tl.store(before + step * M + rows, sums)
        sums += tl.sum(tl.load(x + step * M * K + at), axis=1)
    tl.store(total + rows, sums)


@case()
def locality_running_sums():
    steps, m, k = 4, 16, 256

    def reference(x):
        sums = x.sum(2).cumsum(0)
        return {"before": torch.cat([torch.zeros_like(sums[:1]), sums[:-1]]), "total": sums[-1]}

    return KernelCase(
        locality_running_sums_kernel,
        grid=(1,),
        args=dict(x=Buffer((steps, m, k)), before=empty((steps, m)), total=empty(m), M=m, K=k, STEPS=steps),
        reference=reference,
        reduction=steps * k,
    )
