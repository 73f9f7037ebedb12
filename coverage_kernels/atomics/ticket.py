"""Tickets: the value an atomic add returns decides which work a program does, so none is done twice or left out.

Programs draw until the work runs out, as dynamic schedulers do; who does which item does not matter.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, Constant, KernelCase, case, empty


@triton.jit
def ticket_kernel(x, out, counter, n, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    item = tl.atomic_add(counter, 1)
    while item < n:
        at = item * BLOCK + lane
        tl.store(out + at, tl.load(x + at) * 2 + item)
        item = tl.atomic_add(counter, 1)


@case(items=[0, 1, 13], programs=[1, 4])
def ticket(items, programs):
    block = 16

    def reference(x, counter):
        rows = x[:items] * 2 + counter.new_tensor(range(items))[:, None]
        return {"out": rows, "counter": counter + items + programs}

    return KernelCase(
        ticket_kernel,
        grid=(programs,),
        args=dict(
            x=Buffer((16, block)), out=empty((items, block)), counter=Buffer(1, "int32", fill=Constant(0)), n=items,
            BLOCK=block,
        ),
        reference=reference,
    )  # fmt: skip
