"""Which bins of a histogram are not empty.

Triton pull request 11246: on gfx942, `tritonamdgpu-fold-true-cmpi` of 3.8.0 says that all are empty. Silent: its
range analysis takes the counts for an empty range, and folds every comparison with them.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, Integers, KernelCase, case, empty


@triton.jit
def amd_histogram_mask_kernel(x, out, N: tl.constexpr, BINS: tl.constexpr):
    counts = tl.histogram(tl.load(x + tl.arange(0, N)), BINS)
    tl.store(out + tl.arange(0, BINS), tl.where(counts > 0, 1, 0))


@case()
def amd_histogram_mask():
    return KernelCase(
        amd_histogram_mask_kernel,
        grid=(1,),
        args=dict(x=Buffer(64, "int32", fill=Integers(0, 4)), out=empty(16, "int32"), N=64, BINS=16),
        reference=lambda x: {"out": (torch.bincount(x.long(), minlength=16) > 0).to(torch.int32)},
    )
