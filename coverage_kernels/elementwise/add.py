"""The first kernel anyone writes: a masked 1-D add, over every dtype, tail, offset and grid that matters.

Written for the harness. Covers grids of zero, of one program and of 4096, a last program that is one
element full, buffers that start in the middle of their storage, and integers that stay in their width.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def add_kernel(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    total = tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside)
    tl.store(out + at, total, mask=inside)


@case(
    dtype=["fp64", "fp32", "fp16", "bf16", "int8", "int16", "int32", "int64", "uint8"],
    n=[1000],
)
def add(dtype, n):
    return KernelCase(
        add_kernel,
        grid=(triton.cdiv(n, 256),),
        args=dict(x=Buffer(n, dtype), y=Buffer(n, dtype), out=empty(n, dtype), n=n, BLOCK=256),
        reference=lambda x, y: x + y,
        exact_dtype=True,
    )


@case(n=[0, 255, 256, 257])
def add_at_block_edges(n):
    return KernelCase(
        add_kernel,
        grid=(triton.cdiv(n, 256),),
        args=dict(x=Buffer(n), y=Buffer(n), out=empty(n), n=n, BLOCK=256),
        reference=lambda x, y: x + y,
    )


@case(programs=[4096])
def add_on_a_large_grid(programs):
    """One element is missing from the last of many programs."""
    n = programs * 64 - 1
    return KernelCase(
        add_kernel,
        grid=(programs,),
        args=dict(x=Buffer(n), y=Buffer(n), out=empty(n), n=n, BLOCK=64),
        reference=lambda x, y: x + y,
    )


@case(offset=[1, 4, 13])
def add_at_an_offset(offset):
    """The views begin inside their storage: what lies before element 0 is not the kernel's."""
    return KernelCase(
        add_kernel,
        grid=(4,),
        args=dict(
            x=Buffer(500, offset=offset), y=Buffer(500, offset=2), out=empty(500, offset=offset), n=500, BLOCK=128
        ),
        reference=lambda x, y: x + y,
    )
