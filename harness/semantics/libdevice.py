"""libdevice by symbol, as `tt.extern_elementwise` names it: `__nv_NAME` for f64, `__nv_NAMEf` for f32
(`__ocml_NAME_f32` / `_f64`, `__triton_hip_NAME` on AMD). CUDA's libdevice user guide gives each function's meaning."""

from __future__ import annotations

import functools
import math as math_module
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from harness.errors import UnsupportedOp
from harness.semantics import math
from harness.semantics.arith import maximum_number, minimum_number
from harness.semantics.conversions import float_to_signed, float_to_unsigned, unsigned_to_float
from harness.semantics.math import through_torch
from harness.semantics.registry import ElementwiseFunction, elementwise
from harness.semantics.types import Array, Signature, numpy_dtype, unsigned


def _boolean(function: Callable[[Array], Array]) -> ElementwiseFunction:
    return lambda values: function(values).astype(np.int32)


def _float32_bits(view: str) -> ElementwiseFunction:
    return lambda values: values.view(view)


def _nearest_integer(values: Array) -> Array:
    return np.rint(values)


def _saturate(values: Array) -> Array:
    return np.where(np.isnan(values), 0, np.clip(values, 0, 1)).astype(values.dtype)


def _scale_by_power_of_two(values: Array, exponent: Array) -> Array:
    return np.ldexp(values, exponent).astype(values.dtype)


def _exponent(values: Array) -> Array:
    """ilogb: the least integer for zero and NaN, the greatest for infinities."""
    limits = np.iinfo(np.int32)
    exponent = np.where(np.isinf(values), limits.max, np.frexp(values)[1] - 1)
    return np.where((values == 0) | np.isnan(values), limits.min, exponent).astype(np.int32)


def _logb(values: Array) -> Array:
    exponent = (np.frexp(values)[1] - 1).astype(values.dtype)
    exponent = np.where(values == 0, -np.inf, exponent)
    return np.where(np.isinf(values), np.inf, np.where(np.isnan(values), values, exponent)).astype(values.dtype)


def _positive_difference(left: Array, right: Array) -> Array:
    unordered = np.isnan(left) | np.isnan(right)
    return np.where(left > right, left - right, np.where(unordered, np.nan, 0)).astype(left.dtype)


def _norm(*values: Array) -> Array:
    return functools.reduce(np.hypot, values)


def _remainder(left: Array, right: Array) -> Array:
    """IEEE remainder: the quotient is rounded to even."""
    wide, divisor = left.astype(np.float64), right.astype(np.float64)
    rest = np.fmod(wide, divisor)
    magnitude, half = np.abs(divisor), np.abs(rest) * 2
    quotient_odd = np.fmod(np.abs(wide), 2 * magnitude) >= magnitude
    away = (half > magnitude) | ((half == magnitude) & quotient_odd)
    return np.where(away, rest - np.copysign(magnitude, rest), rest).astype(left.dtype)


def _exp10(values: Array) -> Array:
    return math.power(np.full_like(values, 10), values)


def _sin_pi(values: Array) -> Array:
    """sin(pi * x), exact where x is a whole number of halves."""
    wide = values.astype(np.float64)
    half = np.rint(wide)
    return np.where(np.fmod(half, 2) != 0, -np.sin((wide - half) * np.pi), np.sin((wide - half) * np.pi)).astype(
        values.dtype
    )


def _cos_pi(values: Array) -> Array:
    """cos(pi * x), exact where x is a whole number of halves."""
    size = np.fmod(np.abs(values.astype(np.float64)), 2)
    near = np.minimum(size, 2 - size)  # cosine is even, and has period 2
    return np.where(near < 0.25, np.cos(near * np.pi), np.sin((0.5 - near) * np.pi)).astype(values.dtype)


def _reciprocal(values: Array) -> Array:
    return np.divide(values.dtype.type(1), values)


def _in_double(function: Callable[..., torch.Tensor]) -> ElementwiseFunction:
    """A function of torch that loses digits in f32: computed in f64 and rounded."""
    compute = through_torch(function)
    return lambda values: compute(values.astype(np.float64)).astype(values.dtype)


def _normal_cdf(values: torch.Tensor) -> torch.Tensor:
    # Not torch.special.ndtr: 1 + erf cancels in the lower tail.
    return torch.erfc(values * -math_module.sqrt(0.5)) / 2


def _absolute_difference(left: Array, right: Array) -> Array:
    return np.where(left < right, right - left, left - right)


