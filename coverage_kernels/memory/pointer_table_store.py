"""Stores through a table of addresses: each program scales one tensor of a list in place (foreach kernels).

Lengths differ and come from memory too, so a pointer and its length must stay together.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, Pointers, Values, case


@triton.jit
def pointer_table_store_kernel(table, lengths, a, b, c, BLOCK: tl.constexpr):
    entry = tl.program_id(0)
    x = tl.load(table + entry).to(tl.pointer_type(tl.float32))
    length = tl.load(lengths + entry)
    for start in range(0, length, BLOCK):
        at = start + tl.arange(0, BLOCK)
        tl.store(x + at, tl.load(x + at, mask=at < length) * (entry + 2), mask=at < length)


@case(lengths=[(5, 64, 33), (0, 1, 100)])
def pointer_table_store(lengths):
    buffers = {name: Buffer(100) for name in "abc"}

    def reference(a, b, c):
        changed = {"a": a.clone(), "b": b.clone(), "c": c.clone()}
        for entry, (name, length) in enumerate(zip("cab", lengths, strict=True)):
            changed[name][:length] *= entry + 2
        return changed

    return KernelCase(
        pointer_table_store_kernel,
        grid=(3,),
        args=dict(
            table=Buffer(3, "int64", fill=Pointers(("c", "a", "b"))), lengths=Buffer(3, "int32", fill=Values(lengths)),
            **buffers, BLOCK=32,
        ),
        reference=reference,
    )  # fmt: skip
