"""Maximum and minimum of rows, and where they are: NaN, ties, unsigned extremes.

Written for the harness. `tl.max` ignores NaN; Inductor's `max2` lets NaN win, as torch's amax does.
Indices of equal values are the leftmost, so that one answer is right.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, Constant, Integers, KernelCase, Special, Values, case, empty


@triton.jit
def extremes_kernel(x, greatest, least, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    # Lanes outside repeat the row's first element: neutral for both extremes in every dtype.
    values = tl.load(x + row * cols + tl.where(at < cols, at, 0))
    tl.store(greatest + row, tl.max(values, axis=0).to(greatest.dtype.element_ty))
    tl.store(least + row, tl.min(values, axis=0).to(least.dtype.element_ty))


@case(dtype=["fp64", "fp32", "fp16", "bf16"])
def extremes_ignore_nan(dtype):
    """About one element in forty is NaN; no row is all NaN."""
    return KernelCase(
        extremes_kernel,
        grid=(20,),
        args=dict(
            x=Buffer((20, 100), dtype, fill=Special()),
            greatest=empty(20, dtype),
            least=empty(20, dtype),
            cols=100,
            BLOCK=128,
        ),
        reference=lambda x: {
            "greatest": torch.where(x.isnan(), float("-inf"), x).amax(1),
            "least": torch.where(x.isnan(), float("inf"), x).amin(1),
        },
    )


@case(n=[5])
def extremes_of_nothing_but_nan(n):
    return KernelCase(
        extremes_kernel,
        grid=(n,),
        args=dict(x=Buffer((n, 40), fill=Constant(float("nan"))), greatest=empty(n), least=empty(n), cols=40, BLOCK=64),
        reference=lambda x: {"greatest": x[:, 0], "least": x[:, 0]},
    )


@case(dtype=["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def integer_extremes(dtype):
    return KernelCase(
        extremes_kernel,
        grid=(20,),
        args=dict(
            x=Buffer((20, 33), dtype, fill=Special()),
            greatest=empty(20, dtype),
            least=empty(20, dtype),
            cols=33,
            BLOCK=64,
        ),
        reference=lambda x: {
            "greatest": torch.from_numpy(x.numpy().max(1)),
            "least": torch.from_numpy(x.numpy().min(1)),
        },
    )


@triton.jit
def nan_maximum(a, b):
    take_a = (a > b) | (a != a)
    return tl.where(take_a, a, b)


@triton.jit
def nan_maximum_kernel(x, out, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, BLOCK)
    values = tl.load(x + row * cols + at, mask=at < cols, other=float("-inf"))
    tl.store(out + row, tl.reduce(values, 0, nan_maximum))


@case(dtype=["fp32", "fp16", "fp64"])
def maximum_lets_nan_win(dtype):
    return KernelCase(
        nan_maximum_kernel,
        grid=(40,),
        args=dict(x=Buffer((40, 20), dtype, fill=Special()), out=empty(40, dtype), cols=20, BLOCK=32),
        reference=lambda x: x.amax(1),
    )


@triton.jit
def argument_kernel(x, highest, lowest, value, AXIS: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    m = tl.arange(0, BLOCK_M)[:, None]
    n = tl.arange(0, BLOCK_N)[None, :]
    tile = tl.load(x + m * BLOCK_N + n)
    best, index = tl.max(tile, axis=AXIS, return_indices=True)
    kept = tl.arange(0, BLOCK_N if AXIS == 0 else BLOCK_M)
    tl.store(highest + kept, index)
    tl.store(value + kept, best)
    tl.store(lowest + kept, tl.argmin(tile, axis=AXIS))


@case(axis=[0, 1], dtype=["fp16", "fp32", "int64"])
def argmax_with_ties(axis, dtype):
    """Five distinct values over rows of 32: every extreme is tied, the leftmost index is the answer."""
    kept = 32 if axis == 0 else 16

    def reference(x):
        # torch does not promise which of several equal elements it finds; NumPy finds the first.
        at = torch.from_numpy(x.numpy().argmax(axis))
        return {"highest": at, "lowest": torch.from_numpy(x.numpy().argmin(axis)), "value": x.amax(axis)}

    return KernelCase(
        argument_kernel,
        grid=(1,),
        args=dict(
            x=Buffer((16, 32), dtype, fill=Integers(-2, 3)),
            highest=empty(kept, "int32"),
            lowest=empty(kept, "int32"),
            value=empty(kept, dtype),
            AXIS=axis,
            BLOCK_M=16,
            BLOCK_N=32,
        ),
        reference=reference,
    )


@triton.jit
def maximum_with_index(a_value, a_index, b_value, b_index):
    """NaN is the greatest and NaNs are equal; of equal values the lower index wins."""
    a_nan = a_value != a_value
    b_nan = b_value != b_value
    tied = (a_value == b_value) | (a_nan & b_nan)
    take_a = (a_value > b_value) | (a_nan & ~b_nan) | (tied & (a_index < b_index))
    return tl.where(take_a, a_value, b_value), tl.where(take_a, a_index, b_index)


@triton.jit
def looped_argmax_kernel(x, out, cols, BLOCK: tl.constexpr):
    """Inductor's looped argmax: pairs are combined element by element, then once across the block."""
    row = tl.program_id(0)
    best = tl.full([BLOCK], float("-inf"), tl.float32)
    where = tl.full([BLOCK], 0x7FFFFFFF, tl.int32)
    for start in range(0, cols, BLOCK):
        at = start + tl.arange(0, BLOCK)
        value = tl.load(x + row * cols + at, mask=at < cols, other=float("-inf"))
        next_best, next_where = maximum_with_index(best, where, value, at)
        best = tl.where(at < cols, next_best, best)
        where = tl.where(at < cols, next_where, where)
    _, index = tl.reduce((best, where), 0, maximum_with_index)
    tl.store(out + row, index.to(tl.int64))


@case(cols=[1, 31, 100], nan=[False, True])
def looped_argmax(cols, nan):
    pattern = (1.0, 3.0, -2.0, 3.0, 0.0, float("nan") if nan else 3.0, 2.0)
    return KernelCase(
        looped_argmax_kernel,
        grid=(6,),
        args=dict(x=Buffer((6, cols), fill=Values(pattern)), out=empty(6, "int64"), cols=cols, BLOCK=32),
        reference=lambda x: torch.from_numpy(x.numpy().argmax(1)),
    )
