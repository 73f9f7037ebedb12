"""Float ops: IEEE rules for NaN and signed zeros, and one rounding in every type."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from op_call import EXAMPLES, call, same_bits

from harness.semantics import numpy_dtype
from harness.semantics.math import FLOAT_FUNCTIONS
from harness.semantics.tensor import combiner_for
from harness.semantics.types import Array

KINDS = ("f64", "f32", "f16", "bf16")
SPECIAL = (math.nan, -math.inf, -1.5, -0.0, 0.0, 1.0, math.inf)
PAIRS = list(itertools.product(SPECIAL, SPECIAL))


def pairs(kind: str) -> tuple[Array, Array]:
    dtype = numpy_dtype(kind)
    return np.array([a for a, _ in PAIRS]).astype(dtype), np.array([b for _, b in PAIRS]).astype(dtype)


def greater(a: float, b: float) -> float:
    return a if (a, math.copysign(1, a)) >= (b, math.copysign(1, b)) else b


def lesser(a: float, b: float) -> float:
    return a if (a, math.copysign(1, a)) <= (b, math.copysign(1, b)) else b


def extreme(choose: Callable[[float, float], float], propagates: bool, a: float, b: float) -> float:
    if math.isnan(a) or math.isnan(b):
        return math.nan if propagates or (math.isnan(a) and math.isnan(b)) else b if math.isnan(a) else a
    return choose(a, b)


EXTREMES: dict[str, tuple[Callable[[float, float], float], bool]] = {
    "arith.maximumf": (greater, True),
    "arith.minimumf": (lesser, True),
    "arith.maxnumf": (greater, False),
    "arith.minnumf": (lesser, False),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", EXTREMES)
def test_minimum_and_maximum(name: str, kind: str) -> None:
    choose, propagates = EXTREMES[name]
    want = np.array([extreme(choose, propagates, a, b) for a, b in PAIRS]).astype(numpy_dtype(kind))
    assert same_bits(call(name, kind, kind, *pairs(kind)), want)


PREDICATES: dict[str, Callable[[float, float], bool]] = {
    "eq": lambda a, b: a == b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "ne": lambda a, b: a != b,
}


@pytest.mark.parametrize("kind", (*KINDS, "f8E5M2"))
def test_comparisons_with_nan(kind: str) -> None:
    left, right = pairs(kind)
    unordered = [math.isnan(a) or math.isnan(b) for a, b in PAIRS]
    expected = {
        "true": [True] * len(PAIRS),
        "false": [False] * len(PAIRS),
        "uno": unordered,
        "ord": [not nan for nan in unordered],
    }
    for name, holds in PREDICATES.items():
        expected[f"o{name}"] = [holds(a, b) and not nan for (a, b), nan in zip(PAIRS, unordered, strict=True)]
        expected[f"u{name}"] = [holds(a, b) or nan for (a, b), nan in zip(PAIRS, unordered, strict=True)]
    for predicate, want in expected.items():
        assert call("arith.cmpf", kind, "i1", left, right, predicate=predicate).tolist() == want, predicate


@pytest.mark.parametrize("kind", KINDS)
def test_clamp(kind: str) -> None:
    dtype = numpy_dtype(kind)
    values = np.array([math.nan, -3, -1, -0.0, 0.5, 2, math.inf]).astype(dtype)
    low, high = np.array([-1.0]).astype(dtype), np.array([1.0]).astype(dtype)
    loose = call("tt.clampf", kind, kind, values, low, high, propagateNan="none")
    strict = call("tt.clampf", kind, kind, values, low, high, propagateNan="all")
    assert same_bits(loose, np.array([-1, -1, -1, -0.0, 0.5, 1, 1]).astype(dtype))
    assert same_bits(strict, np.array([math.nan, -1, -1, -0.0, 0.5, 1, 1]).astype(dtype))


def rounded(value: Fraction, kind: str) -> Array:
    """An exact number as a float of `kind`, rounded once to nearest even (finite results only)."""
    fraction, lowest = {"f64": (53, -1074), "f32": (24, -149), "f16": (11, -24), "bf16": (8, -133)}[kind]
    dtype = numpy_dtype(kind)
    if value == 0:
        return np.zeros(1, dtype)
    exponent = value.numerator.bit_length() - value.denominator.bit_length() - fraction - 1
    while abs(value) >= Fraction(2) ** (exponent + fraction):
        exponent += 1
    unit = Fraction(2) ** max(exponent, lowest)
    return np.array([float(round(value / unit) * unit)]).astype(dtype)


def finite(kind: str) -> st.SearchStrategy[float]:
    if kind == "f64":
        return st.floats(-1e150, 1e150, allow_subnormal=False).filter(lambda v: v == 0 or abs(v) > 1e-140)
    limit = {"f32": 1e18, "f16": 200.0, "bf16": 1e18}[kind]
    dtype = numpy_dtype(kind)
    return st.floats(-limit, limit).map(lambda value: float(np.array([value]).astype(dtype)[0]))


ARITHMETIC: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "arith.addf": lambda a, b: a + b,
    "arith.subf": lambda a, b: a - b,
    "arith.mulf": lambda a, b: a * b,
    "arith.divf": lambda a, b: a / b,
    "tt.precise_divf": lambda a, b: a / b,
    "tt.approx_divf": lambda a, b: a / b,
}


def in_range(value: Fraction, kind: str) -> bool:
    largest = {"f64": 1e308, "f32": 3e38, "f16": 65000.0, "bf16": 3e38}[kind]
    smallest = {"f64": 1e-300, "f32": 1e-35, "f16": 1e-7, "bf16": 1e-35}[kind]
    return value == 0 or smallest < abs(value) < largest


@pytest.mark.parametrize("kind", KINDS)
@EXAMPLES
@given(data=st.data())
def test_arithmetic_rounds_once(kind: str, data: st.DataObject) -> None:
    a, b = data.draw(finite(kind)), data.draw(finite(kind))
    dtype = numpy_dtype(kind)
    for name, exact in ARITHMETIC.items():
        if name.endswith("divf") and b == 0:
            continue
        want = exact(Fraction(a), Fraction(b))
        if in_range(want, kind):
            got = call(name, kind, kind, np.array([a]).astype(dtype), np.array([b]).astype(dtype))
            assert float(got[0]) == float(rounded(want, kind)[0]), name


def fused(kind: str, a: float, b: float, c: float) -> None:
    dtype = numpy_dtype(kind)
    a, b, c = (float(np.array([value]).astype(dtype)[0]) for value in (a, b, c))
    want = Fraction(a) * Fraction(b) + Fraction(c)
    if in_range(want, kind):
        got = call("math.fma", kind, kind, *(np.array([value]).astype(dtype) for value in (a, b, c)))
        assert float(got[0]) == float(rounded(want, kind)[0])


@pytest.mark.parametrize("kind", KINDS)
@EXAMPLES
@given(data=st.data())
def test_fma_rounds_once(kind: str, data: st.DataObject) -> None:
    a, b, c = (data.draw(finite(kind)) for _ in range(3))
    fused(kind, a, b, c)
    fused(kind, a, b, -a * b)


@pytest.mark.parametrize("kind", KINDS)
@EXAMPLES
@given(data=st.data())
def test_fma_at_middles_between_two_results(kind: str, data: st.DataObject) -> None:
    """The product ends in half a unit of the sum, and something much smaller tips the balance."""
    bits = {"f64": 53, "f32": 24, "f16": 11, "bf16": 8}[kind]
    limit = 1 << min(bits - 1, 30)
    a, b = data.draw(st.integers(1, limit)), data.draw(st.integers(1, limit))
    shift = data.draw(st.integers(-(bits + 2), bits + 2))
    c = math.ldexp(data.draw(st.integers(-limit, limit)), shift)
    scale = 2.0**-bits if kind == "f16" else 1.0
    fused(kind, a * scale, float(b) * scale, c * scale)


def test_fma_of_doubles_needs_every_bit() -> None:
    one = 1 + 2.0**-52
    fused("f64", one, one, -1.0)
    fused("f64", one, 1 - 2.0**-52, -1.0)  # -2**-104
    fused("f64", 1 + 2.0**-30, 1 + 2.0**-23, 2.0**-80)
    fused("f64", 2.0**53 + 2, 1 + 2.0**-52, 2.0**-200)


def test_fma_keeps_special_values() -> None:
    for kind in KINDS:
        dtype = numpy_dtype(kind)
        columns = ([1, np.inf, 0, np.nan], [2, 0, 5, 1], [np.inf, 1, -0.0, 1])
        operands = [np.array(column).astype(dtype) for column in columns]
        want = np.array([np.inf, np.nan, 0.0, np.nan]).astype(dtype)
        assert same_bits(call("math.fma", kind, kind, *operands), want)
    # Too large for the type only before the addition.
    big = np.array([3e38], np.float32)
    assert call("math.fma", "f32", "f32", big, np.array([2], np.float32), -big)[0] == big[0]
    huge = np.array([1.5e308])
    assert call("math.fma", "f64", "f64", huge, np.array([2.0]), -huge)[0] == huge[0]


@EXAMPLES
@given(value=st.floats(allow_nan=True))
@example(value=0.49999999999999994)
@example(value=4503599627370497.5)
def test_rounding_functions(value: float) -> None:
    held = np.array([value])
    expected = {"math.floor": math.floor, "math.ceil": math.ceil, "math.trunc": math.trunc, "math.roundeven": round}
    for name, exact in expected.items():
        got = call(name, "f64", "f64", held)[0]
        want = float(exact(value)) if math.isfinite(value) else value
        assert got == want or (math.isnan(got) and math.isnan(want)), name
    away = call("math.round", "f64", "f64", held)[0]
    if math.isfinite(value):
        assert away == float(math.copysign(math.floor(Fraction(abs(value)) + Fraction(1, 2)), value))


@pytest.mark.parametrize("kind", KINDS)
def test_signs(kind: str) -> None:
    dtype = numpy_dtype(kind)
    values = np.array([-0.0, 0.0, -2.0, math.inf, -math.nan]).astype(dtype)
    bits = f"u{dtype.itemsize}"
    top = 1 << (dtype.itemsize * 8 - 1)
    held = values.view(bits)[:4]
    assert (call("arith.negf", kind, kind, values).view(bits)[:4] == held ^ np.array(top, bits)).all()
    assert (call("math.absf", kind, kind, values).view(bits)[:4] == held & np.array(top - 1, bits)).all()
    rest = call("arith.remf", kind, kind, values[2:3], np.array([1.5]).astype(dtype))
    assert same_bits(rest, np.array([-0.5]).astype(dtype))


@pytest.mark.parametrize(
    "name", ["arith.addi", "arith.muli", "arith.maxsi", "arith.minsi", "arith.maxui", "arith.andi", "arith.xori"]
)
def test_folding_i1_follows_the_op(name: str) -> None:
    combiner = combiner_for(name, "i1")
    assert combiner is not None
    left, right = np.array([False, False, True, True]), np.array([False, True, False, True])
    assert np.array_equal(combiner.pair(left, right), call(name, "i1", "i1", left, right))


@pytest.mark.parametrize("name", ["sin", "cos", "tan", "powf"])
def test_what_grows_with_its_argument_is_the_same_on_every_processor(name: str):
    """A rotary embedding multiplies a power by a position, and takes its sine."""
    function = FLOAT_FUNCTIONS[name]
    angles = np.linspace(0.001, 5000, 20011, dtype=np.float32)
    arguments = (angles, np.linspace(-2, 2, angles.size, dtype=np.float32)) if name == "powf" else (angles,)
    wide = function(*(one.astype(np.float64) for one in arguments))
    assert np.array_equal(function(*arguments), wide.astype(np.float32))
    assert function(*(one.astype(np.float64) for one in arguments)).dtype == np.float64
