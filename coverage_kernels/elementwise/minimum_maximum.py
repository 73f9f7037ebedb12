"""`tl.minimum`, `tl.maximum` and `tl.clamp`: with and without NaN propagation, signed and unsigned.

Written for the harness. Without propagation a NaN loses against any number (IEEE maxNum); with it a
NaN wins (IEEE maximum). Which zero wins without propagation is not defined and not compared.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, Normal, Special, case, empty


@triton.jit
def minimum_maximum_kernel(x, y, least, greatest, n, PROPAGATE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    a = tl.load(x + at, mask=inside)
    b = tl.load(y + at, mask=inside)
    mode: tl.constexpr = tl.PropagateNan.ALL if PROPAGATE else tl.PropagateNan.NONE
    tl.store(least + at, tl.minimum(a, b, propagate_nan=mode), mask=inside)
    tl.store(greatest + at, tl.maximum(a, b, propagate_nan=mode), mask=inside)


@case(dtype=["fp64", "fp32", "fp16", "bf16"], propagate=[False, True])
def float_minimum_maximum(dtype, propagate):
    least, greatest = (torch.minimum, torch.maximum) if propagate else (torch.fmin, torch.fmax)
    return KernelCase(
        minimum_maximum_kernel,
        grid=(3,),
        args=dict(
            x=Buffer(700, dtype, fill=Special()),
            y=Buffer(700, dtype, fill=Special()),
            least=empty(700, dtype),
            greatest=empty(700, dtype),
            n=700,
            PROPAGATE=propagate,
            BLOCK=256,
        ),
        reference=lambda x, y: {"least": least(x, y), "greatest": greatest(x, y)},
    )


@case(dtype=["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def integer_minimum_maximum(dtype):
    """The extremes tell a signed comparison from an unsigned one."""
    return KernelCase(
        minimum_maximum_kernel,
        grid=(3,),
        args=dict(
            x=Buffer(700, dtype, fill=Special()),
            y=Buffer(700, dtype, fill=Special()),
            least=empty(700, dtype),
            greatest=empty(700, dtype),
            n=700,
            PROPAGATE=False,
            BLOCK=256,
        ),
        reference=lambda x, y: {
            "least": torch.from_numpy(x.numpy().clip(max=y.numpy())),
            "greatest": torch.from_numpy(x.numpy().clip(min=y.numpy())),
        },
    )


@triton.jit
def clamp_kernel(x, low, high, out, n, PROPAGATE: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    value = tl.load(x + at, mask=inside)
    lower = tl.load(low + at, mask=inside)
    upper = lower + tl.load(high + at, mask=inside)
    mode: tl.constexpr = tl.PropagateNan.ALL if PROPAGATE else tl.PropagateNan.NONE
    tl.store(out + at, tl.clamp(value, lower, upper, propagate_nan=mode), mask=inside)


@case(dtype=["fp32", "fp16", "bf16", "fp64"], propagate=[False, True])
def clamp_between_tensors(dtype, propagate):
    """Bounds differ by element, the upper one always the larger; NaN stays or becomes the lower bound."""

    def reference(x, low, high):
        clamped = torch.clamp(x, low, low + torch.abs(high))
        return clamped if propagate else torch.where(torch.isnan(x), low, clamped)

    return KernelCase(
        clamp_kernel,
        grid=(3,),
        args=dict(
            x=Buffer(700, dtype, fill=Special()),
            low=Buffer(700, dtype, fill=Normal(0.25, -1.0)),
            high=Buffer(700, dtype, fill=Normal(0.125, 2.0)),
            out=empty(700, dtype),
            n=700,
            PROPAGATE=propagate,
            BLOCK=256,
        ),
        reference=reference,
    )


@triton.jit
def clamp_to_scalars_kernel(x, out, n, low, high, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n)
    tl.store(out + at, tl.clamp(value, low, high), mask=at < n)


@case(bounds=[(-1.0, 1.0), (0.0, float("inf")), (0.5, 0.5)])
def clamp_between_scalars(bounds):
    low, high = bounds
    return KernelCase(
        clamp_to_scalars_kernel,
        grid=(3,),
        args=dict(x=Buffer(700, fill=Special(nan=False)), out=empty(700), n=700, low=low, high=high, BLOCK=256),
        reference=lambda x: torch.clamp(x, low, high),
    )
