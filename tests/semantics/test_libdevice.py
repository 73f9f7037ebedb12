"""Math and libdevice functions against float64 (f32) and long double or torch (f64), in units in the last place."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from op_call import call, same_bits

from harness.errors import UnsupportedOp
from harness.semantics.libdevice import libdevice_function
from harness.semantics.types import Array

Reference = Callable[..., Array]


def torch64(function: Callable[..., torch.Tensor]) -> Reference:
    return lambda *operands: function(*(torch.from_numpy(np.asarray(v, np.float64)) for v in operands)).numpy()


def elementwise64(function: Callable[..., float]) -> Reference:
    return np.vectorize(function, otypes=[np.float64])


def gamma(value: float) -> float:
    try:
        return math.gamma(value)
    except ValueError:
        return math.copysign(math.inf, value) if value == 0 else math.nan
    except OverflowError:
        return math.inf


EVERYWHERE, POSITIVE, UNIT, ABOVE_ONE = (-1e4, 1e4), (1e-30, 1e30), (-1.0, 1.0), (1.0, 1e4)
SMALL, ROOT = (-8.0, 8.0), (-1e9, 1e9)
# name: (reference on float64, where, ulp allowed)
UNARY: dict[str, tuple[Reference, tuple[float, float], int]] = {
    "acos": (np.arccos, UNIT, 2),
    "acosh": (np.arccosh, ABOVE_ONE, 4),
    "asin": (np.arcsin, UNIT, 2),
    "asinh": (np.arcsinh, EVERYWHERE, 4),
    "atan": (np.arctan, EVERYWHERE, 2),
    "atanh": (np.arctanh, UNIT, 4),
    "cbrt": (np.cbrt, ROOT, 2),
    "ceil": (np.ceil, EVERYWHERE, 0),
    "cos": (np.cos, EVERYWHERE, 2),
    "cosh": (np.cosh, SMALL, 2),
    "cyl_bessel_i0": (torch64(torch.special.i0), SMALL, 8),
    "cyl_bessel_i1": (torch64(torch.special.i1), SMALL, 8),
    "erf": (torch64(torch.erf), SMALL, 2),
    "erfc": (torch64(torch.erfc), SMALL, 8),
    "erfcx": (torch64(torch.special.erfcx), (-4.0, 8.0), 8),
    "erfinv": (torch64(torch.erfinv), UNIT, 4),
    "exp": (np.exp, (-80.0, 80.0), 2),
    "exp10": (lambda x: np.power(10.0, x), (-35.0, 35.0), 2),
    "exp2": (np.exp2, (-120.0, 120.0), 2),
    "expm1": (np.expm1, (-20.0, 20.0), 2),
    "fabs": (np.abs, EVERYWHERE, 0),
    "floor": (np.floor, EVERYWHERE, 0),
    "lgamma": (torch64(torch.lgamma), (2.5, 1e4), 6),
    "log": (np.log, POSITIVE, 2),
    "log10": (np.log10, POSITIVE, 2),
    "log1p": (np.log1p, (-0.99, 1e4), 2),
    "log2": (np.log2, POSITIVE, 2),
    "nearbyint": (np.rint, EVERYWHERE, 0),
    "normcdf": (lambda x: torch64(torch.erfc)(-x / math.sqrt(2.0)) / 2, (-5.0, 5.0), 16),
    "normcdfinv": (torch64(torch.special.ndtri), (0.001, 0.999), 8),
    "rcbrt": (lambda x: 1 / np.cbrt(x), ROOT, 2),
    "rint": (np.rint, EVERYWHERE, 0),
    "rsqrt": (lambda x: 1 / np.sqrt(x), POSITIVE, 2),
    "sin": (np.sin, EVERYWHERE, 2),
    "sinh": (np.sinh, SMALL, 2),
    "sqrt": (np.sqrt, POSITIVE, 0),
    "tan": (np.tan, EVERYWHERE, 4),
    "tanh": (np.tanh, SMALL, 4),
    "tgamma": (elementwise64(gamma), (-20.0, 30.0), 4),
    "trunc": (np.trunc, EVERYWHERE, 0),
}
BINARY: dict[str, tuple[Reference, tuple[float, float], int]] = {
    "atan2": (np.arctan2, EVERYWHERE, 2),
    "copysign": (np.copysign, EVERYWHERE, 0),
    "fdim": (lambda a, b: np.where(a > b, a - b, 0.0), EVERYWHERE, 0),
    "fmod": (np.fmod, EVERYWHERE, 0),
    "hypot": (np.hypot, EVERYWHERE, 2),
    "pow": (np.power, (0.01, 30.0), 2),
    "remainder": (elementwise64(math.remainder), EVERYWHERE, 0),
    "rhypot": (lambda a, b: 1 / np.hypot(a, b), EVERYWHERE, 2),
}


def extern(symbol: str, kind: str, *operands: Array) -> Array:
    return call("tt.extern_elementwise", kind, kind, *operands, symbol=symbol)


def sample(low: float, high: float, seed: int) -> Array:
    """f32 numbers of a range, whole and half ones among them."""
    numbers = np.random.default_rng(seed)
    even = numbers.uniform(low, high, 200)
    if low > 0:
        even = np.exp(numbers.uniform(math.log(low), math.log(high), 200))
    halves = np.arange(-12, 13) / 2
    return np.concatenate((even, halves[(halves >= low) & (halves <= high)])).astype(np.float32)


def ulps(got: Array, want: Array) -> float:
    """The largest distance, in units in the last place of `got`'s type; NaN must meet NaN."""
    wide = want.astype(got.dtype)
    same = (got == wide) | (np.isnan(got) & np.isnan(wide))
    if same.all():
        return 0.0
    spacing = np.spacing(np.maximum(np.abs(wide[~same]), np.finfo(got.dtype).tiny))
    return float((np.abs(got[~same].astype(np.longdouble) - want[~same].astype(np.longdouble)) / spacing).max())


