"""libdevice by symbol, as `tt.extern_elementwise` names it: `__nv_NAME` for f64, `__nv_NAMEf` for f32
(`__ocml_NAME_f32` / `_f64` on AMD). CUDA's libdevice user guide gives each function's meaning."""

from __future__ import annotations

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
    return (np.frexp(values)[1] - 1).astype(np.int32)


def _logb(values: Array) -> Array:
    exponent = (np.frexp(values)[1] - 1).astype(values.dtype)
    exponent = np.where(values == 0, -np.inf, exponent)
    return np.where(np.isinf(values), np.inf, np.where(np.isnan(values), values, exponent)).astype(values.dtype)


def _positive_difference(left: Array, right: Array) -> Array:
    return np.where(left > right, left - right, np.where(np.isnan(left + right), left + right, 0)).astype(left.dtype)


def _hypotenuse3(a: Array, b: Array, c: Array) -> Array:
    return np.hypot(np.hypot(a, b), c)


def _remainder(left: Array, right: Array) -> Array:
    """IEEE remainder: the quotient is rounded to even."""
    wide, divisor = left.astype(np.float64), right.astype(np.float64)
    rest = np.fmod(wide, divisor)
    magnitude, half = np.abs(divisor), np.abs(rest) * 2
    quotient_odd = np.fmod(np.trunc(np.abs(wide / divisor)), 2) == 1
    away = (half > magnitude) | ((half == magnitude) & quotient_odd)
    return np.where(away, rest - np.copysign(magnitude, rest), rest).astype(left.dtype)


def _exp10(values: Array) -> Array:
    return np.power(values.dtype.type(10), values)


def _sin_pi(values: Array) -> Array:
    return np.sin(np.remainder(values.astype(np.float64), 2) * np.pi).astype(values.dtype)


def _cos_pi(values: Array) -> Array:
    return np.cos(np.remainder(values.astype(np.float64), 2) * np.pi).astype(values.dtype)


def _reciprocal(values: Array) -> Array:
    return np.divide(values.dtype.type(1), values)


def _scaled_erfc(values: Array) -> Array:
    return through_torch(torch.special.erfcx)(values)


def _normal_cdf(values: Array) -> Array:
    return through_torch(torch.special.ndtr)(values)


_UNARY_AND_BINARY: dict[str, Any] = {
    **math.FLOAT_FUNCTIONS,
    "abs": np.abs,
    "fabs": np.abs,
    "cospi": _cos_pi,
    "cyl_bessel_i0": through_torch(torch.special.i0),
    "cyl_bessel_i1": through_torch(torch.special.i1),
    "erfcx": _scaled_erfc,
    "erfinv": through_torch(torch.erfinv),
    "exp10": _exp10,
    "fast_cos": np.cos,
    "fast_div": np.divide,
    "fast_exp": np.exp,
    "fast_exp10": _exp10,
    "fast_log": np.log,
    "fast_log10": np.log10,
    "fast_log2": np.log2,
    "fast_pow": math.power,
    "fast_sin": np.sin,
    "fast_tan": np.tan,
    "fast_tanh": np.tanh,
    "fdim": _positive_difference,
    "fmax": maximum_number,
    "fmin": minimum_number,
    "fmod": np.fmod,
    "hypot": np.hypot,
    "j0": through_torch(torch.special.bessel_j0),
    "j1": through_torch(torch.special.bessel_j1),
    "lgamma": through_torch(torch.lgamma),
    "logb": _logb,
    "nearbyint": _nearest_integer,
    "nextafter": np.nextafter,
    "norm3d": _hypotenuse3,
    "normcdf": _normal_cdf,
    "normcdfinv": through_torch(torch.special.ndtri),
    "pow": math.power,
    "rcbrt": lambda values: _reciprocal(np.cbrt(values)),
    "remainder": _remainder,
    "rhypot": lambda left, right: _reciprocal(np.hypot(left, right)),
    "rint": _nearest_integer,
    "saturate": _saturate,
    "sinpi": _sin_pi,
    "tgamma": lambda values: through_torch(_gamma)(values),
    "y0": through_torch(torch.special.bessel_y0),
    "y1": through_torch(torch.special.bessel_y1),
}


def _gamma(values: torch.Tensor) -> torch.Tensor:
    """Gamma from log-gamma, with the sign of the negative axis; poles and negative integers give NaN."""
    wide = values.double()
    positive = torch.exp(torch.lgamma(wide))
    sign = torch.where((wide < 0) & (torch.remainder(torch.floor(wide), 2) == 1), -1.0, 1.0)
    result = torch.where(wide > 0, positive, sign * positive)
    result = torch.where((wide < 0) & (wide == torch.floor(wide)), torch.nan, result)
    return torch.where(wide == 0, torch.copysign(torch.full_like(wide, torch.inf), wide), result).to(values.dtype)


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
    "sad": lambda a, b, c: np.abs(a - b) + c,
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
    "powif": lambda base, exponent: np.power(base, exponent.astype(base.dtype)),
    "powi": lambda base, exponent: np.power(base, exponent.astype(base.dtype)),
    "ilogbf": _exponent,
    "ilogb": _exponent,
    "llrintf": lambda values: float_to_signed(np.rint(values), np.dtype(np.int64)),
    "llrint": lambda values: float_to_signed(np.rint(values), np.dtype(np.int64)),
    "llroundf": lambda values: float_to_signed(math.round_half_away(values), np.dtype(np.int64)),
    "llround": lambda values: float_to_signed(math.round_half_away(values), np.dtype(np.int64)),
    # __nv_roundf rounds halves away from zero, __nv_tanf and friends are in the table above.
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
    "dmul": np.multiply,
    "ddiv": np.divide,
    "fma": math.fused_multiply_add,
    "fmaf": math.fused_multiply_add,
    "fsqrt": np.sqrt,
    "dsqrt": np.sqrt,
    "frcp": _reciprocal,
    "drcp": _reciprocal,
}


def libdevice_function(symbol: str) -> ElementwiseFunction:
    """The function behind a symbol. Raises UnsupportedOp, naming the symbol."""
    name = symbol.removeprefix("__nv_").removeprefix("__ocml_")
    for suffix in ("_f32", "_f64"):
        if symbol.startswith("__ocml_") and name.endswith(suffix):
            name = name.removesuffix(suffix)
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