_UNARY_AND_BINARY: dict[str, Any] = {
    **math.FLOAT_FUNCTIONS,
    "abs": np.abs,
    "fabs": np.abs,
    "cospi": _cos_pi,
    "cyl_bessel_i0": _in_double(torch.special.i0),
    "cyl_bessel_i1": _in_double(torch.special.i1),
    "erfcx": _in_double(torch.special.erfcx),
    "erfinv": _in_double(torch.erfinv),
    "exp10": _exp10,
    "fast_cos": math.cosine,
    "fast_div": np.divide,
    "fast_fdivide": np.divide,
    "fast_exp": np.exp,
    "fast_exp10": _exp10,
    "fast_log": np.log,
    "fast_log10": np.log10,
    "fast_log2": np.log2,
    "fast_pow": math.power,
    "fast_sin": math.sine,
    "fast_tan": math.tangent,
    "fast_tanh": np.tanh,
    "fdim": _positive_difference,
    "fmax": maximum_number,
    "fmin": minimum_number,
    "fmod": np.fmod,
    "hypot": np.hypot,
    "j0": _in_double(torch.special.bessel_j0),
    "j1": _in_double(torch.special.bessel_j1),
    "lgamma": _in_double(torch.lgamma),
    "logb": _logb,
    "nearbyint": _nearest_integer,
    "nextafter": np.nextafter,
    "norm3d": _norm,
    "norm4d": _norm,
    "normcdf": _in_double(_normal_cdf),
    "normcdfinv": _in_double(torch.special.ndtri),
    "pow": math.power,
    "rcbrt": lambda values: _reciprocal(np.cbrt(values)),
    "remainder": _remainder,
    "rhypot": lambda left, right: _reciprocal(np.hypot(left, right)),
    "rint": _nearest_integer,
    "rnorm3d": lambda *values: _reciprocal(_norm(*values)),
    "rnorm4d": lambda *values: _reciprocal(_norm(*values)),
    "saturate": _saturate,
    "sinpi": _sin_pi,
    "tgamma": lambda values: np.vectorize(_gamma, otypes=[np.float64])(values).astype(values.dtype),
    "y0": _in_double(torch.special.bessel_y0),
    "y1": _in_double(torch.special.bessel_y1),
}


def _gamma(value: float) -> float:
    """C's tgamma: math.gamma, with values where that one raises."""
    try:
        return math_module.gamma(value)
    except ValueError:
        return math_module.copysign(math_module.inf, value) if value == 0 else math_module.nan
    except OverflowError:
        # Gamma alternates in sign between negative integers, but is tiny where it does so far out.
        return math_module.inf


# Functions whose symbol does not say the type by a trailing f, or whose operands are not all alike.
_EXACT: dict[str, ElementwiseFunction] = {
    "abs": np.abs,
    "llabs": np.abs,
    "min": np.minimum,
    "max": np.maximum,
    "llmin": np.minimum,
    "llmax": np.maximum,
    "umin": lambda a, b: np.minimum(unsigned(a), unsigned(b)).view(a.dtype),
    "umax": lambda a, b: np.maximum(unsigned(a), unsigned(b)).view(a.dtype),
    "ullmin": lambda a, b: np.minimum(unsigned(a), unsigned(b)).view(a.dtype),
    "ullmax": lambda a, b: np.maximum(unsigned(a), unsigned(b)).view(a.dtype),
    "mulhi": math.high_multiply_signed,
    "umulhi": math.high_multiply_unsigned,
    "mul64hi": math.high_multiply_signed,
    "umul64hi": math.high_multiply_unsigned,
    "mul24": lambda a, b: (a << 8 >> 8) * (b << 8 >> 8),
    "clz": math.leading_zeros,
    "clzll": lambda values: math.leading_zeros(values).astype(np.int32),
    "popc": math.population_count,
    "popcll": lambda values: math.population_count(values).astype(np.int32),
    "ffs": lambda values: np.where(values == 0, 0, math.trailing_zeros(values) + 1).astype(np.int32),
    "ffsll": lambda values: np.where(values == 0, 0, math.trailing_zeros(values) + 1).astype(np.int32),
    "brev": lambda values: _reverse_bits(values),
    "brevll": lambda values: _reverse_bits(values),
    "umul24": lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF),
    "sad": lambda a, b, c: _absolute_difference(a, b) + c,
    "usad": lambda a, b, c: _absolute_difference(unsigned(a), unsigned(b)).view(a.dtype) + c,
    # Averages that do not overflow, rounded down (hadd) or up (rhadd).
    "hadd": lambda a, b: (a & b) + ((a ^ b) >> 1),
    "rhadd": lambda a, b: (a | b) - ((a ^ b) >> 1),
    "uhadd": lambda a, b: (a & b) + (unsigned(a ^ b) >> 1).view(a.dtype),
    "urhadd": lambda a, b: (a | b) - (unsigned(a ^ b) >> 1).view(a.dtype),
    "isnand": _boolean(np.isnan),
    "isnanf": _boolean(np.isnan),
    "isinfd": _boolean(np.isinf),
    "isinff": _boolean(np.isinf),
    "isfinited": _boolean(np.isfinite),
    "finitef": _boolean(np.isfinite),
    "signbitd": _boolean(np.signbit),
    "signbitf": _boolean(np.signbit),
    "float_as_int": _float32_bits("i4"),
    "float_as_uint": _float32_bits("i4"),
    "int_as_float": _float32_bits("f4"),
    "uint_as_float": _float32_bits("f4"),
    "double_as_longlong": _float32_bits("i8"),
    "longlong_as_double": _float32_bits("f8"),
    "ldexpf": _scale_by_power_of_two,
    "ldexp": _scale_by_power_of_two,
    "scalbnf": _scale_by_power_of_two,
    "scalbn": _scale_by_power_of_two,
    "powif": lambda base, exponent: np.power(base, exponent.astype(np.float64)),
    "powi": lambda base, exponent: np.power(base, exponent.astype(np.float64)),
    "ilogbf": _exponent,
    "ilogb": _exponent,
    "llrintf": lambda values: float_to_signed(np.rint(values), np.dtype(np.int64)),
    "llrint": lambda values: float_to_signed(np.rint(values), np.dtype(np.int64)),
    "llroundf": lambda values: float_to_signed(math.round_half_away(values), np.dtype(np.int64)),
    "llround": lambda values: float_to_signed(math.round_half_away(values), np.dtype(np.int64)),
    # __nv_roundf rounds halves away from zero, __nv_tanf and friends are in the table above.
}

