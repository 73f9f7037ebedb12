"""Each synthetic fault gets the phrase that points at its cause."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from harness.cases import Buffer
from harness.cases.dtypes import DTYPES
from harness.goldens.bits import bits_of
from harness.goldens.error_shape import describe

Fault = Callable[[np.ndarray], None]


def shape_of(
    fault: Fault, shape: tuple[int, ...] = (12, 40), dtype: str = "fp32", strides: tuple[int, ...] | None = None
) -> str:
    buffer = Buffer(shape, dtype, strides=strides)
    numbers = np.random.default_rng(1).permutation(int(np.prod(shape))).reshape(shape)
    want = (numbers * 0.37).astype(buffer.dtype.numpy) if buffer.dtype.is_float else numbers.astype(buffer.dtype.numpy)
    got = want.copy()
    fault(got)
    wrong = bits_of(got) != bits_of(want)
    return describe(got, want, wrong, buffer)


def poison(part: tuple[slice | int, ...] | slice) -> Fault:
    def fault(got: np.ndarray) -> None:
        bits_of(got)[part] = DTYPES["fp32"].poison

    return fault


def add(*part: slice | int) -> Fault:
    def fault(got: np.ndarray) -> None:
        got[part] += got.dtype.type(100)

    return fault


def assign(change: Callable[[np.ndarray], np.ndarray]) -> Fault:
    def fault(got: np.ndarray) -> None:
        got[...] = change(got.copy())

    return fault


ALL = slice(None)


@pytest.mark.parametrize(
    ("fault", "shape", "phrase"),
    [
        (poison(ALL), (12, 40), "still poison"),
        (poison((ALL, slice(32, None))), (12, 40), "still poison: tail of each row (from 32 of 40)"),
        (poison((3, 4)), (12, 40), "still poison: one element"),
        (poison((slice(4, 6),)), (12, 40), "still poison: a tile (rows 4-5, columns 0-39)"),
        (add(3, 4), (12, 40), "one element"),
        (add(7), (40,), "one element"),
        (add(ALL, slice(32, None)), (12, 40), "tail of each row (from 32 of 40)"),
        (add(ALL, ALL, slice(5, None)), (3, 4, 6), "tail of each row (from 5 of 6)"),
        (add(slice(32, None)), (40,), "tail of each row (from 32 of 40)"),
        (add(ALL, slice(None, None, 7)), (12, 40), "every 7th column"),
        (add(ALL, slice(1, None, 2)), (12, 40), "every 2nd column (from 1)"),
        (add(slice(0, None, 3)), (40,), "every 3rd element"),
        (add(slice(2, None, 4)), (12, 40), "every 4th row (from 2)"),
        (add(slice(0, 8), slice(16, 32)), (12, 40), "a tile (rows 0-7, columns 16-31)"),
        (add(slice(16, 32)), (40,), "a tile (elements 16-31)"),
        (add(slice(5, 6)), (12, 40), "a tile (rows 5-5, columns 0-39)"),
        (assign(lambda got: np.roll(got, 7)), (12, 40), "shifted by 7"),
        (assign(lambda got: np.roll(got, -3)), (40,), "shifted by -3"),
        (assign(lambda got: got[::-1]), (12, 40), "in the wrong places"),
        (assign(lambda got: got * 3 + 1), (12, 40), "everything"),
        (assign(lambda got: got * 0), (12, 40), "everything"),
    ],
)
def test_faults(fault: Fault, shape: tuple[int, ...], phrase: str) -> None:
    assert shape_of(fault, shape) == phrase


def test_few_wrong_elements_anywhere_are_scattered() -> None:
    def fault(got: np.ndarray) -> None:
        got[[0, 3, 7, 11], [1, 17, 5, 30]] += 100

    assert shape_of(fault) == "scattered"


def test_an_element_right_by_accident_does_not_hide_the_pattern() -> None:
    def fault(got: np.ndarray) -> None:
        got[:, 20:] += 100
        got[3, 25] -= 100

    assert shape_of(fault) == "tail of each row (from 20 of 40)"


def test_bools_are_right_by_accident_half_the_time() -> None:
    rng = np.random.default_rng(0)
    buffer, want = Buffer((16, 32), "int1"), rng.random((16, 32)) < 0.5
    got = want.copy()
    got[:, 24:] = rng.random((16, 8)) < 0.5
    assert describe(got, want, got != want, buffer) == "tail of each row (from 24 of 32)"


def test_a_place_whose_values_come_from_elsewhere_says_so() -> None:
    """Lesson: a padded stride was packed and every head after the first was shifted by seven elements."""

    def fault(got: np.ndarray) -> None:
        flat = got.reshape(-1)
        flat[40:] = np.roll(flat, 7)[40:]

    assert shape_of(fault) == "a tile (rows 1-11, columns 0-39), shifted by 7"


def test_shifts_are_counted_along_the_storage() -> None:
    """A transposed buffer: one element further in the storage is the next row."""
    fault = assign(lambda got: np.roll(got.T.reshape(-1), 5).reshape(got.T.shape).T)
    assert shape_of(fault, (8, 9), strides=(1, 8)) == "shifted by 5"


def test_lost_strides_are_recognised() -> None:
    """Lesson: a channels-last result had the right values in the wrong places."""
    channels_last = (4 * 5 * 3, 1, 5 * 3, 3)
    fault = assign(lambda got: got.reshape(2, 4, 5, 3).transpose(0, 3, 1, 2))
    phrase = shape_of(fault, (2, 3, 4, 5), strides=channels_last)
    assert phrase == "in the wrong places (packed: the strides are ignored)"


def test_rounding_does_not_hide_a_shift() -> None:
    def fault(got: np.ndarray) -> None:
        got[...] = np.nextafter(np.roll(got, 2), np.float32(np.inf))

    assert shape_of(fault) == "shifted by 2"


@pytest.mark.parametrize("dtype", ["fp64", "fp16", "int64", "uint16", "int32"])
def test_shifts_in_other_dtypes(dtype: str) -> None:
    assert shape_of(assign(lambda got: np.roll(got, 7)), dtype=dtype) == "shifted by 7"


def test_a_constant_buffer_is_not_shifted() -> None:
    want = np.ones((4, 8), np.float32)
    assert describe(want * 2, want, np.ones_like(want, bool), Buffer((4, 8))) == "everything"
