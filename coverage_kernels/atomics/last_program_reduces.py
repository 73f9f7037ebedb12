"""A reduction in one launch: every program stores its part, the last one to finish sums the parts.

The counter's old value tells who is last; the parts must be visible to it. Reduced from single-pass
reductions with a retirement counter.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, Constant, KernelCase, case, empty


@triton.jit
def last_program_reduces_kernel(x, parts, counter, out, n, BLOCK: tl.constexpr, PARTS: tl.constexpr):
    pid = tl.program_id(0)
    programs = tl.num_programs(0)
    at = pid * BLOCK + tl.arange(0, BLOCK)
    tl.store(parts + pid, tl.sum(tl.load(x + at, mask=at < n, other=0.0), 0))
    tl.debug_barrier()
    finished = tl.atomic_add(counter, 1, sem="acq_rel")
    if finished == programs - 1:
        part = tl.arange(0, PARTS)
        values = tl.load(parts + part, mask=part < programs, other=0.0, volatile=True)
        tl.store(out, tl.sum(values, 0))
        tl.atomic_xchg(counter, 0)


@case(n=[64, 1000])
def last_program_reduces(n):
    block, programs = 64, triton.cdiv(n, 64)

    def reference(x, counter):
        parts = x.new_tensor([part.sum() for part in x.split(block)])
        return {"parts": parts, "counter": counter, "out": x.sum().reshape(1)}

    return KernelCase(
        last_program_reduces_kernel,
        grid=(programs,),
        args=dict(
            x=Buffer(n), parts=empty(programs), counter=Buffer(1, "int32", fill=Constant(0)), out=empty(1), n=n,
            BLOCK=block, PARTS=16,
        ),
        reference=reference,
        reduction=n,
    )  # fmt: skip
