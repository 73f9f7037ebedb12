"""Vectors of bools beside scalar bools: compared, selected by, used as masks.

Reduced from compilers that splat an i1 scalar through a wider type and compare it with the vector's own
i1: true as -1 on one side, as 1 on the other.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, Integers, KernelCase, case, empty


@triton.jit
def compare_with_scalar_kernel(x, equal, unequal, both, n, flag, threshold, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    vector = tl.load(x + at, mask=inside, other=0) > threshold
    tl.store(equal + at, vector == flag, mask=inside)
    tl.store(unequal + at, vector != flag, mask=inside)
    tl.store(both + at, vector & flag, mask=inside)


@case(flag=[False, True], output=["int1", "int8", "int32"])
def bool_vector_with_scalar(flag, output):
    """Stored as int32, a true must be 1, never -1."""
    to = {"int1": torch.bool, "int8": torch.int8, "int32": torch.int32}[output]
    return KernelCase(
        compare_with_scalar_kernel,
        grid=(2,),
        args=dict(
            x=Buffer(100, "int32"),
            equal=empty(100, output),
            unequal=empty(100, output),
            both=empty(100, output),
            n=100,
            flag=flag,
            threshold=0,
            BLOCK=64,
        ),
        reference=lambda x: {
            "equal": ((x > 0) == flag).to(to),
            "unequal": ((x > 0) != flag).to(to),
            "both": ((x > 0) & flag).to(to),
        },
    )


@triton.jit
def loaded_scalar_kernel(flags, x, out, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    flag = tl.load(flags + row)
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row * cols + at, mask=(at < cols) & flag, other=7)
    tl.store(out + row * cols + at, tl.where((value > 0) == flag, value, -value), mask=at < cols)


@case(source=["int1", "int8"])
def scalar_loaded_from_memory(source):
    """The scalar is part of a mask, and differs by program."""

    def reference(flags, x):
        flag = (flags != 0)[:, None]
        value = torch.where(flag, x, 7)
        return torch.where((value > 0) == flag, value, -value)

    return KernelCase(
        loaded_scalar_kernel if source == "int1" else loaded_integer_kernel,
        grid=(8,),
        args=dict(
            flags=Buffer(8, source, fill=Integers(0, 2)),
            x=Buffer((8, 20), "int32"),
            out=empty((8, 20), "int32"),
            cols=20,
            BLOCK=32,
        ),
        reference=reference,
    )


@triton.jit
def loaded_integer_kernel(flags, x, out, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    flag = tl.load(flags + row) != 0
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row * cols + at, mask=(at < cols) & flag, other=7)
    tl.store(out + row * cols + at, tl.where((value > 0) == flag, value, -value), mask=at < cols)


@triton.jit
def scalar_condition_kernel(x, out, n, limit, invert, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    at = program * BLOCK + tl.arange(0, BLOCK)
    scalar = (program < limit) != invert
    vector = tl.load(x + at, mask=at < n, other=0) < 0
    tl.store(out + at, tl.where(scalar, vector, ~vector), mask=at < n)


@case(limit=[0, 2], invert=[False, True])
def select_by_scalar(limit, invert):
    """A scalar condition from the program id picks between two bool vectors."""

    def reference(x):
        scalar = (torch.arange(200) // 64 < limit) != invert
        return torch.where(scalar, x < 0, x >= 0)

    return KernelCase(
        scalar_condition_kernel,
        grid=(4,),
        args=dict(x=Buffer(200, "int32"), out=empty(200, "int1"), n=200, limit=limit, invert=invert, BLOCK=64),
        reference=reference,
    )
