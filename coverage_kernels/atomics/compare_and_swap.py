"""`tl.atomic_cas` on tiles: only slots that hold the expected value change; the old value always comes back."""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, Integers, KernelCase, case, empty


@triton.jit
def compare_and_swap_kernel(slots, expected, desired, old, BLOCK: tl.constexpr):
    lane = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    previous = tl.atomic_cas(slots + lane, tl.load(expected + lane), tl.load(desired + lane))
    tl.store(old + lane, previous)


@case(dtype=["int32", "int64", "uint32"])
def compare_and_swap(dtype):
    n, few = 64, Integers(0, 3)

    def reference(slots, expected, desired):
        same = slots.long() == expected.long()
        return {"slots": torch.where(same, desired.long(), slots.long()).to(slots.dtype), "old": slots}

    return KernelCase(
        compare_and_swap_kernel,
        grid=(2,),
        args=dict(
            slots=Buffer(n, dtype, fill=few), expected=Buffer(n, dtype, fill=few), desired=Buffer(n, dtype),
            old=empty(n, dtype), BLOCK=32,
        ),
        reference=reference,
    )  # fmt: skip