# What AMD's library calls by names of its own.
_AMD: dict[str, ElementwiseFunction] = {
    "i0": _UNARY_AND_BINARY["cyl_bessel_i0"],
    "i1": _UNARY_AND_BINARY["cyl_bessel_i1"],
    "iabs": np.abs,
    "isfinite": _EXACT["isfinited"],
    "isinf": _EXACT["isinfd"],
    "isnan": _EXACT["isnand"],
    "pown": _EXACT["powi"],
    "signbit": _EXACT["signbitd"],
}

# x2y_rounding: the conversions of libdevice, by source and destination letters.
_LETTERS = {"double": "f64", "float": "f32", "int": "i32", "uint": "i32", "ll": "i64", "ull": "i64"}
_TO_WHOLE = {"rn": np.rint, "rz": np.trunc, "rd": np.floor, "ru": np.ceil}
_ROUNDED = {
    "fadd": np.add,
    "fsub": np.subtract,
    "fmul": np.multiply,
    "fdiv": np.divide,
    "dadd": np.add,
    "dsub": np.subtract,
    "dmul": np.multiply,
    "ddiv": np.divide,
    "fma": math.fused_multiply_add,
    "fmaf": math.fused_multiply_add,
    "fsqrt": np.sqrt,
    "dsqrt": np.sqrt,
    "frcp": _reciprocal,
    "frsqrt": math.reciprocal_sqrt,
    "drcp": _reciprocal,
}


def libdevice_function(symbol: str) -> ElementwiseFunction:
    """The function behind a symbol. Raises UnsupportedOp, naming the symbol."""
    name = symbol.removeprefix("__nv_").removeprefix("__ocml_").removeprefix("__triton_hip_")
    for suffix in ("_f32", "_f64"):
        if symbol.startswith("__ocml_") and name.endswith(suffix):
            name = name.removesuffix(suffix)
    if name in _AMD and not symbol.startswith("__nv_"):
        return _AMD[name]
    if name in _EXACT:
        return _EXACT[name]
    for candidate in (name, name.removesuffix("f"), name.removesuffix("_rn")):
        if candidate in _UNARY_AND_BINARY:
            return _UNARY_AND_BINARY[candidate]
    converted = _rounded_arithmetic(name) or _conversion(name)
    if converted is None:
        raise UnsupportedOp(f"unsupported libdevice function {symbol}")
    return converted


def _rounded_arithmetic(name: str) -> ElementwiseFunction | None:
    """`fadd_rn` and friends. Directed rounding is not modelled: rn only."""
    operation, _, rounding = name.rpartition("_")
    if rounding != "rn":
        return None
    return _ROUNDED.get(operation)


def _conversion(name: str) -> ElementwiseFunction | None:
    types, _, rounding = name.rpartition("_")
    source, separator, target = types.partition("2")
    if not separator or source not in _LETTERS or target not in _LETTERS or rounding not in _TO_WHOLE:
        return None
    if target in ("double", "float"):
        if rounding != "rn":
            return None
        if source in ("uint", "ull"):
            return lambda values: unsigned_to_float(values, _LETTERS[target])
        return lambda values: values.astype(numpy_dtype(_LETTERS[target]))
    whole, dtype = _TO_WHOLE[rounding], numpy_dtype(_LETTERS[target])
    convert = float_to_unsigned if target.startswith("u") else float_to_signed
    return lambda values: convert(whole(values), dtype)


def _reverse_bits(values: Array) -> Array:
    raw = np.ascontiguousarray(values)
    as_bytes = raw.view(np.uint8).reshape(*raw.shape, raw.dtype.itemsize)
    bits = np.unpackbits(as_bytes, axis=-1, bitorder="little")
    return np.packbits(bits[..., ::-1], axis=-1, bitorder="little").view(raw.dtype).reshape(raw.shape)


@elementwise("tt.extern_elementwise")
def _extern(signature: Signature) -> ElementwiseFunction:
    function = libdevice_function(signature.attributes["symbol"])
    result = numpy_dtype(signature.result)

    def compute(*operands: Array) -> Array:
        return function(*operands).astype(result, copy=False)

    return compute
