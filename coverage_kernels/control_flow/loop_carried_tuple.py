"""Values that trade places from one iteration to the next: Fibonacci pairs, and tiles rotated by three.

A yield in the wrong order, or one that reads a value already overwritten, gives the wrong pair.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def loop_carried_tuple_kernel(x, out, fibonacci, n, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    a = tl.load(x + lane)
    b = tl.load(x + BLOCK + lane)
    c = tl.load(x + 2 * BLOCK + lane)
    low = tl.program_id(0).to(tl.int64)
    high = low + 1
    for _ in range(n):
        a, b, c = b, c, a
        low, high = high, low + high
    tl.store(out + lane, a)
    tl.store(out + BLOCK + lane, b)
    tl.store(out + 2 * BLOCK + lane, c)
    tl.store(fibonacci, low)
    tl.store(fibonacci + 1, high)


@case(n=[0, 1, 2, 50], dtype=["fp32", "int8"])
def loop_carried_tuple(n, dtype):
    block = 16

    def reference(x):
        low, high = 0, 1
        for _ in range(n):
            low, high = high, low + high
        return {"out": x.roll(-n, 0), "fibonacci": torch.tensor([low, high])}

    return KernelCase(
        loop_carried_tuple_kernel,
        grid=(1,),
        args=dict(
            x=Buffer((3, block), dtype), out=empty((3, block), dtype), fibonacci=empty(2, "int64"), n=n, BLOCK=block
        ),
        reference=reference,
    )
