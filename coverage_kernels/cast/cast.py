"""Every pair of dtypes, one conversion each: float to float, float to integer and back, integer to integer.

Written for the harness. Floats narrow by rounding to nearest even, floats become integers by
truncation, integers narrow by dropping bits and widen by their own signedness, and anything becomes a
bool by comparison with zero. Values that no target defines (a float beyond the integer's range) are
left out.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, Special, Uniform, Values, case, empty
from harness.cases.dtypes import dtype_named


@triton.jit
def cast_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n).to(out.dtype.element_ty), mask=at < n)


FLOATS = ("fp64", "fp32", "fp16", "bf16")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def cast_case(source, target, fill, reference, n=300, signed_zeros=False):
    return KernelCase(
        cast_kernel,
        grid=(triton.cdiv(n, 128),),
        args=dict(x=Buffer(n, source, fill=fill), out=empty(n, target), n=n, BLOCK=128),
        reference=reference,
        exact_dtype=True,
        signed_zeros=signed_zeros,
    )


def to(target):
    return lambda x: x.to(dtype_named(target).torch)


@case(source=FLOATS, target=FLOATS)
def float_to_float(source, target):
    """NaN, infinities, zeros' signs, extremes and denormals; what is too large becomes infinite."""

    def reference(x):
        # Half precision reaches every other format through fp32, fp64 reaches it in one step.
        return x.to(dtype_named(target).torch)

    return cast_case(source, target, Special(), reference, signed_zeros=True)


@case(source=FLOATS, target=INTEGERS)
def float_to_integer(source, target):
    """Truncation, with halves on both sides of zero; the unsigned get no negative value."""
    high = 127.5
    return cast_case(source, target, Uniform(0.0 if target.startswith("u") else -128.0, high), to(target))


@case(source=INTEGERS, target=FLOATS)
def integer_to_float(source, target):
    """Extremes round to nearest even; in fp16 the large ones become infinite, unsigned ones stay positive."""

    def reference(x):
        wide = x.numpy().astype("float64" if target == "fp64" else "float32")
        return torch.from_numpy(wide).to(dtype_named(target).torch)

    return cast_case(source, target, Special(), reference)


@case(source=INTEGERS, target=INTEGERS)
def integer_to_integer(source, target):
    name = dtype_named(target).torch_name
    return cast_case(source, target, Special(), lambda x: torch.from_numpy(x.numpy().astype(name)))


@case(source=(*FLOATS, *INTEGERS))
def anything_to_bool(source):
    """NaN is true, -0.0 is false, 256 is true although its low byte is zero."""
    if source in FLOATS:
        fill = Values((0.0, -0.0, 0.25, -3.0, float("nan"), float("inf"), 6e-8))
        return cast_case(source, "int1", fill, lambda x: x != 0)
    fill = Values((0, 1, 2, 127) if source.endswith("t8") else (0, 1, 256, 2, 0x4000))
    return cast_case(source, "int1", fill, lambda x: torch.from_numpy(x.numpy() != 0))


@case(target=(*FLOATS, *INTEGERS))
def bool_to_anything(target):
    """True is one, also in signed types."""
    return cast_case("int1", target, None, to(target))
