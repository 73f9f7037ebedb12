"""Masked loads with `other` as a scalar, as a tile and as NaN, and without it where the lanes are not used.

Masked lanes point far outside the buffer, on both sides; `other` takes the dtype of the buffer.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def masked_load_kernel(x, out, n, far, OTHER: tl.constexpr, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    inside = (lane % 4 != 2) & (lane < n)
    at = tl.where(inside, lane, tl.where(lane % 2 == 0, -far, far))
    if OTHER == "scalar":
        value = tl.load(x + at, mask=inside, other=7)
    elif OTHER == "tile":
        value = tl.load(x + at, mask=inside, other=lane)
    elif OTHER == "nan":
        value = tl.load(x + at, mask=inside, other=float("nan"))
    else:
        value = tl.where(inside, tl.load(x + at, mask=inside), 1)
    tl.store(out + lane, value)


@case(other=["scalar", "tile", "nan", "unused"], dtype=["fp32", "bf16", "int32"])
def masked_load(other, dtype):
    other = "scalar" if (other, dtype) == ("nan", "int32") else other
    n, block = 50, 64

    def reference(x):
        lane = torch.arange(block)
        absent = {"scalar": 7, "tile": lane, "nan": float("nan"), "unused": 1}[other]
        padded = torch.cat([x, x.new_zeros(block - n)])
        return torch.where((lane % 4 != 2) & (lane < n), padded, torch.as_tensor(absent).to(x.dtype))

    return KernelCase(
        masked_load_kernel,
        grid=(1,),
        args=dict(x=Buffer(n, dtype, offset=2), out=empty(block, dtype), n=n, far=1 << 20, OTHER=other, BLOCK=block),
        reference=reference,
    )
