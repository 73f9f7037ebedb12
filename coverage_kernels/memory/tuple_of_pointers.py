"""A tuple argument of pointers, walked at compile time: one kernel concatenates any number of inputs.

Each item has its own dtype; indexing the tuple by a constant must pick the item of that place.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def tuple_of_pointers_kernel(xs, out, n, COUNT: tl.constexpr, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    for i in tl.static_range(COUNT):
        value = tl.load(xs[i] + lane, mask=lane < n, other=0)
        tl.store(out + i * n + lane, value.to(tl.float32) + i, mask=lane < n)


@case(dtypes=[("fp32", "fp16", "int8"), ("bf16",)])
def tuple_of_pointers(dtypes):
    n = 30

    def reference(xs):
        return {"out": torch.stack([x.double() + i for i, x in enumerate(xs)])}

    return KernelCase(
        tuple_of_pointers_kernel,
        grid=(1,),
        args=dict(
            xs=tuple(Buffer(n, dtype) for dtype in dtypes),
            out=empty((len(dtypes), n)),
            n=n,
            COUNT=len(dtypes),
            BLOCK=32,
        ),
        reference=reference,
    )
