"""`tl.device_assert` that holds, compiled in (`debug=True`) and compiled out: the result is the same.

The lanes outside the mask would violate it, so the assertion itself must be masked.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, Integers, KernelCase, case, empty


@triton.jit
def device_assert_kernel(index, x, out, n, BLOCK: tl.constexpr):
    lane = tl.arange(0, BLOCK)
    inside = lane < n
    at = tl.load(index + lane, mask=inside, other=-1)
    at = tl.where(at < 0, at + n, at)
    tl.device_assert(((at >= 0) & (at < n)) | ~inside, "index out of bounds")
    tl.device_assert(n <= BLOCK)
    tl.store(out + lane, tl.load(x + at, mask=inside, other=0.0), mask=inside)


@case(debug=[False, True])
def device_assert(debug):
    n = 50
    return KernelCase(
        device_assert_kernel,
        grid=(1,),
        args=dict(
            index=Buffer(n, "int32", fill=Integers(-n, n)), x=Buffer(n), out=empty(n), n=n, BLOCK=64
        ),
        reference=lambda index, x: x[index.long()],
        options=dict(debug=debug),
    )  # fmt: skip
