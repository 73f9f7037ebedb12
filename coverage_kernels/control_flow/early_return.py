"""`return` in the middle of a kernel, by program id and by a loaded flag: what follows must not happen.

Early returns become `cf` branches rather than `scf.if`; programs that returned leave their rows untouched.
"""

import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, Values, case


@triton.jit
def early_return_kernel(x, flags, out, programs, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    lane = tl.arange(0, BLOCK)
    if pid >= programs:
        return
    flag = tl.load(flags + pid)
    at = pid * BLOCK + lane
    if flag == 0:
        tl.store(out + at, lane.to(tl.float32))
        return
    value = tl.load(x + at)
    if flag > 1:
        tl.store(out + at, -value)
        return
    tl.store(out + at, value + 1)


@case(flags=[(0, 1, 2, 1, 0), (2, 2, 2), (1,)])
def early_return(flags):
    rows, block = 8, 16

    def reference(x, out):
        want = out.clone()
        for row, flag in enumerate(flags):
            want[row] = (want.new_tensor(range(block)), x[row] + 1, -x[row])[flag]
        return {"out": want}

    return KernelCase(
        early_return_kernel,
        grid=(rows,),
        args=dict(
            x=Buffer((rows, block)), flags=Buffer(rows, "int32", fill=Values((*flags, *[9] * (rows - len(flags))))),
            out=Buffer((rows, block)), programs=len(flags), BLOCK=block,
        ),
        reference=reference,
    )  # fmt: skip
