"""The `math` dialect on arrays: https://mlir.llvm.org/docs/Dialects/MathOps/."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import torch

from harness.semantics.conversions import convert_float
from harness.semantics.registry import ElementwiseFunction, elementwise, floats, plain, register_table
from harness.semantics.types import NARROW_FLOATS, Array, Signature, unsigned

_TORCH_PIECE = 1 << 11  # elements; above it torch shares its vector functions out between threads


def through_torch(function: Callable[..., torch.Tensor]) -> Callable[..., Array]:
    """A function NumPy lacks, from torch; same dtypes.

    Torch gets a piece at a time: pieces that it would not share out between threads, whose waiting costs more.
    """

    def compute(*operands: Array) -> Array:
        tensors = [torch.from_numpy(np.ascontiguousarray(operand)) for operand in np.broadcast_arrays(*operands)]
        if tensors[0].numel() <= _TORCH_PIECE:
            return function(*tensors).numpy()
        pieces = zip(*(tensor.reshape(-1).split(_TORCH_PIECE) for tensor in tensors), strict=True)
        return torch.cat([function(*piece) for piece in pieces]).reshape(tensors[0].shape).numpy()

    return compute


def round_half_away(values: Array) -> Array:
    """To the nearest integer, halves away from zero (C's round), exact for every float."""
    whole = np.trunc(values)
    return np.copysign(whole + np.where(np.abs(values - whole) >= 0.5, np.copysign(1.0, values), 0.0), values).astype(
        values.dtype
    )


def reciprocal_sqrt(values: Array) -> Array:
    return np.divide(values.dtype.type(1), np.sqrt(values))


def fused_multiply_add(a: Array, b: Array, c: Array) -> Array:
    """a * b + c rounded once, for f32 and f64."""
    if a.dtype == np.float64:
        return _fma_float64(a, b, c)
    return _multiply_add_to_odd(a, b, c).astype(np.float32)


def _narrow_multiply_add(kind: str) -> ElementwiseFunction:
    return lambda a, b, c: convert_float(_multiply_add_to_odd(a, b, c), kind)


def _multiply_add_to_odd(a: Array, b: Array, c: Array) -> Array:
    """a * b + c of f32 or narrower floats as f64 rounded to odd: rounding that to f32 or narrower rounds the
    exact sum once (Boldo and Melquiond, 2005)."""
    product = a.astype(np.float64) * b.astype(np.float64)  # exact
    addend = c.astype(np.float64)
    total = product + addend
    error = _sum_error(product, addend, total)
    bits = total.view(np.int64)
    inexact = (error != 0) & np.isfinite(total) & (bits & 1 == 0)
    towards = np.where((error > 0) == (total > 0), bits + 1, bits - 1)
    return np.where(inexact, towards, bits).view(np.float64)


def _sum_error(left: Array, right: Array, total: Array) -> Array:
    """What rounding took from left + right (Knuth's two-sum): exact."""
    virtual = total - left
    return (left - (total - virtual)) + (right - virtual)


def _fma_float64(a: Array, b: Array, c: Array) -> Array:
    """Exact product and sum as unevaluated pairs of long doubles; rational arithmetic where those are no wider."""
    if np.finfo(np.longdouble).nmant < 63:
        return np.vectorize(_rational_multiply_add, otypes=[np.float64])(a, b, c)
    rough = a * b + c
    a, b, c = np.broadcast_arrays(a, b, c)
    addend = c.astype(np.longdouble)
    product, product_rest = _exact_product(a, b)
    inner = addend + product_rest
    outer = product + inner
    tail = _sum_error(addend, product_rest, inner)
    tail_high = _sum_error(product, inner, outer)
    correction = tail + tail_high
    total = outer + correction
    error = _sum_error(outer, correction, total)
    error = np.where(error != 0, error, _sum_error(tail, tail_high, correction))
    result = _decided(total, error)
    plain = ~np.isfinite(product_rest) | ~np.isfinite(c) | (total == 0)
    return np.where(plain, np.where(total == 0, (product + addend).astype(np.float64), rough), result)


def _exact_product(a: Array, b: Array) -> tuple[Array, Array]:
    """a * b of f64 as the sum of two long doubles: halves of 26 and 27 bits have exact products (Dekker)."""
    wide_a, wide_b = a.astype(np.longdouble), b.astype(np.longdouble)
    high_a, high_b = (
        (np.ascontiguousarray(values).view(np.int64) & ~0x7FFFFFF).view(np.float64).astype(np.longdouble)
        for values in (a, b)
    )
    low_a, low_b = wide_a - high_a, wide_b - high_b
    product = wide_a * wide_b
    rest = ((high_a * high_b - product) + high_a * low_b + low_a * high_b) + low_a * low_b
    return product, rest


def _decided(total: Array, error: Array) -> Array:
    """`total` (long double) as f64; where it is the middle of two f64, the sign of `error` says which one."""
    near = total.astype(np.float64)
    other = np.nextafter(near, np.where(total > near, np.inf, -np.inf))
    middle = (near.astype(np.longdouble) + other.astype(np.longdouble) == 2 * total) & (error != 0)
    return np.where(middle, np.where(error > 0, np.maximum(near, other), np.minimum(near, other)), near)


def _rational_multiply_add(a: float, b: float, c: float) -> float:
    if not all(map(math.isfinite, (a, b, c))):
        return a * b + c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return a * b + c  # its sign is that of the rounded sum
    try:
        return exact.numerator / exact.denominator
    except OverflowError:
        return math.copysign(math.inf, exact)


def high_multiply_unsigned(left: Array, right: Array) -> Array:
    """The upper half of the product of two unsigned integers (tt.mulhiui)."""
    if left.dtype.itemsize <= 4:
        bits = left.dtype.itemsize * 8
        product = unsigned(left).astype(np.uint64) * unsigned(right).astype(np.uint64)
        return (product >> np.uint64(bits)).astype(unsigned(left).dtype).view(left.dtype)
    low = np.uint64(0xFFFFFFFF)
    shift = np.uint64(32)
    a, b = left.view(np.uint64), right.view(np.uint64)
    a_low, a_high, b_low, b_high = a & low, a >> shift, b & low, b >> shift
    middle = a_high * b_low + ((a_low * b_low) >> shift)
    carry = (middle & low) + a_low * b_high
    return (a_high * b_high + (middle >> shift) + (carry >> shift)).view(np.int64)


def high_multiply_signed(left: Array, right: Array) -> Array:
    """The upper half of the product of two signed integers (libdevice's mulhi, mul64hi)."""
    high = high_multiply_unsigned(left, right)
    return high - np.where(left < 0, right, 0).astype(left.dtype) - np.where(right < 0, left, 0).astype(left.dtype)


def through_float64(function: Callable[..., Array]) -> Callable[..., Array]:
    """Of float32, computed in float64 and rounded. What NumPy itself makes of float32 is up to four units in the last
    place away from that on processors with AVX-512, and none on others; of the angles of a rotary embedding, a power
    times a position, thousands are left of those four."""

    @functools.wraps(function)
    def compute(*values: Array) -> Array:
        if values[0].dtype != np.float32:
            return function(*values)
        with np.errstate(over="ignore", under="ignore"):
            return function(*(one.astype(np.float64) for one in values)).astype(np.float32)

    return compute


# C's pow.
power = through_float64(np.power)
sine, cosine, tangent = through_float64(np.sin), through_float64(np.cos), through_float64(np.tan)


def _count(function: Callable[[int, int], int]) -> Callable[[Array], Array]:
    def compute(values: Array) -> Array:
        bits = values.dtype.itemsize * 8
        raw = unsigned(values)
        return np.array([function(int(value), bits) for value in raw.ravel()], values.dtype).reshape(values.shape)

    return compute


def leading_zeros(values: Array) -> Array:
    """The number of zero bits above the highest one; the width for zero."""
    return _count(lambda value, bits: bits - value.bit_length())(values)


def trailing_zeros(values: Array) -> Array:
    """The number of zero bits below the lowest one; the width for zero."""
    return _count(lambda value, bits: bits if value == 0 else (value & -value).bit_length() - 1)(values)


def population_count(values: Array) -> Array:
    return np.bitwise_count(unsigned(values)).astype(values.dtype)


FLOAT_FUNCTIONS: dict[str, Any] = {
    "absf": np.abs,
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "atanh": np.arctanh,
    "cbrt": np.cbrt,
    "ceil": np.ceil,
    "copysign": np.copysign,
    "cos": cosine,
    "cosh": np.cosh,
    "erf": through_torch(torch.erf),
    "erfc": through_torch(torch.erfc),
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "floor": np.floor,
    "fma": fused_multiply_add,
    "log": np.log,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "powf": power,
    "round": round_half_away,
    "roundeven": np.rint,
    "rsqrt": reciprocal_sqrt,
    "sin": sine,
    "sinh": np.sinh,
    "sqrt": np.sqrt,
    "tan": tangent,
    "tanh": np.tanh,
    "trunc": np.trunc,
}

register_table({f"math.{name}": function for name, function in FLOAT_FUNCTIONS.items()}, floats)


@elementwise("math.fma")
def _fma(signature: Signature) -> ElementwiseFunction:
    """Not through f32 for narrow floats: the sum would be rounded twice."""
    return _narrow_multiply_add(signature.result) if signature.result in NARROW_FLOATS else fused_multiply_add


register_table(
    {
        "math.absi": np.abs,
        "math.ctlz": leading_zeros,
        "math.cttz": trailing_zeros,
        "math.ctpop": population_count,
        "tt.mulhiui": high_multiply_unsigned,
    },
    plain,
)
# A division that may be off by ulps is off by none here.
register_table({"tt.precise_sqrt": np.sqrt, "tt.precise_divf": np.divide, "tt.approx_divf": np.divide}, floats)
