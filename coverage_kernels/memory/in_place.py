"""In-place: the same pointer is input and output, also passed under two names.

Each program reads only what it writes, so any order is right; a load that is a view of memory instead of a
copy sees its own store.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case


@triton.jit
def in_place_kernel(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    before = tl.load(x + at, mask=inside)
    tl.store(y + at, before * 2, mask=inside)
    after = tl.load(x + at, mask=inside)
    tl.store(x + at, after + before, mask=inside)


@case(dtype=["fp32", "bf16", "int16", "uint8"], aliased=[False, True])
def in_place(dtype, aliased):
    n = 100
    x = Buffer(n, dtype, offset=1)
    y = x.view((n,), offset=1) if aliased else Buffer(n, dtype)

    def reference(x, y):
        return {"x": x * 3, "y": x * 3} if aliased else {"x": x * 2, "y": x * 2}

    return KernelCase(
        in_place_kernel,
        grid=(triton.cdiv(n, 32),),
        args=dict(x=x, y=y, n=n, BLOCK=32),
        reference=reference,
    )
