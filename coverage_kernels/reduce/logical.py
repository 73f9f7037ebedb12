"""Reductions with bit operations: any, all, xor, or, parity.

Written for the harness after Inductor's `any` helper. The inputs are int1 buffers, comparison results
and integers; the neutral element of `all` is one, so a lost `other` shows in the tail.
"""

import functools
import operator

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, Constant, Integers, KernelCase, Special, Values, case, empty


@triton.jit
def either(a, b):
    return a | b


@triton.jit
def both(a, b):
    return a & b


@triton.jit
def any_all_kernel(x, any_out, all_out, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    inside = at < cols
    values = tl.load(x + row * cols + at, mask=inside, other=0) != 0
    tl.store(any_out + row, tl.reduce(values, 0, either))
    tl.store(all_out + row, tl.reduce(values | ~inside, 0, both))


@case(dtype=["int1", "fp32"], fill=["zeros", "ones", "mixed"])
def any_all(dtype, fill):
    values = {"zeros": Constant(0), "ones": Constant(1), "mixed": Values((0, 0, 0, 1, 0) + 40 * (0,) + 30 * (1,))}
    return KernelCase(
        any_all_kernel,
        grid=(9,),
        args=dict(
            x=Buffer((9, 21), dtype, fill=values[fill]),
            any_out=empty(9, "int1"),
            all_out=empty(9, "int1"),
            cols=21,
            BLOCK=32,
        ),
        reference=lambda x: {"any_out": (x != 0).any(1), "all_out": (x != 0).all(1)},
    )


@triton.jit
def any_nan_kernel(x, out, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    seen = tl.zeros([BLOCK], tl.int1)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(x + row * cols + at, mask=at < cols, other=0.0)
        seen = seen | (value != value)
    tl.store(out + row, tl.reduce(seen, 0, either))


@case(cols=[10, 64, 200])
def any_nan(cols):
    """The accumulator of the loop is a block of int1."""
    return KernelCase(
        any_nan_kernel,
        grid=(8,),
        args=dict(
            x=Buffer((8, cols), fill=Values((*range(130), float("nan")))), out=empty(8, "int1"), cols=cols, BLOCK=64
        ),
        reference=lambda x: x.isnan().any(1),
    )


@triton.jit
def xor_or_kernel(x, xor_out, or_out, AXIS: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    tile = tl.load(x + tl.arange(0, BLOCK_M)[:, None] * BLOCK_N + tl.arange(0, BLOCK_N)[None, :])
    kept = tl.arange(0, BLOCK_N if AXIS == 0 else BLOCK_M)
    tl.store(xor_out + kept, tl.xor_sum(tile, axis=AXIS))
    tl.store(or_out + kept, tl.reduce(tile, AXIS, either))


@case(dtype=["int8", "int64", "uint32"], axis=[0, 1])
def xor_or(dtype, axis):
    kept = 16 if axis == 0 else 8

    def folded(x, operation):
        rows = x.numpy() if axis == 0 else x.numpy().T
        return torch.from_numpy(functools.reduce(operation, rows))

    return KernelCase(
        xor_or_kernel,
        grid=(1,),
        args=dict(
            x=Buffer((8, 16), dtype, fill=Special()),
            xor_out=empty(kept, dtype),
            or_out=empty(kept, dtype),
            AXIS=axis,
            BLOCK_M=8,
            BLOCK_N=16,
        ),
        reference=lambda x: {"xor_out": folded(x, operator.xor), "or_out": folded(x, operator.or_)},
    )


@triton.jit
def count_kernel(x, out, cols, threshold, BLOCK: tl.constexpr):
    """int1 values are summed as integers: a count, not a parity."""
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    value = tl.load(x + row * cols + at, mask=at < cols, other=0)
    tl.store(out + row, tl.sum((value > threshold).to(tl.int32), axis=0))


@case(threshold=[-9, 0, 3])
def count_above(threshold):
    return KernelCase(
        count_kernel,
        grid=(7,),
        args=dict(
            x=Buffer((7, 60), "int32", fill=Integers(1, 9)),
            out=empty(7, "int32"),
            cols=60,
            threshold=threshold,
            BLOCK=64,
        ),
        # The four lanes outside hold zero, which is above a negative threshold.
        reference=lambda x: (x > threshold).sum(1) + (4 if threshold < 0 else 0),
    )
