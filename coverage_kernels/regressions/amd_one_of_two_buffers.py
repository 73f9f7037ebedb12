"""A tile comes from one of two buffers, of which one is known to be smaller than 2 GiB and the other is not.

Nothing is known of an argument that is not specialised. Triton issue 9859: for gfx942, 3.6.0 to 3.7.1 fail in
`tritonamdgpu-canonicalize-pointers`, 3.8.0 compiles it.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit(do_not_specialize=["a"])
def amd_one_of_two_buffers_kernel(a, b, out, first, D: tl.constexpr):
    base = a if first > 0 else b
    at = tl.arange(0, D)
    tl.store(out + at, tl.load(base + at))


@case(first=[0, 3])
def amd_one_of_two_buffers(first):
    return KernelCase(
        amd_one_of_two_buffers_kernel,
        grid=(1,),
        args=dict(a=Buffer(64), b=Buffer(64), out=empty(64), first=first, D=64),
        reference=lambda a, b: {"out": a if first else b},
    )
