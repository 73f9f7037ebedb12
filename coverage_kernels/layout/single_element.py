"""Tensors of one element that become scalars: the halves of a pair, `.item()`, and a reshape to no axes at all.

The scalar then does what only scalars can: it bounds a loop and offsets a pointer.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, Integers, KernelCase, case, empty


@triton.jit
def pair_to_scalars_kernel(x, out):
    row = tl.program_id(0)
    first, second = tl.split(tl.load(x + row * 2 + tl.arange(0, 2)))
    tl.store(out + row * 2, second)
    tl.store(out + row * 2 + 1, first)


@case(dtype=["fp32", "fp64", "bf16", "int1", "int8", "int32", "int64"])
def pair_to_scalars(dtype):
    return KernelCase(
        pair_to_scalars_kernel,
        grid=(5,),
        args=dict(x=Buffer((5, 2), dtype), out=empty((5, 2), dtype)),
        reference=lambda x: x.flip(1),
    )


@triton.jit
def one_element_kernel(count, x, out, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    terms = tl.load(count + row + tl.arange(0, 1)).item()
    begin = tl.reshape(tl.load(count + row + tl.zeros([1, 1], tl.int32)), []) * stride
    total = tl.zeros([], x.dtype.element_ty)
    for step in range(terms):
        total += tl.sum(tl.load(x + begin + step * BLOCK + tl.arange(0, BLOCK)))
    tl.store(out + row, total)


@case(dtype=["int32", "int64"])
def one_element_bounds_a_loop(dtype):
    """Each program reads how many blocks to sum, and where they begin, from tensors of one element."""

    def reference(count, x):
        blocks = [x[4 * n : 4 * n + 4 * n] for n in count.tolist()]
        return torch.stack([block.sum() for block in blocks])

    return KernelCase(
        one_element_kernel,
        grid=(6,),
        args=dict(
            count=Buffer(6, dtype, fill=Integers(0, 9)), x=Buffer(64, dtype), out=empty(6, dtype), stride=4, BLOCK=4
        ),
        reference=reference,
    )
