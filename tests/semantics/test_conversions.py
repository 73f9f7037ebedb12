"""Every conversion between float types, and between floats and integers, against exact arithmetic.

The oracle knows a format by its list of values: it finds the two neighbours of a number and takes the nearer
one (ties to the even pattern), so it rounds once by construction.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from op_call import EXAMPLES, WIDTHS, call, integers, raw, same_bits, wrapped

from harness.cases.dtypes import dtype_named
from harness.goldens.rounding import rounded
from harness.semantics import numpy_dtype
from harness.semantics.types import Array

NARROW = ("f16", "bf16", "f8E4M3FN", "f8E5M2", "f8E4M3FNUZ", "f8E5M2FNUZ", "f8E4M3B11FNUZ")
WIDE = ("f32", "f64")


def patterns(element: str) -> Array:
    """Every value of a narrow type."""
    dtype = numpy_dtype(element)
    return np.arange(1 << dtype.itemsize * 8, dtype=np.uint32).astype(f"u{dtype.itemsize}").view(dtype)


def magnitudes(element: str) -> Array:
    """The finite non-negative values of a narrow type as f64, ascending: position and bit pattern agree."""
    with np.errstate(all="ignore"):
        values = patterns(element).astype(np.float64)
    half = values[: values.size // 2]
    return half[np.isfinite(half)]


def nearest(values: Array, element: str) -> Array:
    """The oracle: `values` (f64) in a narrow type. fp8 saturates (PTX cvt.satfinite), f16 and bf16 overflow."""
    table, dtype = magnitudes(element), numpy_dtype(element)
    size = np.abs(values)
    above = np.clip(np.searchsorted(table, size), 1, table.size - 1)
    low, high = table[above - 1], table[above]
    middle = (low + high) / 2
    up = (size > middle) | ((size == middle) & (above % 2 == 0))
    rounded = np.where(up, high, low)
    limit = table[-1] + (table[-1] - table[-2]) / 2
    rounded = np.where(size >= limit, table[-1] if dtype.itemsize == 1 else np.inf, rounded)
    with np.errstate(all="ignore"):
        return np.where(np.isnan(values), np.nan, np.copysign(rounded, values)).astype(dtype)


def telling(element: str) -> Array:
    """Numbers (f64) at which rounding to a narrow type is hard: its values, the middles between them, what lies
    just beside those as f64 and as f32, and beyond its range."""
    table = magnitudes(element)[:: 1 if numpy_dtype(element).itemsize == 1 else 37]
    middles = (table[1:] + table[:-1]) / 2
    last = magnitudes(element)[-3:]
    beyond = np.array([last[2] + (last[2] - last[1]) / 2, last[2] * 1.01, last[2] * 2, 1e39, 1e300, np.inf, np.nan])
    numbers = np.concatenate((table, middles, last, beyond))
    numbers = np.concatenate((numbers, np.nextafter(numbers, np.inf), np.nextafter(numbers, 0)))
    with np.errstate(all="ignore"):
        single = numbers.astype(np.float32)
        beside = (np.nextafter(single, np.float32(np.inf)), np.nextafter(single, np.float32(0)))
        numbers = np.concatenate((numbers, *(values.astype(np.float64) for values in beside)))
    return np.concatenate((numbers, -numbers))


@pytest.mark.parametrize("target", NARROW)
@pytest.mark.parametrize("source", WIDE)
def test_wide_to_narrow_rounds_once(source: str, target: str) -> None:
    with np.errstate(all="ignore"):
        values = telling(target).astype(numpy_dtype(source))
    want = nearest(values.astype(np.float64), target)
    for name in ("tt.fp_to_fp", "arith.truncf"):
        assert same_bits(call(name, source, target, values), want)


@pytest.mark.parametrize("target", NARROW)
@pytest.mark.parametrize("source", NARROW)
def test_narrow_to_narrow_rounds_once(source: str, target: str) -> None:
    values = patterns(source)
    with np.errstate(all="ignore"):
        want = values if source == target else nearest(values.astype(np.float64), target)
    assert same_bits(call("tt.fp_to_fp", source, target, values), want)


@pytest.mark.parametrize("source", NARROW)
def test_narrow_to_wide_is_exact(source: str) -> None:
    values = patterns(source)
    with np.errstate(all="ignore"):
        exact = values.astype(np.float64)
        single = exact.astype(np.float32)
    assert same_bits(call("arith.extf", source, "f64", values), exact)
    assert same_bits(call("arith.extf", source, "f32", values), single)


def test_double_to_single_is_the_machine_s() -> None:
    values = np.array([1 + 2**-24, 1 + 2**-24 + 2**-50, 1e39, -1e39, 1e-46, np.nan, np.inf, -0.0])
    with np.errstate(all="ignore"):
        assert same_bits(call("arith.truncf", "f64", "f32", values), values.astype(np.float32))


@pytest.mark.parametrize("target", ["f8E4M3FN", "f8E5M2"])
def test_infinity_saturates_in_fp8(target: str) -> None:
    """PTX, cvt.satfinite: past MAX_NORM, infinity included, the result is MAX_NORM with the sign; NaN is NaN."""
    largest = float(magnitudes(target)[-1])
    values = np.array([np.inf, -np.inf, 1e38, -1e38, largest * 1.2], np.float32)
    got = call("tt.fp_to_fp", "f32", target, values, rounding="rtne").astype(np.float32)
    assert got.tolist() == [largest, -largest, largest, -largest, largest]
    assert np.isnan(call("tt.fp_to_fp", "f32", target, np.array([np.nan], np.float32)).astype(np.float32)).all()


@pytest.mark.parametrize("target", ["f16", "bf16", "f8E5M2", "f8E4M3FN", "f8E5M2FNUZ"])
@pytest.mark.parametrize("source", WIDE)
def test_rounding_towards_zero(source: str, target: str) -> None:
    with np.errstate(all="ignore"):
        values = telling(target).astype(numpy_dtype(source))
    exact, table = values.astype(np.float64), magnitudes(target)
    finite = np.isfinite(exact)
    below = table[np.searchsorted(table, np.abs(exact[finite]), side="right") - 1]
    got = call("tt.fp_to_fp", source, target, values, rounding="rtz")[finite].astype(np.float64)
    assert np.array_equal(np.abs(got), below)
    sign = np.signbit(got) == np.signbit(exact[finite])
    assert (sign | (got == 0)).all()


@pytest.mark.parametrize("bits", WIDTHS)
@pytest.mark.parametrize("name", ["arith.fptosi", "arith.fptoui"])
def test_float_to_integer_truncates_and_saturates(name: str, bits: int) -> None:
    signed = name == "arith.fptosi"
    least, most = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    edges = [0.0, 0.5, -0.5, -0.99, 1.5, -1.5, 2.5, least, least - 1, most, most + 1, most / 2 + 0.25, 1e300, -1e300]
    values = np.array([*edges, *(np.nextafter(float(edge), 0) for edge in edges), np.inf, -np.inf, np.nan])
    clipped = [0.0 if math.isnan(value) else min(max(value, least), most) for value in values.tolist()]
    want = [math.trunc(value) for value in clipped]
    got = call(name, "f64", f"i{bits}", values)
    assert got.tolist() == [wrapped(value, bits) for value in want]
    for source in ("f16", "bf16", "f8E4M3FN"):
        narrow = patterns(source)
        with np.errstate(all="ignore"):
            wide = narrow.astype(np.float64)
        assert np.array_equal(call(name, source, f"i{bits}", narrow), call(name, "f64", f"i{bits}", wide))


def exactly(value: int, element: str) -> float:
    """An integer rounded once to a float type."""
    if element == "f64":
        return float(value)  # CPython rounds big integers correctly
    fraction = {"f32": 24, "f16": 11, "bf16": 8, "f8E4M3FN": 4, "f8E5M2": 3}[element]
    size = abs(value)
    drop = max(0, size.bit_length() - fraction)
    kept, rest = size >> drop, size & ((1 << drop) - 1)
    half = 1 << drop >> 1
    if drop and (rest > half or (rest == half and kept & 1)):
        kept += 1
    largest = {"f16": 65504, "f8E4M3FN": 448, "f8E5M2": 57344}.get(element)
    rounded: float = float(kept << drop)
    if largest is not None and rounded > largest:
        rounded = math.inf if element == "f16" else largest
    return -rounded if value < 0 else rounded


@pytest.mark.parametrize("bits", WIDTHS)
@EXAMPLES
@given(values=st.data())
def test_integer_to_float_rounds_once(bits: int, values: st.DataObject) -> None:
    numbers = values.draw(st.lists(integers(bits), min_size=1, max_size=8))
    if bits == 64:
        # Just above the middle between two bf16 values, by less than f64 can hold.
        numbers += [(1 << 60) + (1 << 52) + 1, -((1 << 60) + (1 << 52) + 1), (1 << 62) + (1 << 54) + 1]
    held = np.array(numbers, f"i{bits // 8}")
    for target in ("f64", "f32", "f16", "bf16", "f8E4M3FN", "f8E5M2"):
        signed = call("arith.sitofp", f"i{bits}", target, held).astype(np.float64)
        assert signed.tolist() == [exactly(number, target) for number in numbers], target
        unsigned = call("arith.uitofp", f"i{bits}", target, held).astype(np.float64)
        assert unsigned.tolist() == [exactly(raw(number, bits), target) for number in numbers], target


@pytest.mark.parametrize("target", ["f64", "f32", "f16", "bf16"])
def test_i1_to_float(target: str) -> None:
    bits = np.array([False, True])
    assert call("arith.uitofp", "i1", target, bits).astype(np.float64).tolist() == [0.0, 1.0]
    assert call("arith.sitofp", "i1", target, bits).astype(np.float64).tolist() == [0.0, -1.0]


@EXAMPLES
@given(value=st.floats(width=32))
@example(value=1 + 2.0**-11)
@example(value=1 + 3 * 2.0**-11)
@example(value=float(np.finfo(np.float32).max))
def test_tf32_keeps_ten_bits(value: float) -> None:
    from harness.semantics.conversions import round_to_tf32

    with np.errstate(all="ignore"):
        got = float(round_to_tf32(np.array([value], np.float32))[0])
    if not math.isfinite(value) or value == 0:
        assert got == value or (math.isnan(value) and math.isnan(got))
        return
    exponent = max(math.frexp(value)[1] - 11, -126 - 10)
    scaled = Fraction(value) / Fraction(2) ** exponent
    want = round(scaled) * Fraction(2) ** exponent
    assert got == (math.copysign(math.inf, value) if abs(want) >= 2**128 else float(want))


def test_bitcasts_keep_every_bit() -> None:
    for source, target in (("f16", "i16"), ("bf16", "i16"), ("f8E4M3FN", "i8"), ("f16", "bf16")):
        values = patterns(source)
        back = call("tt.bitcast", target, source, call("tt.bitcast", source, target, values))
        assert back.view(f"u{back.itemsize}").tolist() == values.view(f"u{values.itemsize}").tolist()


@pytest.mark.parametrize(
    ("name", "element"), [("fp8e4nv", "f8E4M3FN"), ("fp8e5", "f8E5M2"), ("fp16", "f16"), ("bf16", "bf16")]
)
def test_goldens_round_as_kernels_do(name: str, element: str) -> None:
    """Two implementations of one rule, saturation included."""
    values = telling(element)
    golden = rounded(torch.from_numpy(values), dtype_named(name))
    assert same_bits(golden, call("tt.fp_to_fp", "f64", element, values))
