"""Matrix products: `tt.dot` and `tt.dot_scaled` on arrays of shape (programs, [batch,] rows, columns)."""

from __future__ import annotations

import numpy as np

from harness.errors import UnsupportedOp
from harness.semantics.conversions import round_to_tf32
from harness.semantics.types import Array

# f32 represents whole numbers exactly up to 2**24: below it BLAS gives exact int8 products.
_EXACT_FLOAT32 = 1 << 24

_E2M1 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)


def prepare_dot_operand(values: Array, precision: str) -> Array:
    """The operand as the matrix unit reads it: f32 (f64 stays). tf32 rounds f32's mantissa to 10 bits; the
    three-pass precisions (tf32x3, bf16x3, bf16x6) recover f32 and are computed as f32."""
    if values.dtype == np.float64:
        return values
    if values.dtype == np.float32:
        return round_to_tf32(values) if precision == "tf32" else values
    return values.astype(np.float32)


def dot_float(a: Array, b: Array, accumulator: Array, precision: str) -> Array:
    """accumulator + a @ b. Products are exact in f32 (f64 for f64) and added in f32; the sum is rounded
    once to the accumulator's type."""
    product = np.matmul(prepare_dot_operand(a, precision), prepare_dot_operand(b, precision))
    if product.dtype == accumulator.dtype:
        product += accumulator
        return product
    return (product + accumulator.astype(product.dtype)).astype(accumulator.dtype)


def dot_integer(a: Array, b: Array, accumulator: Array) -> Array:
    """accumulator + a @ b of int8 in wrapping 32-bit integers, exact."""
    terms = a.shape[-1]
    bound = terms * 128 * 128
    wide = np.float32 if bound < _EXACT_FLOAT32 else np.float64
    product = np.matmul(a.astype(wide), b.astype(wide))
    return product.astype(np.int64).astype(np.int32) + accumulator


def decode_scaled(values: Array, scale: Array | None, element: str, k_axis: int, packed_axis: int) -> Array:
    """The operand of `tt.dot_scaled` as f32: elements of kind `element` ("e2m1" packs two a byte, the low half
    first, along `packed_axis`), each group of K // scales elements along `k_axis` multiplied by its e8m0 scale
    (2**(byte - 127), 0xFF is NaN). `scale` has shape (..., rows, groups)."""
    decoded = _decode(values, element, packed_axis)
    if scale is None:
        return decoded
    factors = _e8m0(scale) if scale.dtype.itemsize == 1 and scale.dtype.kind in "iu" else scale.astype(np.float32)
    if k_axis == decoded.ndim - 2:
        factors = np.swapaxes(factors, -1, -2)
    group = decoded.shape[k_axis] // factors.shape[k_axis]
    return decoded * np.repeat(factors, group, axis=k_axis)


def _decode(values: Array, element: str, packed_axis: int) -> Array:
    if element == "e2m1":
        raw = values.view(np.uint8)
        pairs = np.stack((_E2M1[raw & 0xF], _E2M1[raw >> 4]), axis=packed_axis + 1)
        shape = list(raw.shape)
        shape[packed_axis] *= 2
        return pairs.reshape(shape)
    if element in ("e4m3", "e5m2"):
        import ml_dtypes

        kind = ml_dtypes.float8_e4m3fn if element == "e4m3" else ml_dtypes.float8_e5m2
        return values.view(kind).astype(np.float32)
    if element in ("bf16", "fp16"):
        return values.astype(np.float32)
    raise UnsupportedOp(f"unsupported element kind {element} of tt.dot_scaled")


def _e8m0(scale: Array) -> Array:
    raw = scale.view(np.uint8)
    factors = np.ldexp(np.float32(1), raw.astype(np.int32) - 127).astype(np.float32)
    return np.where(raw == 0xFF, np.float32(np.nan), factors)
