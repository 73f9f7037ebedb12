"""The rows of a tile come from two buffers: a vector of base addresses, selected element by element.

Triton issue 10381: for gfx942, 3.6.0 to 3.7.1 fail in `tritonamdgpu-canonicalize-pointers`, 3.8.0 compiles it.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def amd_rows_of_two_buffers_kernel(a, b, out, ROWS: tl.constexpr, D: tl.constexpr):
    rows = tl.arange(0, ROWS)
    cols = tl.arange(0, D)
    bases = tl.where(rows == 1, b, a + rows * 0)
    tl.store(out + rows[:, None] * D + cols[None, :], tl.load(bases[:, None] + cols[None, :]))


@case()
def amd_rows_of_two_buffers():
    return KernelCase(
        amd_rows_of_two_buffers_kernel,
        grid=(1,),
        args=dict(a=Buffer(64), b=Buffer(64), out=empty((4, 64)), ROWS=4, D=64),
        reference=lambda a, b: {"out": torch.stack([a, b, a, a])},
    )
