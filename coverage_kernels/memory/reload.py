"""A program loads again what it has just stored: the same lanes, then another arrangement of them.

The second load may not be moved above the store, and sees the rounding that the buffer's dtype did.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def reload_kernel(x, scratch, out, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    lane = tl.arange(0, BLOCK)
    base = pid * BLOCK
    tl.store(scratch + base + lane, tl.load(x + base + lane).to(tl.float32) * 3)
    again = tl.load(scratch + base + lane)
    tl.debug_barrier()
    backwards = tl.load(scratch + base + BLOCK - 1 - lane)
    tl.store(out + base + lane, again.to(tl.float32) - backwards.to(tl.float32))


@case(dtype=["fp32", "fp16", "bf16"])
def reload(dtype):
    programs, block = 3, 64

    def reference(x, scratch):
        stored = (x.float() * 3).to(scratch.dtype)
        return {"scratch": stored, "out": stored.float() - stored.flip(1).float()}

    return KernelCase(
        reload_kernel,
        grid=(programs,),
        args=dict(
            x=Buffer((programs, block), dtype), scratch=empty((programs, block), dtype), out=empty((programs, block)),
            BLOCK=block,
        ),
        reference=reference,
        exact_dtype=True,
    )  # fmt: skip
