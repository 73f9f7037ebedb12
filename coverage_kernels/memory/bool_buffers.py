"""i1 in memory: a byte an element. Loaded as a mask, negated, combined, stored; also used to mask a store."""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def bool_buffers_kernel(a, b, x, both, differ, kept, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    left = tl.load(a + at, mask=inside, other=False)
    right = tl.load(b + at, mask=inside, other=True)
    tl.store(both + at, left & right, mask=inside)
    tl.store(differ + at, left != right, mask=inside)
    tl.store(kept + at, tl.load(x + at, mask=left), mask=left & inside)


@case(offset=[0, 1])
def bool_buffers(offset):
    n = 77
    return KernelCase(
        bool_buffers_kernel,
        grid=(triton.cdiv(n, 32),),
        args=dict(
            a=Buffer(n, "int1", offset=offset), b=Buffer(n, "int1", offset=offset), x=Buffer(n),
            both=empty(n, "int1"), differ=empty(n, "int1", offset=offset), kept=Buffer(n), n=n, BLOCK=32,
        ),
        reference=lambda a, b, x, kept: {"both": a & b, "differ": a ^ b, "kept": torch.where(a, x, kept)},
    )  # fmt: skip
