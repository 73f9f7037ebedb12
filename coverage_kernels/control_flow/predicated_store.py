"""One program alone writes a header while all programs stream data that has nothing to do with it.

The predicate must guard that store only: sinking the other stores into the branch, or hoisting this one
out, writes the wrong rows or the wrong header.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def predicated_store_kernel(x, out, header, writer, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    at = pid * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at)
    if pid == writer:
        tl.store(header, tl.num_programs(0))
        tl.store(header + 1, pid * 100)
    tl.store(out + at, value * 2 + pid)


@case(writer=[0, 3], dtype=["fp32", "int64"])
def predicated_store(writer, dtype):
    programs, block = 5, 8

    def reference(x):
        rows = torch.arange(programs)[:, None]
        return {"out": x * 2 + rows, "header": torch.tensor([programs, writer * 100], dtype=torch.int32)}

    return KernelCase(
        predicated_store_kernel,
        grid=(programs,),
        args=dict(
            x=Buffer((programs, block), dtype), out=empty((programs, block), dtype), header=empty(2, "int32"),
            writer=writer, BLOCK=block,
        ),
        reference=reference,
    )  # fmt: skip
