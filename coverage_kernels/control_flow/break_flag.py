"""A loop that stops early the only way Triton allows: a flag carried round the loop, in `while` and in `for`.

Finds the first negative element of each row; rows without one end at the bound. After the flag is set no
further load may count, and the index must be the first and not the last.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, Normal, case, empty


@triton.jit
def break_flag_kernel(x, out, cols, USE_WHILE: tl.constexpr):
    row = tl.program_id(0)
    found = False
    index = 0
    if USE_WHILE:
        while index < cols and not found:
            found = tl.load(x + row * cols + index) < 0
            if not found:
                index += 1
    else:
        index = cols
        for i in range(cols):
            if not found:
                found = tl.load(x + row * cols + i) < 0
                if found:
                    index = i
    tl.store(out + row, index)


@case(use_while=[False, True], mean=[0.0, 1.5, 99.0])
def break_flag(use_while, mean):
    rows, cols = 9, 21

    def reference(x):
        negative = torch.cat([x < 0, torch.ones(rows, 1, dtype=torch.bool)], 1)
        return negative.int().argmax(1).int()

    return KernelCase(
        break_flag_kernel,
        grid=(rows,),
        args=dict(
            x=Buffer((rows, cols), fill=Normal(mean=mean)), out=empty(rows, "int32"), cols=cols, USE_WHILE=use_while
        ),
        reference=reference,
    )
