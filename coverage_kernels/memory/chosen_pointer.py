"""A pointer chosen at run time: by `if` per program, and by `tl.where` per lane, between two buffers.

The bounds that apply are those of the buffer chosen, not of the first one.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def chosen_pointer_kernel(a, b, by_program, by_lane, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    lane = tl.arange(0, BLOCK)
    x = a if pid % 2 == 0 else b
    tl.store(by_program + pid * n + lane, tl.load(x + lane, mask=lane < n), mask=lane < n)
    mixed = tl.where(lane % 3 == 0, a + lane, b + lane)
    tl.store(by_lane + pid * n + lane, tl.load(mixed, mask=lane < n), mask=lane < n)


@case(dtype=["fp32", "int8"])
def chosen_pointer(dtype):
    programs, n = 3, 50

    def reference(a, b):
        mixed = torch.where(torch.arange(n) % 3 == 0, a, b[:n])
        return {"by_program": torch.stack([a, b[:n], a]), "by_lane": mixed.expand(programs, n)}

    return KernelCase(
        chosen_pointer_kernel,
        grid=(programs,),
        args=dict(
            a=Buffer(n, dtype), b=Buffer(n + 20, dtype, offset=2), by_program=empty((programs, n), dtype),
            by_lane=empty((programs, n), dtype), n=n, BLOCK=64,
        ),
        reference=reference,
    )  # fmt: skip
