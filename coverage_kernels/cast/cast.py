"""Every pair of dtypes: float to float, float to integer and back, integer to integer, bool with both.

Written for the harness. Floats narrow by rounding to nearest even, floats become integers by
truncation, integers narrow by dropping bits and widen by their own signedness, and anything becomes a
bool by comparison with zero. Values that no target defines (a float beyond the integer's range) are
left out. A case converts one source to all targets of one kind, each into a buffer of its own.
"""

import torch
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, Special, Uniform, Values, case, empty
from harness.cases.dtypes import dtype_named


@triton.jit
def cast_to_floats_kernel(x, fp64, fp32, fp16, bf16, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n)
    tl.store(fp64 + at, value.to(tl.float64), mask=at < n)
    tl.store(fp32 + at, value.to(tl.float32), mask=at < n)
    tl.store(fp16 + at, value.to(tl.float16), mask=at < n)
    tl.store(bf16 + at, value.to(tl.bfloat16), mask=at < n)


@triton.jit
def cast_to_integers_kernel(x, bits8, bits16, bits32, bits64, n, BLOCK: tl.constexpr):
    """Signed and unsigned targets alike: the pointers say which."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at, mask=at < n)
    tl.store(bits8 + at, value.to(bits8.dtype.element_ty), mask=at < n)
    tl.store(bits16 + at, value.to(bits16.dtype.element_ty), mask=at < n)
    tl.store(bits32 + at, value.to(bits32.dtype.element_ty), mask=at < n)
    tl.store(bits64 + at, value.to(bits64.dtype.element_ty), mask=at < n)


FLOATS = ("fp64", "fp32", "fp16", "bf16")
SIGNED = ("int8", "int16", "int32", "int64")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = SIGNED + UNSIGNED


def cast_to_floats(source, fill, convert, signed_zeros=False):
    outputs = {target: empty(300, target) for target in FLOATS}
    return KernelCase(
        cast_to_floats_kernel,
        grid=(3,),
        args=dict(x=Buffer(300, source, fill=fill), **outputs, n=300, BLOCK=128),
        reference=lambda x: {target: convert(x, target) for target in FLOATS},
        exact_dtype=True,
        signed_zeros=signed_zeros,
    )


def cast_to_integers(source, targets, fill, convert):
    outputs = {f"bits{dtype_named(target).itemsize * 8}": target for target in targets}
    return KernelCase(
        cast_to_integers_kernel,
        grid=(3,),
        args=dict(
            x=Buffer(300, source, fill=fill),
            **{name: empty(300, target) for name, target in outputs.items()},
            n=300,
            BLOCK=128,
        ),
        reference=lambda x: {name: convert(x, target) for name, target in outputs.items()},
        exact_dtype=True,
    )


def with_torch(x, target):
    return x.to(dtype_named(target).torch)


def with_numpy(x, target):
    """Drops and extends bits; torch does little with uint16 to uint64."""
    return torch.from_numpy(x.numpy().astype(dtype_named(target).torch_name))


@case(source=FLOATS)
def float_to_floats(source):
    """NaN, infinities, zeros' signs, extremes and denormals; what is too large becomes infinite."""
    return cast_to_floats(source, Special(), with_torch, signed_zeros=True)


@case(source=FLOATS)
def float_to_signed(source):
    """Halves on both sides of zero are truncated toward it."""
    return cast_to_integers(source, SIGNED, Uniform(-128.0, 127.5), with_torch)


@case(source=FLOATS)
def float_to_unsigned(source):
    return cast_to_integers(source, UNSIGNED, Uniform(0.0, 255.5), with_torch)


@case(source=INTEGERS)
def integer_to_floats(source):
    """Extremes round to nearest even; in fp16 the large ones become infinite, unsigned ones stay positive."""

    def convert(x, target):
        wide = x.numpy().astype("float64" if target == "fp64" else "float32")
        return torch.from_numpy(wide).to(dtype_named(target).torch)

    return cast_to_floats(source, Special(), convert)


@case(source=INTEGERS)
def integer_to_signed(source):
    return cast_to_integers(source, SIGNED, Special(), with_numpy)


@case(source=INTEGERS)
def integer_to_unsigned(source):
    return cast_to_integers(source, UNSIGNED, Special(), with_numpy)


@case(target=["floats", "signed", "unsigned"])
def bool_to_anything(target):
    """True is one, also in signed types."""
    if target == "floats":
        return cast_to_floats("int1", None, with_torch)
    return cast_to_integers("int1", SIGNED if target == "signed" else UNSIGNED, None, with_numpy)


@triton.jit
def cast_to_bool_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n).to(tl.int1), mask=at < n)


@case(source=(*FLOATS, *INTEGERS))
def anything_to_bool(source):
    """NaN is true, -0.0 is false, 256 is true although its low byte is zero."""
    if source in FLOATS:
        fill = Values((0.0, -0.0, 0.25, -3.0, float("nan"), float("inf"), 6e-8))
    else:
        fill = Values((0, 1, 2, 127) if source in ("int8", "uint8") else (0, 1, 256, 2, 0x4000))
    return KernelCase(
        cast_to_bool_kernel,
        grid=(1,),
        args=dict(x=Buffer(100, source, fill=fill), out=empty(100, "int1"), n=100, BLOCK=128),
        reference=lambda x: x != 0 if source in FLOATS else torch.from_numpy(x.numpy() != 0),
        exact_dtype=True,
    )
