"""Native functions of float32 against float64: every bound is in units in the last place of the exact value."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import torch
from examples import ALL, share_of
from executor_kit import EXAMPLES
from hypothesis import given
from hypothesis import strategies as st
from llvmlite import ir

from harness.executor.native import engine
from harness.executor.native.functions import FUNCTIONS
from harness.semantics.math import FLOAT_FUNCTIONS

WIDTH = 16
STRIDE = 1021  # of the bit patterns a sweep goes through
MOST_NORMAL = np.finfo(np.float32).max

# Functions that round once, or twice as `harness.semantics` does: nothing but the exact bits will do.
EXACT = ("math.absf", "math.ceil", "math.floor", "math.rsqrt", "math.sqrt")
BOUNDS = {
    "math.cos": 0.51,
    "math.erf": 1.2,
    "math.exp": 1.0,
    "math.exp2": 1.0,
    "math.log": 1.6,
    "math.log2": 1.2,
    "math.sin": 0.51,
    "math.tanh": 1.5,
}


def _through_torch(function: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[np.ndarray], np.ndarray]:
    return lambda values: function(torch.from_numpy(values)).numpy()


REFERENCES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "math.cos": np.cos,
    "math.erf": _through_torch(torch.erf),
    "math.exp": np.exp,
    "math.exp2": np.exp2,
    "math.log": np.log,
    "math.log2": np.log2,
    "math.sin": np.sin,
    "math.tanh": np.tanh,
}


@functools.cache
def _compiled(name: str, width: int | None) -> engine.Function:
    """target[i] = function(source[i]) for whole vectors of `width`, or one by one: (source, target, count)."""
    module = engine.module(name)
    lane = ir.FloatType()
    type_ = lane if width is None else ir.VectorType(lane, width)
    pointer, i64 = type_.as_pointer(), ir.IntType(64)
    function = ir.Function(module, ir.FunctionType(i64, [pointer, pointer, i64]), "apply")
    source, target, count = function.args
    start, loop, end = (function.append_basic_block(label) for label in ("start", "loop", "end"))
    ir.IRBuilder(start).branch(loop)
    builder = ir.IRBuilder(loop)
    at = builder.phi(i64)
    loaded = builder.load(builder.gep(source, [at], source_etype=type_), typ=type_, align=4)
    builder.store(FUNCTIONS[name](builder, loaded), builder.gep(target, [at], source_etype=type_), align=4)
    after = builder.add(at, i64(1))
    at.add_incoming(i64(0), start)
    at.add_incoming(after, loop)
    builder.cbranch(builder.icmp_signed("<", after, count), loop, end)
    ir.IRBuilder(end).ret(i64(0))
    return engine.compiled(module, "apply", function.args)


def _applied(name: str, values: np.ndarray, width: int | None = WIDTH) -> np.ndarray:
    lanes = width or 1
    source = np.zeros(-(-values.size // lanes) * lanes, np.float32)
    source[: values.size] = values
    target = np.empty_like(source)
    _compiled(name, width)(source.ctypes.data, target.ctypes.data, source.size // lanes)
    return target[: values.size]


def _errors(got: np.ndarray, want: np.ndarray) -> np.ndarray:
    """In units in the last place of `want` (float64); infinity counts as the number after the last."""
    number = np.clip(got.astype(np.float64), -(2.0**128), 2.0**128)
    limited = np.clip(want, -(2.0**128), 2.0**128)
    unit = np.spacing(np.minimum(np.abs(limited), MOST_NORMAL).astype(np.float32)).astype(np.float64)
    both_nan = np.isnan(got) & np.isnan(want)
    errors = np.abs(number - limited) / unit
    return np.where(both_nan, 0.0, np.where(np.isnan(errors), np.inf, errors))


def _assert_within(name: str, values: np.ndarray) -> None:
    with np.errstate(all="ignore"):
        want = REFERENCES[name](values.astype(np.float64))
        got = _applied(name, values)
        errors = _errors(got, want)
    worst = int(errors.argmax())
    assert errors[worst] <= BOUNDS[name], (
        f"{name}({values[worst]!r}) is {got[worst]!r}, not {want[worst]!r}: {errors[worst]} ulp"
    )


def _sweep() -> np.ndarray:
    """Every STRIDE-th bit pattern, or the profile's share of those."""
    return np.arange(0, 1 << 32, STRIDE * ALL // share_of(ALL), dtype=np.uint64).astype(np.uint32).view(np.float32)


def _dense(name: str) -> np.ndarray:
    """Where the function changes its formula or is near zero, many neighbours."""
    centres = {
        "math.cos": [math.pi / 4, math.pi / 2, math.pi, 3 * math.pi / 2, 32768.0],
        "math.erf": [0.925, 0.5, 3.9, 4.0, 1e-3],
        "math.exp": [0.0, 0.3465736, 88.72283, -87.33654, -103.27893, -103.97208],
        "math.exp2": [0.5, 127.99999, 128.0, -126.0, -149.0, -150.0],
        "math.log": [1.0, math.sqrt(0.5), math.sqrt(2), 2.0**-126, 2.0],
        "math.log2": [1.0, math.sqrt(0.5), math.sqrt(2), 2.0**-126, 2.0],
        "math.sin": [math.pi / 4, math.pi / 2, math.pi, 2 * math.pi, 32768.0],
        "math.tanh": [0.625, 9.01, 10.0, 1e-3],
    }[name]
    near = np.arange(-40_000, 40_000, dtype=np.int64)
    bits = np.concatenate([int(np.float32(centre).view(np.int32)) + near for centre in centres])
    return bits.astype(np.uint32).view(np.float32)


SPECIALS = np.array(
    [0.0, -0.0, 1.0, -1.0, 2.0**-149, -(2.0**-149), 2.0**-126, MOST_NORMAL, -MOST_NORMAL, np.inf, -np.inf, np.nan],
    np.float32,
)


@pytest.mark.parametrize("name", BOUNDS)
def test_error_over_all_magnitudes(name: str) -> None:
    _assert_within(name, _sweep())


@pytest.mark.parametrize("name", BOUNDS)
def test_error_where_formulas_meet(name: str) -> None:
    _assert_within(name, _dense(name))


@pytest.mark.parametrize("name", [*BOUNDS, *EXACT])
@pytest.mark.parametrize("width", [None, 1, 4, 16])
def test_special_values_at_every_width(name: str, width: int | None) -> None:
    with np.errstate(all="ignore"):
        want = np.asarray(FLOAT_FUNCTIONS[name.removeprefix("math.")](SPECIALS))
    got = _applied(name, SPECIALS, width)
    assert np.array_equal(np.isnan(got), np.isnan(want))
    numbers = ~np.isnan(want)
    assert np.array_equal(np.signbit(got[numbers]), np.signbit(want[numbers]))
    whole = np.isin(want, [0, 1, -1]) | np.isinf(want)
    assert np.array_equal(got[whole], want[whole])


@pytest.mark.parametrize("name", EXACT)
def test_exact_functions_have_the_bits_of_the_semantics(name: str) -> None:
    values = _sweep()
    with np.errstate(all="ignore"):
        want = FLOAT_FUNCTIONS[name.removeprefix("math.")](values)
    got = _applied(name, values)
    same = (got.view(np.uint32) == want.view(np.uint32)) | (np.isnan(got) & np.isnan(want))
    assert same.all(), values[~same][:5]


@pytest.mark.parametrize(
    ("name", "values", "want"),
    [
        ("math.exp2", np.arange(-149, 128), 2.0 ** np.arange(-149, 128)),
        ("math.log2", 2.0 ** np.arange(-149, 128), np.arange(-149, 128)),
        ("math.log", [1.0], [0.0]),
        ("math.exp", [0.0], [1.0]),
        ("math.erf", [4.0, -5.0, 1e30], [1.0, -1.0, 1.0]),
        ("math.tanh", [9.1, -20.0, 1e30], [1.0, -1.0, 1.0]),
    ],
)
def test_exact_results(name: str, values: Any, want: Any) -> None:
    assert np.array_equal(_applied(name, np.asarray(values, np.float32)), np.asarray(want, np.float32))


@EXAMPLES
@given(
    st.sampled_from(sorted({*BOUNDS, *EXACT})),
    st.lists(st.floats(width=32), min_size=1, max_size=40),
    st.sampled_from([2, 8, 16]),
)
def test_a_lane_computes_what_a_scalar_does(name: str, values: list[float], width: int) -> None:
    array = np.array(values, np.float32)
    alone, together = _applied(name, array, None), _applied(name, array, width)
    same = (alone.view(np.uint32) == together.view(np.uint32)) | (np.isnan(alone) & np.isnan(together))
    assert same.all(), array[~same]


@EXAMPLES
@given(st.sampled_from(["math.sin", "math.cos"]), st.floats(2.0**15, float(MOST_NORMAL), width=32), st.booleans())
def test_large_angles_with_many_digits(name: str, angle: float, negative: bool) -> None:
    value = -angle if negative else angle
    with mpmath.workdps(80):
        exact = float(getattr(mpmath, name.removeprefix("math."))(mpmath.mpf(value)))
    got = _applied(name, np.array([value], np.float32))
    assert _errors(got, np.array([exact]))[0] <= BOUNDS[name]
