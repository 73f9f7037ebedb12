"""A flattened loop nest whose inner bound is loaded from memory, in an outer loop that may not run at all.

With `m == 0` the bound must not be loaded: its address is outside of every buffer. Triton issue 11601: 3.6.0 to 3.9.0
load it, because of `tritongpu-fuse-nested-loops`, which moves the load in front of the nest.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, Values, case, empty


@triton.jit
def flatten_bound_in_memory_kernel(x, bounds, out, m, bound, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    sums = tl.zeros((BLOCK,), tl.float32)
    for _ in tl.range(0, m, flatten=True):
        for row in range(tl.load(bounds + bound)):
            sums += tl.load(x + row * BLOCK + at)
    tl.store(out + at, sums)


@case(m=[0, 2])
def flatten_bound_in_memory(m):
    return KernelCase(
        flatten_bound_in_memory_kernel,
        grid=(1,),
        args=dict(
            x=Buffer((3, 64)), bounds=Buffer(1, "int32", fill=Values((3,))), out=empty(64), m=m,
            bound=0 if m else 1 << 20, BLOCK=64,
        ),
        reference=lambda x: {"out": m * x.sum(0)},
        reduction=6,
    )  # fmt: skip