@pytest.mark.parametrize("name", UNARY)
def test_unary_in_single_precision(name: str) -> None:
    reference, where, allowed = UNARY[name]
    values = sample(*where, seed=1)
    with np.errstate(all="ignore"):
        want = reference(values.astype(np.float64))
    assert ulps(extern(f"__nv_{name}f", "f32", values), want) <= max(allowed, 0.51)
    if name in ("fabs", "cyl_bessel_i0", "cyl_bessel_i1"):
        return
    assert same_bits(extern(f"__nv_{name}f", "f32", values), extern(f"__ocml_{name}_f32", "f32", values))


@pytest.mark.parametrize("name", UNARY)
def test_unary_in_double_precision(name: str) -> None:
    reference, where, allowed = UNARY[name]
    values = sample(*where, seed=2).astype(np.float64)
    with np.errstate(all="ignore"):
        want = reference(values)
    assert ulps(extern(f"__nv_{name}", "f64", values), want) <= 2 * allowed


@pytest.mark.parametrize("name", BINARY)
def test_binary_functions(name: str) -> None:
    reference, where, allowed = BINARY[name]
    left, right = sample(*where, seed=3), sample(*where, seed=4)[::-1].copy()
    right[right == 0] = 1
    with np.errstate(all="ignore"):
        want = reference(left.astype(np.float64), right.astype(np.float64))
        assert ulps(extern(f"__nv_{name}f", "f32", left, right), want) <= max(allowed, 0.51)
        wide = extern(f"__nv_{name}", "f64", left.astype(np.float64), right.astype(np.float64))
    assert ulps(wide, want) <= 2 * allowed


def test_sine_and_cosine_of_pi_multiples_are_exact_at_halves() -> None:
    for kind, suffix in (("f32", "f"), ("f64", "")):
        numbers = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, -0.5, -1.0, -1.5, 1e6 + 0.5, 1e6]
        values = np.array(numbers, np.float32 if kind == "f32" else np.float64)
        sines = extern(f"__nv_sinpi{suffix}", kind, values)
        cosines = extern(f"__nv_cospi{suffix}", kind, values)
        assert sines.tolist() == [0, 1, 0, -1, 0, 1, -1, 0, 1, 1, 0]
        assert cosines.tolist() == [1, 0, -1, 0, 1, 0, 0, -1, 0, 0, 1]
    values = np.linspace(-0.49, 0.49, 97, dtype=np.float32)
    wide = values.astype(np.float64)
    assert ulps(extern("__nv_sinpif", "f32", values + np.float32(0)), np.sin(np.pi * wide)) <= 1
    assert ulps(extern("__nv_cospif", "f32", values), np.cos(np.pi * wide)) <= 1


