"""A pointer that two branches move, one of which may return before they meet again.

Triton issue 11321: for gfx942, 3.6.0 to 3.7.1 fail in `tritonamdgpu-canonicalize-pointers`, 3.8.0 compiles it.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, Constant, KernelCase, case


@triton.jit
def amd_pointer_past_return_kernel(x, out, branch, stop, D: tl.constexpr):
    at = tl.arange(0, D)
    if branch > 0:
        if stop > 0:
            tl.store(out + at, tl.load(x + at))
            return
        row = out + D
    else:
        row = out + 2 * D
    tl.store(row + at, tl.load(x + at))


@case(branch=[0, 3], stop=[0, 3])
def amd_pointer_past_return(branch, stop):
    row = 2 if not branch else 0 if stop else 1

    def reference(x):
        rows = torch.zeros((3, 64), dtype=x.dtype)
        rows[row] = x
        return {"out": rows}

    return KernelCase(
        amd_pointer_past_return_kernel,
        grid=(1,),
        args=dict(x=Buffer(64), out=Buffer((3, 64), fill=Constant(0)), branch=branch, stop=stop, D=64),
        reference=reference,
    )
