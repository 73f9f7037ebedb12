"""The six comparisons, their results kept as int1 buffers.

Written for the harness. NaN is unequal to everything and ordered with nothing; unsigned integers with
the top bit set are the largest ones.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, Integers, KernelCase, Special, case, empty


@triton.jit
def comparison_kernel(x, y, less, less_equal, equal, not_equal, greater, greater_equal, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    a = tl.load(x + at, mask=inside)
    b = tl.load(y + at, mask=inside)
    tl.store(less + at, a < b, mask=inside)
    tl.store(less_equal + at, a <= b, mask=inside)
    tl.store(equal + at, a == b, mask=inside)
    tl.store(not_equal + at, a != b, mask=inside)
    tl.store(greater + at, a > b, mask=inside)
    tl.store(greater_equal + at, a >= b, mask=inside)


OPERATIONS = {
    "less": "__lt__",
    "less_equal": "__le__",
    "equal": "__eq__",
    "not_equal": "__ne__",
    "greater": "__gt__",
    "greater_equal": "__ge__",
}


def compared(x, y):
    """Through NumPy: torch cannot order uint16 to uint64, NumPy does not know bf16."""
    if x.dtype.is_floating_point:
        return {name: getattr(x, method)(y) for name, method in OPERATIONS.items()}
    return {name: torch.from_numpy(getattr(x.numpy(), method)(y.numpy())) for name, method in OPERATIONS.items()}


@case(dtype=["fp64", "fp32", "fp16", "bf16", "int8", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def comparisons(dtype):
    outputs = {name: empty(700, "int1") for name in OPERATIONS}
    return KernelCase(
        comparison_kernel,
        grid=(3,),
        args=dict(
            x=Buffer(700, dtype, fill=Special()), y=Buffer(700, dtype, fill=Special()), **outputs, n=700, BLOCK=256
        ),
        reference=compared,
        exact_dtype=True,
    )


@triton.jit
def boolean_logic_kernel(x, y, both, either, differ, negated, implied, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    a = tl.load(x + at, mask=inside, other=0) > 0
    b = tl.load(y + at, mask=inside, other=0) > 0
    tl.store(both + at, a & b, mask=inside)
    tl.store(either + at, a | b, mask=inside)
    tl.store(differ + at, a ^ b, mask=inside)
    tl.store(negated + at, ~a, mask=inside)
    tl.store(implied + at, a.logical_and(b).logical_or(~a), mask=inside)


@case(n=[1, 500])
def boolean_logic(n):
    """int1 values that were never in memory: the results of comparisons."""
    outputs = {name: empty(n, "int1") for name in ("both", "either", "differ", "negated", "implied")}
    return KernelCase(
        boolean_logic_kernel,
        grid=(triton.cdiv(n, 256),),
        args=dict(x=Buffer(n, "int32"), y=Buffer(n, "int32"), **outputs, n=n, BLOCK=256),
        reference=lambda x, y: {
            "both": (x > 0) & (y > 0),
            "either": (x > 0) | (y > 0),
            "differ": (x > 0) ^ (y > 0),
            "negated": ~(x > 0),
            "implied": (x <= 0) | (y > 0),
        },
    )


@triton.jit
def where_kernel(condition, x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    chosen = tl.where(tl.load(condition + at, mask=inside), tl.load(x + at, mask=inside), tl.load(y + at, mask=inside))
    tl.store(out + at, chosen, mask=inside)


@case(dtype=["fp32", "fp16", "int64", "int1"], condition=["int1", "int32"])
def where(dtype, condition):
    """A select keeps NaN and -0.0 of the side it picks; a condition that is no bool is tested against zero."""
    fill = None if dtype == "int1" else Special()
    return KernelCase(
        where_kernel,
        grid=(3,),
        args=dict(
            condition=Buffer(700, condition, fill=Integers(0, 2)),
            x=Buffer(700, dtype, fill=fill),
            y=Buffer(700, dtype),
            out=empty(700, dtype),
            n=700,
            BLOCK=256,
        ),
        reference=lambda condition, x, y: torch.where(condition != 0, x, y),
        exact_dtype=True,
        signed_zeros=True,
    )
