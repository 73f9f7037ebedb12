"""Pointers as numbers: their alignment, the distance between two, and an address rounded down and used again.

An address by itself differs from run to run; what a case says about alignment and layout does not.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, Integers, KernelCase, case, empty


@triton.jit
def pointer_alignment_kernel(x, remainder, distance, exists, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    address = (x + at * 3).to(tl.int64)
    tl.store(remainder + at, (address % 16).to(tl.int32))
    # A negative distance, in bytes.
    tl.store(distance + at, (x - at).to(tl.int64) - x.to(tl.int64))
    tl.store(exists + at, (x + at).to(tl.int1))


@case(dtype=["int8", "fp16", "fp32", "fp64"], alignment=[8, 16])
def pointer_alignment(dtype, alignment):
    """8 is exact (8 and not 16), 16 means 16 or more: both say the remainder."""
    x = Buffer(64, dtype, alignment=alignment)
    size = x.dtype.itemsize

    def reference():
        lane = torch.arange(16)
        return {
            "remainder": (alignment % 16 + lane * 3 * size) % 16,
            "distance": -lane * size,
            "exists": torch.ones(16, dtype=torch.bool),
        }

    return KernelCase(
        pointer_alignment_kernel,
        grid=(1,),
        args=dict(
            x=x, remainder=empty(16, "int32"), distance=empty(16, "int64"), exists=empty(16, "int1"), BLOCK=16,
        ),
        reference=reference,
    )  # fmt: skip


@triton.jit
def round_down_kernel(x, start, out, BLOCK: tl.constexpr):
    """Loads from the 16-byte line that an element lies in, as hand-vectorised kernels do before a ragged start."""
    row = tl.program_id(0)
    element = x + tl.load(start + row)
    line = (element.to(tl.int64) & -16).to(tl.pointer_type(x.dtype.element_ty))
    at = tl.arange(0, BLOCK)
    tl.store(out + row * BLOCK + at, tl.load(line + at))


@case(dtype=["fp32", "int16"])
def round_down_to_a_line(dtype):
    rows, line = 13, 16 // (4 if dtype == "fp32" else 2)

    def reference(x, start):
        return torch.stack([x[first // line * line :][:line] for first in start.tolist()])

    return KernelCase(
        round_down_kernel,
        grid=(rows,),
        args=dict(
            x=Buffer(64, dtype), start=Buffer(rows, "int32", fill=Integers(0, 64)), out=empty((rows, line), dtype),
            BLOCK=line,
        ),
        reference=reference,
    )  # fmt: skip
