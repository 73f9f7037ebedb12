"""Floats as integers: maps of the bits that keep the order, so that neighbours differ by one.

All of it works on NumPy arrays of any float dtype of a case (ml_dtypes gives bf16 and fp8).
"""

from __future__ import annotations

import numpy as np

from harness.cases.dtypes import DType

_UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
_SIGNED = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}

# Bits of the significand, the implied one included, and the exponent of the smallest normal number.
_FORMATS = {
    "float64": (53, -1022),
    "float32": (24, -126),
    "float16": (11, -14),
    "bfloat16": (8, -126),
    "float8_e4m3fn": (4, -6),
    "float8_e5m2": (3, -14),
    "float8_e4m3fnuz": (4, -7),
    "float8_e5m2fnuz": (3, -15),
}


def is_float(dtype: np.dtype) -> bool:
    """NumPy knows the kind of its own floats only."""
    return dtype.name in _FORMATS


def bits_of(values: np.ndarray) -> np.ndarray:
    """The same bytes as unsigned integers of the same width."""
    return values.view(_UNSIGNED[values.dtype.itemsize])


def ordered(values: np.ndarray) -> np.ndarray:
    """int64 that grow by one from each float to the next; both zeros are 0. NaN has no place in the order."""
    itemsize = values.dtype.itemsize
    signed = values.view(_SIGNED[itemsize]).astype(np.int64)
    magnitude = signed & np.int64(2 ** (8 * itemsize - 1) - 1)
    return np.where(signed < 0, -magnitude, magnitude)


def ulp_distance(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """float64: how many floats lie between; NaN where either is NaN. Infinity follows the largest number."""
    left, right = ordered(got), ordered(want)
    # Of different signs in 64 bits the difference itself may overflow: halves are subtracted as floats.
    distance = np.abs(left - right).astype(np.float64)
    far = (left < 0) != (right < 0)
    distance[far] = np.abs(left[far].astype(np.float64) - right[far].astype(np.float64))
    with np.errstate(invalid="ignore"):  # signalling NaNs
        distance[np.isnan(got) | np.isnan(want)] = np.nan
    return distance


def precision(dtype: DType) -> int:
    """Bits of the significand, the implied one included."""
    return _FORMATS[dtype.torch_name][0]


def ulp_size(magnitude: np.ndarray, dtype: DType) -> np.ndarray:
    """float64: the distance from the finite `magnitude` (float64) to the next larger number of `dtype`."""
    digits, smallest = _FORMATS[dtype.torch_name]
    exponents = np.arange(2048) - 1023
    sizes = np.ldexp(1.0, np.minimum(np.maximum(exponents, smallest) - (digits - 1), 1023))
    return sizes[(magnitude.view(np.uint64) >> np.uint64(52)) & np.uint64(0x7FF)]


def poison_is_unmistakable(dtype: DType) -> bool:
    """Nobody who computes a NaN makes the poison's bits: true in 16 bits and more, where it has a payload
    of its own. In fp8 there are a few NaNs at most: there poison is judged as any NaN is."""
    return not dtype.is_float or dtype.itemsize > 1
