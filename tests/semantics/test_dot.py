"""Matrix products: exact where the numbers allow it, one rounding at the end, scales and packed formats decoded."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from op_call import EXAMPLES

from harness.errors import UnsupportedOp
from harness.semantics.conversions import round_to_tf32
from harness.semantics.dot import decode_scaled, dot_float, dot_integer

E2M1 = [0, 0.5, 1, 1.5, 2, 3, 4, 6]


@EXAMPLES
@given(seed=st.integers(0, 1 << 32), depth=st.sampled_from([1, 16, 1024, 4096]))
def test_int8_products_are_exact_and_wrap(seed: int, depth: int) -> None:
    numbers = np.random.default_rng(seed)
    a = numbers.choice(np.array([-128, 127, -128, 5], np.int8), (2, 3, depth))
    b = numbers.choice(np.array([-128, -127, 127], np.int8), (2, depth, 2))
    start = numbers.integers(-(1 << 31), 1 << 31, (2, 3, 2)).astype(np.int32)
    exact = np.matmul(a.astype(object), b.astype(object)) + start.astype(object)
    got = dot_integer(a, b, start)
    assert got.dtype == np.int32
    assert np.array_equal(got, (exact & 0xFFFFFFFF).astype(np.uint64).astype(np.uint32).view(np.int32))


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2])
@pytest.mark.parametrize("precision", ["ieee", "tf32", "bf16x3"])
def test_narrow_operands_multiply_exactly(dtype: type, precision: str) -> None:
    numbers = np.random.default_rng(0)
    a = numbers.integers(-6, 7, (2, 4, 16)).astype(dtype)
    b = numbers.integers(-6, 7, (1, 16, 4)).astype(dtype)
    start = numbers.integers(-9, 9, (2, 4, 4)).astype(np.float32)
    want = np.matmul(a.astype(np.float64), b.astype(np.float64)) + start
    assert np.array_equal(dot_float(a, b, start, precision), want.astype(np.float32))


def test_the_sum_is_rounded_once_to_a_narrow_accumulator() -> None:
    a, b = np.full((1, 1, 2), 1, np.float16), np.array([[[2048], [1]]], np.float16)
    got = dot_float(a, b, np.array([[[1]]], np.float16), "ieee")
    assert got.dtype == np.float16 and float(got[0, 0, 0]) == 2050  # 2048 + 1 alone is 2048 in f16


def test_tf32_rounds_the_operands_and_nothing_else_does() -> None:
    numbers = np.random.default_rng(1)
    a, b = numbers.standard_normal((1, 8, 8), np.float32), np.eye(8, dtype=np.float32)[None]
    zero = np.zeros((1, 8, 8), np.float32)
    assert np.array_equal(dot_float(a, b, zero, "tf32"), round_to_tf32(a))
    for precision in ("ieee", "tf32x3", "bf16x3", "bf16x6"):
        assert np.array_equal(dot_float(a, b, zero, precision), a)
    wide = a.astype(np.float64) + 2.0**-40
    assert np.array_equal(dot_float(wide, b.astype(np.float64), zero.astype(np.float64), "tf32"), wide)


def test_scales_are_powers_of_two() -> None:
    ones = np.ones((1, 4, 32), ml_dtypes.bfloat16)
    scale = np.array([0, 127, 254, 255], np.uint8).view(np.int8).reshape(1, 4, 1)
    decoded = decode_scaled(ones, scale, "bf16", 2, 2)
    assert decoded[0, :3, 0].tolist() == [2.0**-127, 1.0, 2.0**127]
    assert np.isnan(decoded[0, 3]).all()


@pytest.mark.parametrize("k_axis", [1, 2])
@pytest.mark.parametrize("packed_axis", [1, 2])
def test_fp4_pairs_and_their_scales(packed_axis: int, k_axis: int) -> None:
    """The low half of a byte comes first; a scale serves a run of 32 along K."""
    numbers = np.random.default_rng(2)
    codes = numbers.integers(0, 16, (2, 64, 64)).astype(np.uint8)
    low, high = (np.take(codes, np.arange(start, 64, 2), packed_axis) for start in (0, 1))
    packed = (low | high << 4).view(np.int8)
    rows = 64
    scale = numbers.integers(120, 134, (2, rows, 2)).astype(np.uint8)
    values = np.array(E2M1, np.float32)[codes & 7] * np.where(codes & 8, np.float32(-1), np.float32(1))
    factors = np.repeat(2.0 ** (scale.astype(np.float64) - 127), 32, axis=2)
    want = values * (factors if k_axis == 2 else factors.swapaxes(1, 2))
    assert np.array_equal(decode_scaled(packed, scale.view(np.int8), "e2m1", k_axis, packed_axis), want)


@pytest.mark.parametrize(("element", "dtype"), [("e4m3", ml_dtypes.float8_e4m3fn), ("e5m2", ml_dtypes.float8_e5m2)])
def test_fp8_operands_of_scaled_products(element: str, dtype: type) -> None:
    every = np.arange(256, dtype=np.uint8).reshape(1, 8, 32)
    got = decode_scaled(every.view(np.int8), None, element, 2, 2)
    with np.errstate(invalid="ignore"):
        assert np.array_equal(got, every.view(dtype).astype(np.float32), equal_nan=True)


def test_an_unknown_element_kind_is_refused() -> None:
    with pytest.raises(UnsupportedOp, match="e3m4"):
        decode_scaled(np.zeros((1, 2, 2), np.int8), None, "e3m4", 2, 2)
