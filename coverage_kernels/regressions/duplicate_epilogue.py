"""A flattened loop nest that carries one value twice: both slots of the yield are the same number.

Right on the `npu` target and with Triton 3.9.0; compiling for NVIDIA GPUs fails in Triton 3.3.0 to 3.8.0
(Triton issue 11620), where `tritongpu-fuse-nested-loops` stops with "PassManager::run failed".
"""

import triton
import triton.language as tl

from harness.cases import KernelCase, case, empty


@triton.jit
def duplicate_epilogue_kernel(out):
    total = 1
    previous = 2
    for _ in tl.range(2, flatten=True):
        for step in range(2):
            total += step
        total += previous
        previous = total
    tl.store(out, total)


@case()
def duplicate_epilogue():
    # 1 + (0 + 1) + 2 = 4, then 4 + (0 + 1) + 4 = 9.
    return KernelCase(
        duplicate_epilogue_kernel,
        grid=(1,),
        args=dict(out=empty(1, "int32")),
        reference=lambda out: out.new_tensor([9]),
    )
