"""A spin lock around a plain read-modify-write of a row; the first holder initialises it.

Without mutual exclusion additions are lost; without forward progress the programs hang. Reduced from the
weight-gradient stage of the layer norm tutorial.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, Constant, Integers, KernelCase, case, empty


@triton.jit
def spin_lock_kernel(x, total, locks, counts, GROUPS: tl.constexpr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    group = pid % GROUPS
    lane = tl.arange(0, BLOCK)
    value = tl.load(x + pid * BLOCK + lane)
    at = total + group * BLOCK + lane
    while tl.atomic_cas(locks + group, 0, 1) == 1:
        pass
    count = tl.load(counts + group, volatile=True)
    if count == 0:
        tl.atomic_xchg(counts + group, 1)
    else:
        value += tl.load(at, volatile=True)
    tl.store(at, value)
    tl.debug_barrier()
    tl.atomic_xchg(locks + group, 0)


@case(programs=[1, 6, 16], groups=[1, 3])
def spin_lock(programs, groups):
    block = 32
    used = min(programs, groups)

    def reference(x, locks, counts):
        sums = [x[group::groups].sum(0) for group in range(used)]
        held = counts.new_tensor([int(group < used) for group in range(groups)])
        return {"total": sums[0].new_tensor([s.tolist() for s in sums]), "locks": locks, "counts": held}

    return KernelCase(
        spin_lock_kernel,
        grid=(programs,),
        args=dict(
            x=Buffer((programs, block), fill=Integers()), total=empty((used, block)),
            locks=Buffer(groups, "int32", fill=Constant(0)), counts=Buffer(groups, "int32", fill=Constant(0)),
            GROUPS=groups, BLOCK=block,
        ),
        reference=reference,
    )  # fmt: skip
