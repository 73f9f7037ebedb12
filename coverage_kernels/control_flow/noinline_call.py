"""Functions that stay functions (`noinline=True`, `tt.call`): several results, nested calls, loads and stores inside.

Their arguments are scalars and pointers; one callee calls another, one is called twice, one is called by
some programs only, and one writes tiles to memory on its own.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit(noinline=True)
def scaled(x, factor):
    return x * factor


@triton.jit(noinline=True)
def sum_and_difference(x, y):
    doubled = scaled(y, 2.0)
    return x + doubled, x - doubled


@triton.jit(noinline=True)
def write_row(x, out, at, factor, BLOCK: tl.constexpr):
    lane = at * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + lane, tl.load(x + lane) * factor)


@triton.jit
def noinline_call_kernel(x, weights, out, sums, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    total, difference = sum_and_difference(tl.load(weights + 2 * pid), tl.load(weights + 2 * pid + 1))
    if pid == 1:
        difference = scaled(difference, -3.0)
    write_row(x, out, 2 * pid, total, BLOCK)
    write_row(x, out, 2 * pid + 1, difference, BLOCK)
    tl.store(sums + pid, total)


@case(programs=[1, 3])
def noinline_call(programs):
    block = 64
    shape = (2 * programs, block)

    def reference(x, weights):
        first, second = weights[::2], 2 * weights[1::2]
        sign = torch.ones(programs, dtype=torch.float64)
        sign[1:2] = -3.0
        factors = torch.stack([first + second, (first - second) * sign], 1).flatten()
        return {"out": x * factors[:, None], "sums": first + second}

    return KernelCase(
        noinline_call_kernel,
        grid=(programs,),
        args=dict(x=Buffer(shape), weights=Buffer(2 * programs), out=empty(shape), sums=empty(programs), BLOCK=block),
        reference=reference,
        reduction=2,
    )
