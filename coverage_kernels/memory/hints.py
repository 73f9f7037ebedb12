"""Promises to the compiler (`tl.assume`, `multiple_of`, `max_contiguous`, `max_constancy`) that hold.

They may widen accesses but change no value; the last tile has a tail, so the contiguity is that of addresses
and not of the mask.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def hints_kernel(x, scale, out, n, rows_per_scale, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    tl.assume(n > 0)
    tl.assume(rows_per_scale >= 1)
    first = tl.multiple_of(pid * BLOCK, BLOCK)
    at = tl.max_contiguous(tl.multiple_of(first + tl.arange(0, BLOCK), BLOCK), BLOCK)
    factor_at = tl.max_constancy(at // 4, 4)
    value = tl.load(x + at, mask=at < n, other=0)
    factor = tl.load(scale + factor_at, mask=at < n, other=0)
    tl.store(out + at, value * factor, mask=at < n)


@case(dtype=["fp32", "int16"], n=[64, 50])
def hints(dtype, n):
    return KernelCase(
        hints_kernel,
        grid=(triton.cdiv(n, 32),),
        args=dict(
            x=Buffer(n, dtype),
            scale=Buffer(triton.cdiv(n, 4), dtype),
            out=empty(n, dtype),
            n=n,
            rows_per_scale=4,
            BLOCK=32,
        ),
        reference=lambda x, scale: x * scale.repeat_interleave(4)[:n],
    )
