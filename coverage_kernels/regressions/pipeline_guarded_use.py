"""A loop loads where to store, one address at a time, and stores there under a condition it does not know.

Triton pull request 8139: `tritongpu-pipeline` of 3.3.0 to 3.5.1 gives the pipelined load one buffer for two
addresses that are alive at a time, so that each store goes where the next one belongs; 3.6.0 is right. Silent. The
branch is what delays the use of the address past the next copy.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, Values, case, empty


@triton.jit
def pipeline_guarded_use_kernel(index, out, n, wanted, STAGES: tl.constexpr):
    for step in tl.range(0, n, num_stages=STAGES):
        at = tl.load(index + step + tl.arange(0, 1))
        if wanted > 0:
            tl.store(out + at, step)


@case(stages=[1, 2, 3])
def pipeline_guarded_use(stages):
    n = 17
    order = tuple(5 * step % n for step in range(n))
    return KernelCase(
        pipeline_guarded_use_kernel,
        grid=(1,),
        args=dict(
            index=Buffer(n, "int32", fill=Values(order)), out=empty(n, "int32"), n=n, wanted=3, STAGES=stages
        ),
        reference=lambda index: {"out": index.argsort().to(index.dtype)},
    )  # fmt: skip