@pytest.mark.parametrize(
    ("name", "operands", "want"),
    [
        ("fdim", (-math.inf, math.inf), 0.0),
        ("fdim", (math.nan, 1.0), math.nan),
        ("remainder", (5.0, 2.0), 1.0),
        ("remainder", (3.0, 2.0), -1.0),
        ("remainder", (1e308, 1.7e308), 1e308 - 1.7e308),
        ("remainder", (1.0, math.inf), 1.0),
        ("remainder", (2.0**60 + 2.0**8, 2.0**9), -(2.0**8) if (2**60 // 2**9) % 2 else 2.0**8),
        ("tgamma", (0.0,), math.inf),
        ("tgamma", (-0.0,), -math.inf),
        ("tgamma", (-3.0,), math.nan),
        ("tgamma", (171.0,), math.gamma(171.0)),
        ("tgamma", (200.0,), math.inf),
        ("logb", (0.0,), -math.inf),
        ("logb", (5e-324,), -1074.0),
        ("nextafter", (1.0, 2.0), 1 + 2.0**-52),
        ("saturate", (math.nan,), 0.0),
        ("fmax", (math.nan, 1.0), 1.0),
        ("round", (2.5,), 3.0),
        ("round", (-0.5,), -1.0),
        ("round", (0.49999999999999994,), 0.0),
        ("rint", (2.5,), 2.0),
    ],
)
def test_special_values(name: str, operands: tuple[float, ...], want: float) -> None:
    got = extern(f"__nv_{name}", "f64", *(np.array([value]) for value in operands))[0]
    assert math.isnan(got) if math.isnan(want) else got == want and np.signbit(got) == np.signbit(want)


@pytest.mark.parametrize(
    ("symbol", "kinds", "result", "operands", "want"),
    [
        ("__nv_ffs", ("i32",), "i32", (0,), 0),
        ("__nv_ffs", ("i32",), "i32", (8,), 4),
        ("__nv_ffsll", ("i64",), "i32", (1 << 40,), 41),
        ("__nv_clz", ("i32",), "i32", (1,), 31),
        ("__nv_clzll", ("i64",), "i32", (1,), 63),
        ("__nv_popcll", ("i64",), "i32", (-1,), 64),
        ("__nv_brev", ("i32",), "i32", (1,), -(1 << 31)),
        ("__nv_mul24", ("i32", "i32"), "i32", (0x1FFFFFF, 3), -3),
        ("__nv_umul24", ("i32", "i32"), "i32", (0x1FFFFFF, 3), 3 * 0xFFFFFF),
        ("__nv_sad", ("i32", "i32", "i32"), "i32", (2_000_000_000, -2_000_000_000, 5), 4_000_000_005 - (1 << 32)),
        ("__nv_usad", ("i32", "i32", "i32"), "i32", (-1, 1, 5), -1 - 1 + 5),
        ("__nv_hadd", ("i32", "i32"), "i32", ((1 << 31) - 1, (1 << 31) - 2), (1 << 31) - 2),
        ("__nv_rhadd", ("i32", "i32"), "i32", (-3, -2), -2),
        ("__nv_uhadd", ("i32", "i32"), "i32", (-1, -3), -2),
        ("__nv_urhadd", ("i32", "i32"), "i32", (-1, -2), -1),
        ("__nv_ilogb", ("f64",), "i32", (0.0,), -(1 << 31)),
        ("__nv_ilogb", ("f64",), "i32", (math.inf,), (1 << 31) - 1),
        ("__nv_ilogb", ("f64",), "i32", (10.0,), 3),
        ("__nv_isnand", ("f64",), "i32", (math.nan,), 1),
        ("__nv_signbitd", ("f64",), "i32", (-0.0,), 1),
        ("__nv_llround", ("f64",), "i64", (-2.5,), -3),
        ("__nv_llrint", ("f64",), "i64", (1e300,), (1 << 63) - 1),
        ("__nv_double2int_rd", ("f64",), "i32", (-1.5,), -2),
        ("__nv_double2uint_ru", ("f64",), "i32", (3e9,), 3_000_000_000 - (1 << 32)),
        ("__nv_ldexp", ("f64", "i32"), "f64", (1.0, -1074), 5e-324),
        ("__nv_powi", ("f64", "i32"), "f64", (-2.0, 3), -8.0),
        ("__nv_uint2double_rn", ("i32",), "f64", (-1,), float((1 << 32) - 1)),
        ("__nv_dsub_rn", ("f64", "f64"), "f64", (1.0, 3.0), -2.0),
        ("__ocml_isnan_f64", ("f64",), "i32", (math.nan,), 1),
        ("__ocml_isfinite_f64", ("f64",), "i32", (math.inf,), 0),
        ("__ocml_signbit_f64", ("f64",), "i32", (-0.0,), 1),
        ("__ocml_pown_f64", ("f64", "i32"), "f64", (-2.0, 3), -8.0),
        ("__triton_hip_iabs", ("i32",), "i32", (-7,), 7),
        ("__triton_hip_fabs", ("f64",), "f64", (-7.0,), 7.0),
        ("__triton_hip_llrint", ("f64",), "i64", (2.5,), 2),
        ("__nv_norm4d", ("f64",) * 4, "f64", (1e200, 1e200, 1e200, 1e200), 2e200),
    ],
)
def test_integer_and_mixed_functions(
    symbol: str, kinds: tuple[str, ...], result: str, operands: tuple[Any, ...], want: Any
) -> None:
    dtypes = {"i32": np.int32, "i64": np.int64, "f64": np.float64}
    arrays = [np.array([value], dtypes[kind]) for value, kind in zip(operands, kinds, strict=True)]
    assert call("tt.extern_elementwise", kinds, result, *arrays, symbol=symbol).tolist() == [want]


def test_directed_rounding_is_refused_by_name() -> None:
    for symbol in ("__nv_fadd_rz", "__nv_fma_ru", "__nv_int2float_rd", "__nv_nothing"):
        with pytest.raises(UnsupportedOp, match=symbol):
            libdevice_function(symbol)
