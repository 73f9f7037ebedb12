"""The `math` dialect on arrays: https://mlir.llvm.org/docs/Dialects/MathOps/."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from harness.semantics.registry import floats, plain, register_table
from harness.semantics.types import Array, unsigned


def through_torch(function: Callable[..., torch.Tensor]) -> Callable[..., Array]:
    """A function NumPy lacks, from torch; same dtypes, no copies."""

    def compute(*operands: Array) -> Array:
        tensors = [torch.from_numpy(np.ascontiguousarray(operand)) for operand in np.broadcast_arrays(*operands)]
        return function(*tensors).numpy()

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
    """a * b + c rounded once: exact product in f64 for f32; f64 goes through error-free transforms."""
    if a.dtype == np.float64:
        return _fma_float64(a, b, c)
    product = a.astype(np.float64) * b.astype(np.float64)
    total = product + c
    return _round_sum_to_float32(product, c.astype(np.float64), total).astype(np.float32)


def _round_sum_to_float32(product: Array, addend: Array, total: Array) -> Array:
    """`total` nudged to odd where it is inexact, so that rounding it to f32 rounds the exact sum once."""
    virtual = total - product
    error = (product - (total - virtual)) + (addend - virtual)
    bits = total.view(np.int64)
    inexact = (error != 0) & np.isfinite(total) & (bits & 1 == 0)
    towards = np.where((error > 0) == (total > 0), bits + 1, bits - 1)
    return np.where(inexact, towards, bits).view(np.float64)


def _fma_float64(a: Array, b: Array, c: Array) -> Array:
    wide = a.astype(np.longdouble) * b.astype(np.longdouble) + c.astype(np.longdouble)
    return wide.astype(np.float64)


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


def power(base: Array, exponent: Array) -> Array:
    """C's pow."""
    return np.power(base, exponent)


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
    "cos": np.cos,
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
    "sin": np.sin,
    "sinh": np.sinh,
    "sqrt": np.sqrt,
    "tan": np.tan,
    "tanh": np.tanh,
    "trunc": np.trunc,
}

register_table({f"math.{name}": function for name, function in FLOAT_FUNCTIONS.items()}, floats)
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
register_table({"tt.precise_sqrt": np.sqrt, "tt.precise_divf": np.divide}, floats)
