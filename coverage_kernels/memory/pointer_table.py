"""Pointers loaded from a table of addresses in memory, as fused optimisers pass their parameter lists.

The table's order differs from the arguments' order and a tensor appears twice: only the address counts.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, Pointers, case, empty


@triton.jit
def pointer_table_kernel(table, a, b, c, out, n, BLOCK: tl.constexpr):
    entry = tl.program_id(0)
    address = tl.load(table + entry)
    x = address.to(tl.pointer_type(out.dtype.element_ty))
    lane = tl.arange(0, BLOCK)
    value = tl.load(x + lane, mask=lane < n)
    tl.store(out + entry * n + lane, value * (entry + 1), mask=lane < n)


@case(dtype=["fp32", "fp16", "int64"], aligned=[False, True])
def pointer_table(dtype, aligned):
    n = 40
    order = ("c", "a", "b", "a")
    offset = 0 if aligned else 3

    def reference(a, b, c):
        by_name = {"a": a, "b": b, "c": c}
        return {"out": torch.stack([by_name[name] * (i + 1) for i, name in enumerate(order)])}

    return KernelCase(
        pointer_table_kernel,
        grid=(len(order),),
        args=dict(
            table=Buffer(len(order), "int64", fill=Pointers(order)), a=Buffer(n, dtype, offset=offset),
            b=Buffer(n, dtype), c=Buffer(n, dtype, offset=offset), out=empty((len(order), n), dtype), n=n, BLOCK=64,
        ),
        reference=reference,
    )  # fmt: skip
