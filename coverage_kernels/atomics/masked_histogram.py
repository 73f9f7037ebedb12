"""A histogram by atomics: many lanes of one tile hit the same bin, masked lanes and negative bins hit none.

Lanes outside the mask hold addresses outside the buffer. Also with each memory order and scope spelled out,
which must not change the counts.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, Constant, Integers, KernelCase, case


@triton.jit
def masked_histogram_kernel(x, bins, n, SEM: tl.constexpr, SCOPE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n, other=-1)
    tl.atomic_add(bins + value, 1, mask=value >= 0, sem=SEM, scope=SCOPE)


@case(order=[(None, None), ("relaxed", "gpu"), ("acquire", "sys"), ("release", "gpu"), ("acq_rel", "sys")])
def masked_histogram(order):
    n, count = 300, 7
    sem, scope = order

    def reference(x, bins):
        return {"bins": bins + torch.bincount(x[x >= 0].long(), minlength=count).int()}

    return KernelCase(
        masked_histogram_kernel,
        grid=(triton.cdiv(n, 64),),
        args=dict(
            x=Buffer(n, "int16", fill=Integers(-2, count)), bins=Buffer(count, "int32", fill=Constant(3)),
            n=n, SEM=sem, SCOPE=scope, BLOCK=64,
        ),
        reference=reference,
    )  # fmt: skip
