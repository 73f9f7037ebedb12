"""One loop nest under every option of `tl.range`: stages, unrolling, flattening; none may change the result.

The trip count does not divide the unroll factor and the pipelined loads feed the next address.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, Integers, KernelCase, case, empty


@triton.jit
def range_options_kernel(
    x, order, out, n, INNER: tl.constexpr, STAGES: tl.constexpr, UNROLL: tl.constexpr, FLATTEN: tl.constexpr,
    LICM: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    lane = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for i in tl.range(0, n, num_stages=STAGES, loop_unroll_factor=UNROLL, flatten=FLATTEN, disable_licm=LICM):
        weight = i + 1
        for j in range(INNER):
            row = tl.load(order + i * INNER + j)
            total += tl.load(x + row * BLOCK + lane) * weight
    tl.store(out + lane, total)


OPTIONS = {
    "plain": (None, None, False, False),
    "stages": (3, None, False, False),
    "unroll": (None, 4, False, False),
    "flatten": (None, None, True, False),
    "no_licm": (2, None, False, True),
}


@case(options=list(OPTIONS), n=[0, 1, 7])
def range_options(options, n):
    stages, unroll, flatten, licm = OPTIONS[options]
    inner, block = 3, 64

    def reference(x, order):
        weights = torch.arange(1, n + 1, dtype=torch.float64).repeat_interleave(inner)
        return (x[order[: n * inner].long()] * weights[:, None]).sum(0)

    return KernelCase(
        range_options_kernel,
        grid=(1,),
        args=dict(
            x=Buffer((10, block), fill=Integers(-99, 100)), order=Buffer(21, "int32", fill=Integers(0, 10)),
            out=empty(block), n=n, INNER=inner, STAGES=stages, UNROLL=unroll, FLATTEN=flatten, LICM=licm, BLOCK=block,
        ),
        reference=reference,
    )  # fmt: skip
