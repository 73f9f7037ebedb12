"""Conversions between floats and from floats to integers.

float to float   rounds to nearest even unless `rounding` is "rtz". To fp8, what is larger than the largest
                 finite value becomes that value, infinities too; NaN stays NaN (PTX ISA, cvt: "If the absolute
                 value of input is greater than MAX_NORM [...] the result is sign-preserved MAX_NORM", which
                 .satfinite says and every conversion to fp8 carries).
float to int     truncates towards zero; out of range saturates and NaN gives 0, as PTX's cvt does.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from harness.semantics.types import NARROW_FLOATS, UNSIGNED, Array, numpy_dtype, unsigned


def convert_float(values: Array, element: str, rounding: str = "rtne") -> Array:
    """`values` in the float type `element`, rounded once. `rounding` is "rtne" or "rtz"."""
    dtype = numpy_dtype(element)
    if values.dtype == dtype:
        return values
    if rounding == "rtz" and ml_dtypes.finfo(dtype).bits < values.dtype.itemsize * 8:
        return _towards_zero(values, dtype)
    if values.dtype.itemsize == 8 and element in NARROW_FLOATS:
        return _saturated(_odd_float32(values), dtype)
    if values.dtype.itemsize < 4 and dtype.itemsize < 4:
        values = values.astype(np.float32)
    return _saturated(values, dtype)


def _saturated(values: Array, dtype: np.dtype[Any]) -> Array:
    converted = values.astype(dtype)
    if dtype.itemsize > 1:
        return converted
    # ml_dtypes overflows to infinity or NaN; hardware saturates what is finite.
    largest = float(ml_dtypes.finfo(dtype).max)
    wide = values.astype(np.float32)
    return np.where(np.abs(wide) > largest, np.copysign(np.float32(largest), wide), wide).astype(dtype)


def _odd_float32(values: Array) -> Array:
    """f64 to f32 rounded to odd, so that a second rounding to a narrow type rounds as if once."""
    near = values.astype(np.float32)
    exact = near.astype(np.float64) == values
    bits = near.view(np.int32)
    towards_zero = np.where(np.abs(near.astype(np.float64)) > np.abs(values), bits - 1, bits)
    fixed = np.where(exact | ~np.isfinite(values), bits, towards_zero | 1)
    return fixed.astype(np.int32).view(np.float32)


def _towards_zero(values: Array, dtype: np.dtype[Any]) -> Array:
    wide = values.astype(np.float64)
    near = _saturated(wide.astype(np.float32), dtype) if dtype.itemsize < 4 else wide.astype(dtype)
    integer = np.dtype(f"u{dtype.itemsize}")
    away = np.abs(near.astype(np.float64)) > np.abs(wide)
    bits = near.view(integer)
    shrunk = np.where(away, bits - integer.type(1), bits).astype(integer).view(dtype)
    # The step below the smallest number is zero; in formats without -0 its pattern is NaN's.
    return np.where(away & ~(np.abs(shrunk.astype(np.float32)) > 0), np.zeros_like(shrunk), shrunk)


def unsigned_to_float(values: Array, element: str) -> Array:
    """Integers read as unsigned, in the float type `element`."""
    source = values.astype(np.uint8) if values.dtype == np.bool_ else unsigned(values)
    return integer_to_float(source, element)


def integer_to_float(values: Array, element: str) -> Array:
    """Integers, signed or not as their dtype is, rounded once to the float type `element`."""
    if element not in NARROW_FLOATS:
        return values.astype(numpy_dtype(element))
    if values.dtype.itemsize == 8:
        values = _sticky_integers(values)
    return convert_float(values.astype(np.float64), element)


def _sticky_integers(values: Array) -> Array:
    """Integers that f64 holds exactly and that round to a narrow float as the given ones do: of those past f64's
    53 bits the low bits are replaced by one bit that says whether there were any."""
    low = values.dtype.type(0xFFF)
    sticky = np.where(values & low, values.dtype.type(0x800), values.dtype.type(0))
    large = (values >= 1 << 53) if values.dtype.kind == "u" else (values >= 1 << 53) | (values <= -(1 << 53))
    return np.where(large, (values & ~low) | sticky, values)


def float_to_signed(values: Array, dtype: np.dtype[Any]) -> Array:
    if dtype == np.bool_:
        return values.astype(np.float64) != 0
    limits = np.iinfo(dtype)
    return _float_to_integer(values, dtype, float(limits.min), float(limits.max), limits.min, limits.max)


def float_to_unsigned(values: Array, dtype: np.dtype[Any]) -> Array:
    if dtype == np.bool_:
        return values.astype(np.float64) != 0
    kind = UNSIGNED[dtype]
    limits = np.iinfo(kind)
    return _float_to_integer(values, kind, 0.0, float(limits.max), 0, limits.max).view(dtype)


def _float_to_integer(values: Array, dtype: np.dtype[Any], low: float, high: float, least: int, most: int) -> Array:
    wide = values.astype(np.float64)
    inside = (wide > low) & (wide < high)
    if inside.all():
        return wide.astype(dtype)
    converted = np.where(inside, wide, 0.0).astype(dtype)
    converted = np.where(wide >= high, dtype.type(most), converted)
    return np.where(wide <= low, dtype.type(least), converted).astype(dtype)


def round_to_tf32(values: Array) -> Array:
    """f32 with the mantissa rounded to tf32's 10 bits (to nearest even); NaN and infinities stay."""
    bits = values.view(np.uint32)
    rounded = (bits + np.uint32(0xFFF) + ((bits >> np.uint32(13)) & np.uint32(1))) & np.uint32(0xFFFFE000)
    return np.where(np.isfinite(values), rounded, bits).astype(np.uint32).view(np.float32)


def round_half_away_to_tf32(values: Array) -> Array:
    """Likewise, halves away from zero: PTX's `cvt.rna`."""
    bits = values.view(np.uint32)
    rounded = (bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)
    return np.where(np.isfinite(values), rounded, bits).astype(np.uint32).view(np.float32)
