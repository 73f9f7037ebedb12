"""A buffer read through a pointer of another type: the bits of fp32 as int32, and int32 as pairs of int16.

The address counts bytes, so the element size of the new type must be used for the offsets.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, Special, case, empty


@triton.jit
def bitcast_pointer_kernel(x, out, n, BLOCK: tl.constexpr):
    view = x.to(tl.pointer_type(out.dtype.element_ty), bitcast=True)
    lane = tl.arange(0, BLOCK)
    tl.store(out + lane, tl.load(view + lane, mask=lane < n), mask=lane < n)


@case(dtypes=[("fp32", "int32"), ("int32", "int16"), ("fp16", "uint8"), ("int64", "fp64")])
def bitcast_pointer(dtypes):
    source, target = dtypes
    x, n = Buffer(24, source, fill=Special()), 24 * Buffer(1, source).dtype.itemsize // Buffer(1, target).dtype.itemsize
    return KernelCase(
        bitcast_pointer_kernel,
        grid=(1,),
        args=dict(x=x, out=empty(n, target), n=n, BLOCK=64),
        reference=lambda x, out: torch.clone(x.view(out.dtype)),
        exact_dtype=True,
    )
