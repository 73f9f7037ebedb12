"""Order-preserving maps, units in the last place, and rounding once."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import torch
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from harness.cases import Poison
from harness.cases.dtypes import DTYPES, DType
from harness.goldens.bits import bits_of, ordered, precision, ulp_distance, ulp_size
from harness.goldens.rounding import rounded, to_numpy

FLOATS = [dtype for dtype in DTYPES.values() if dtype.is_float]
NARROW = [dtype for dtype in FLOATS if dtype.itemsize <= 2]


def all_values(dtype: DType) -> np.ndarray:
    """Every bit pattern that is no NaN."""
    values = np.arange(2 ** (8 * dtype.itemsize), dtype=f"u{dtype.itemsize}").view(dtype.numpy)
    with np.errstate(invalid="ignore"):  # signalling NaNs
        return values[~np.isnan(values)]


@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_neighbours_differ_by_one_and_keep_their_order(dtype: DType) -> None:
    values = all_values(dtype)
    by_value = np.unique(values.astype(np.float64))
    order = np.unique(ordered(values))
    assert order.size == by_value.size  # both zeros are one
    assert (np.diff(order) == 1).all()
    assert (np.diff(ordered(by_value.astype(dtype.numpy))) == 1).all()


@pytest.mark.parametrize("dtype", NARROW, ids=str)
def test_ulp_size_is_the_distance_to_the_next_number(dtype: DType) -> None:
    values = all_values(dtype).astype(np.float64)
    positive = np.unique(values[np.isfinite(values) & (values >= 0)])
    assert (ulp_size(positive[:-1], dtype) == np.diff(positive)).all()


# Past the largest number NumPy's spacing is infinite.
@given(st.floats(max_value=1e308, min_value=-1e308))
def test_ulp_size_is_numpy_spacing_in_fp64(value: float) -> None:
    magnitude = np.array([abs(value)])
    assert ulp_size(magnitude, DTYPES["fp64"]) == np.spacing(magnitude)


@given(st.floats(width=32, max_value=2.0**127, min_value=-(2.0**127)))
def test_ulp_size_is_numpy_spacing_in_fp32(value: float) -> None:
    magnitude = np.array([abs(value)])
    assert ulp_size(magnitude, DTYPES["fp32"]) == np.spacing(magnitude.astype(np.float32)).astype(np.float64)


@given(st.floats(width=32, max_value=2.0**127, min_value=-(2.0**127)), st.integers(0, 40))
def test_ulp_distance_counts_nextafter(value: float, steps: int) -> None:
    start = np.array([value], dtype=np.float32)
    end = start
    for _ in range(steps):
        end = np.nextafter(end, np.float32(np.inf))
    assert ulp_distance(end, start) == steps == ulp_distance(start, end)


def test_ulp_distance_across_zero_and_to_nan() -> None:
    tiny = np.nextafter(np.array([0.0]), 1)
    assert ulp_distance(tiny, -tiny) == 2
    assert ulp_distance(np.array([0.0]), np.array([-0.0])) == 0
    assert ulp_distance(np.array([1.7e308]), np.array([-1.7e308])) > 2**63  # does not wrap
    assert np.isnan(ulp_distance(np.array([np.nan]), np.array([1.0])))


@examples(200)
@given(st.sampled_from(NARROW), st.data())
def test_references_are_rounded_once_to_nearest_even(dtype: DType, data: st.DataObject) -> None:
    """Ties and near ties, where rounding by way of float32 goes wrong."""
    values = all_values(dtype).astype(np.float64)
    positive = np.unique(values[np.isfinite(values) & (values >= 0)])
    at = data.draw(st.integers(0, positive.size - 2))
    low, high = positive[at], positive[at + 1]
    middle = (low + high) / 2
    golden = middle + data.draw(st.sampled_from([0.0, 1.0, -1.0])) * np.spacing(middle) * data.draw(
        st.integers(1, 2**20)
    )
    sign = data.draw(st.sampled_from([1.0, -1.0]))
    got = float(rounded(torch.tensor([sign * golden], dtype=torch.float64), dtype).astype(np.float64)[0])

    below, above = Fraction(golden) - Fraction(float(low)), Fraction(float(high)) - Fraction(golden)
    # low and high are neighbours: the even one is where the order is even.
    even = low if ordered(np.array([low]).astype(dtype.numpy))[0] % 2 == 0 else high
    want = low if below < above else high if above < below else even
    assert got == sign * want


@pytest.mark.parametrize("dtype", [dtype for dtype in FLOATS if dtype.itemsize == 1], ids=str)
def test_fp8_saturates_and_keeps_nan(dtype: DType) -> None:
    largest = torch.finfo(dtype.torch).max
    golden = torch.tensor([1e9, -1e9, float("inf"), float("-inf"), float("nan"), largest], dtype=torch.float64)
    got = rounded(golden, dtype).astype(np.float64)
    assert got[:4].tolist() == [largest, -largest, largest, -largest]
    assert np.isnan(got[4]) and got[5] == largest


def test_wider_formats_overflow_to_infinity() -> None:
    for name in ("fp16", "bf16", "fp32"):
        assert np.isposinf(rounded(torch.tensor([1e300], dtype=torch.float64), DTYPES[name]).astype(np.float64))[0]


@pytest.mark.parametrize("source", FLOATS, ids=str)
@pytest.mark.parametrize("target", FLOATS, ids=str)
def test_every_float_becomes_every_float(source: DType, target: DType) -> None:
    values = torch.tensor([0.0, 1.0, -2.0, 0.5]).to(source.torch)
    assert rounded(values, target).astype(np.float64).tolist() == [0.0, 1.0, -2.0, 0.5]


@pytest.mark.parametrize("name", ["fp64", "fp32", "fp16", "bf16"])
def test_poison_survives_a_wider_reference(name: str) -> None:
    dtype = DTYPES[name]
    poison = Poison().make((1,), dtype, torch.Generator())
    golden = torch.cat([poison.double(), torch.tensor([float("nan"), 1.0], dtype=torch.float64)])
    bits = bits_of(rounded(golden, dtype))
    assert int(bits[0]) == dtype.poison
    assert int(bits[1]) != int(bits[0])


def test_integers_wrap_and_become_floats_once() -> None:
    assert rounded(torch.tensor([2**31 + 5, -1]), DTYPES["int32"]).tolist() == [-(2**31) + 5, -1]
    assert rounded(torch.tensor([-1]), DTYPES["uint8"]).tolist() == [255]
    # 2**24 + 1 is a tie of fp32; 257 one of bf16.
    assert rounded(torch.tensor([2**24 + 1]), DTYPES["fp32"]).tolist() == [2.0**24]
    assert rounded(torch.tensor([257, 259]), DTYPES["bf16"]).astype(float).tolist() == [256.0, 260.0]


@given(st.integers(8, 62), st.integers(0, 127), st.sampled_from([-1, 0, 1]), st.booleans())
def test_integers_past_fp64_s_bits_become_bf16_once(exponent: int, odd: int, beside: int, negative: bool) -> None:
    """Halfway between two bf16 and one beside it: by way of float64 from 2**54 on all three were the tie."""
    spacing = 1 << (exponent - 7)
    tie = (128 + odd) * spacing + spacing // 2
    up = beside > 0 or (beside == 0 and odd % 2 == 1)
    want = (128 + odd + up) * spacing
    sign = -1 if negative else 1
    assert rounded(torch.tensor([sign * (tie + beside)]), DTYPES["bf16"]).astype(float).tolist() == [sign * want]


def test_unsigned_integers_past_fp64_s_bits_become_bf16_once() -> None:
    tie = (1 << 63) + (1 << 55)
    golden = torch.from_numpy(np.array([tie - 1, tie, tie + 1], np.uint64))
    assert rounded(golden, DTYPES["bf16"]).astype(float).tolist() == [2.0**63, 2.0**63, 2.0**63 + 2.0**56]


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_to_numpy_keeps_the_bits_in_row_major_order(dtype: DType) -> None:
    raw = torch.arange(12 * dtype.itemsize, dtype=torch.uint8) % (2 if dtype.torch_name == "bool" else 251)
    tensor = raw.view(dtype.torch).reshape(3, 4).T
    assert to_numpy(tensor).tobytes() == raw.reshape(3, 4, -1).transpose(0, 1).contiguous().numpy().tobytes()


def test_precision_counts_the_implied_bit() -> None:
    assert [precision(DTYPES[name]) for name in ("fp64", "fp32", "fp16", "bf16")] == [53, 24, 11, 8]
