"""`tl.atomic_xchg` on tiles, masked: new values go in, old ones come out, other slots stay as they are."""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case


@triton.jit
def exchange_kernel(x, slots, old, n, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    inside = (lane < n) & (lane % 3 != 1)
    previous = tl.atomic_xchg(slots + lane, tl.load(x + lane, mask=inside), mask=inside)
    tl.store(old + lane, previous, mask=inside)


@case(dtype=["int32", "fp32", "int64", "fp64"])
def exchange(dtype):
    n = 29

    def reference(x, slots, old):
        swapped = torch.arange(n) % 3 != 1
        return {"slots": torch.where(swapped, x, slots), "old": torch.where(swapped, slots, old)}

    return KernelCase(
        exchange_kernel,
        grid=(1,),
        args=dict(x=Buffer(n, dtype), slots=Buffer(n, dtype), old=Buffer(n, dtype), n=n, BLOCK=32),
        reference=reference,
    )
