"""Kernels on which the harness itself is tried: what they leave alone, or have in common, is what matters."""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, Launch, case, empty
from harness.cases.dtypes import dtype_named


@triton.jit
def every_other_kernel(x, out, n, BLOCK: tl.constexpr):
    at = 2 * tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, at < n), at < n)


@case(n=[50])
def every_other_element(n):
    """The reference says itself what poison is, so that it does not matter what the harness filled in."""

    def reference(x):
        poison = torch.full((n,), dtype_named("int32").poison, dtype=torch.int64).int()
        return torch.where(torch.arange(n) % 2 == 0, x, poison)

    return KernelCase(
        every_other_kernel,
        grid=(1,),
        args={"x": Buffer(n, "int32"), "out": empty(n, "int32"), "n": n, "BLOCK": 32},
        reference=reference,
        exact_dtype=True,
    )


@triton.jit
def add_to_all_kernel(values, BY: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(values + at, tl.load(values + at) + BY)


@case(n=[64])
def two_programs_of_one_name(n):
    values = Buffer(n, "int32")
    return KernelCase(
        add_to_all_kernel,
        grid=(1,),
        args={"values": values, "BY": 1, "BLOCK": n},
        then=[Launch(add_to_all_kernel, (1,), {"values": values, "BY": 10, "BLOCK": n})],
        reference=lambda values: {"values": values + 11},
    )
