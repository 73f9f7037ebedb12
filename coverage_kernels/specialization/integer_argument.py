"""One kernel, one integer argument, many values: Triton specialises 1, multiples of 16, and widths.

Written for the harness. 1 becomes a compile-time constant, a multiple of 16 promises divisibility, and
what does not fit 32 bits is passed in 64: a cache that confuses two of them gives wrong addresses.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, Launch, case, empty


@triton.jit
def scaled_copy_kernel(x, out, n, step, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at * step, mask=at < n) + step, mask=at < n)


@case(step=[0, 1, 2, 16, 17])
def step_of_a_load(step):
    """0 reads one element throughout, 1 is folded, 16 promises alignment, 17 promises nothing."""
    return KernelCase(
        scaled_copy_kernel,
        grid=(2,),
        args=dict(x=Buffer(100 * max(1, step)), out=empty(100), n=100, step=step, BLOCK=64),
        reference=lambda x: x[torch.arange(100) * step] + step,
    )


@case(n=[0, 1, 16, 17])
def length_of_a_loop(n):
    return KernelCase(
        sum_to_kernel,
        grid=(3,),
        args=dict(x=Buffer((3, max(1, n)), "int32"), out=empty(3, "int32"), n=n, stride=max(1, n)),
        reference=lambda x: x[:, :n].sum(1),
    )


@triton.jit
def sum_to_kernel(x, out, n, stride):
    row = tl.program_id(0)
    total = 0
    for i in range(n):
        total += tl.load(x + row * stride + i)
    tl.store(out + row, total)


@triton.jit
def write_value_kernel(out, value, slot):
    tl.store(out + slot, value)


@case(order=[(1, 16, 17, 0), (0, 17, 16, 1), (17, 1, 0, 16)])
def specialisations_in_turn(order):
    """Four launches of one kernel inside one case: each value must get its own binary, not its neighbour's."""
    out = empty(4, "int64")
    first, *rest = (dict(out=out, value=value, slot=i) for i, value in enumerate(order))
    return KernelCase(
        write_value_kernel,
        grid=(1,),
        args=first,
        then=[Launch(write_value_kernel, (1,), arguments) for arguments in rest],
        reference=lambda out: torch.tensor(order),
    )


@case(value=[-1, -16, 2**31 - 1, -(2**31), 2**31, 2**32 + 16, -(2**40), 2**63 - 1])
def width_of_an_integer(value):
    """The argument's type follows its value: int32 up to 2**31 - 1, then int64."""
    return KernelCase(
        write_value_kernel,
        grid=(1,),
        args=dict(out=empty(1, "int64"), value=value, slot=0),
        reference=lambda out: torch.tensor([value]),
    )


@triton.jit(do_not_specialize=["n"])
def unspecialised_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n, other=-1), mask=at < BLOCK)


@case(n=[0, 1, 16, 17])
def argument_left_alone(n):
    """With do_not_specialize the argument stays an argument, 1 and 16 included."""

    def reference(x):
        return torch.where(torch.arange(32) < n, x, -1)

    return KernelCase(
        unspecialised_kernel,
        grid=(1,),
        args=dict(x=Buffer(32, "int32"), out=empty(32, "int32"), n=n, BLOCK=32),
        reference=reference,
    )


@triton.jit
def promised_multiple_kernel(x, out, n, BLOCK: tl.constexpr):
    """The hints change nothing about the values."""
    start = tl.multiple_of(tl.program_id(0) * BLOCK, BLOCK)
    at = tl.max_contiguous(tl.multiple_of(start + tl.arange(0, BLOCK), BLOCK), BLOCK)
    tl.assume(n > 0)
    tl.store(out + at, tl.load(x + at, mask=at < n) * 2, mask=at < n)


@case(n=[1, 100, 128])
def promised_multiple(n):
    return KernelCase(
        promised_multiple_kernel,
        grid=(triton.cdiv(n, 64),),
        args=dict(x=Buffer(n), out=empty(n), n=n, BLOCK=64),
        reference=lambda x: 2 * x,
    )
