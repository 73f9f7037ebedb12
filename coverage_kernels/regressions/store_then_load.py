"""A loop that stores a tile and reads the same addresses back, pipelined over 1, 2 and 3 stages.

The read belongs behind the store, whatever the number of stages. Right on the `npu` target; on NVIDIA GPUs
(compute capability 8.0 and 9.0) every release from 3.3.0 to 3.9.0 starts the copy of the read-back before
the store for 2 and 3 stages, so that `y` holds what was there before. Silent. `o` starts as zeros and not as poison to
keep that failure a wrong value in every checker.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, Constant, KernelCase, case, empty


@triton.jit
def store_then_load_kernel(
    x, o, y, M, N, BM: tl.constexpr, BN: tl.constexpr, PROGRAMS: tl.constexpr, STAGES: tl.constexpr
):  # fmt: skip
    for tile in tl.range(tl.program_id(0), M // BM, PROGRAMS, num_stages=STAGES):
        rows = tile * BM + tl.arange(0, BM)
        at = rows[:, None] * N + tl.arange(0, BN)[None, :]
        tl.store(o + at, tl.load(x + at) * 2.0)
        tl.store(y + at, tl.load(o + at) + 1.0)


@case(stages=[1, 2, 3])
def store_then_load(stages):
    shape = (512, 64)
    return KernelCase(
        store_then_load_kernel,
        grid=(4,),
        args=dict(
            x=Buffer(shape), o=Buffer(shape, fill=Constant(0)), y=empty(shape), M=512, N=64, BM=32, BN=64, PROGRAMS=4,
            STAGES=stages,
        ),
        reference=lambda x: {"o": 2 * x, "y": 2 * x + 1},
    )  # fmt: skip
