"""Irregular loads, stores and atomic additions: native rows leave the bytes that NumPy's index arrays leave."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl
from executor_kit import EXAMPLES, Outcome, plan_of, run, ttir
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import Misaligned, OutOfBounds
from harness.executor import ExecutorOptions
from harness.executor.native import gather

ROWS, COLUMNS, PROGRAMS, TARGETS = 32, 64, 16, 40
DTYPES = {"int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "float32": "fp32", "float64": "fp64"}


@triton.jit
def rows_kernel(
    index, valid, source, loaded, stored, added, row_stride, column_stride, used,
    R: tl.constexpr, C: tl.constexpr, BY_ROW: tl.constexpr, MASKED: tl.constexpr, ATOMIC: tl.constexpr,
):  # fmt: skip
    first = tl.program_id(0) * R
    r, c = tl.arange(0, R), tl.arange(0, C)
    at = tl.load(index + first + r)
    ok = tl.load(valid + first + r) != 0
    if BY_ROW:
        where = at[:, None] * row_stride + c[None, :] * column_stride
        place = (first + r)[:, None] * C + c[None, :]
        inside = ok[:, None] & (c < used)[None, :]
    else:
        where = at[None, :] * row_stride + c[:, None] * column_stride
        place = (first + r)[None, :] * C + c[:, None]
        inside = ok[None, :] & (c < used)[:, None]
    if MASKED:
        value = tl.load(source + where, mask=inside, other=7)
        tl.store(loaded + place, value)
        tl.store(stored + where, tl.load(source + place), mask=inside)
        if ATOMIC:
            tl.atomic_add(added + where, value, mask=inside)
    else:
        value = tl.load(source + where)
        tl.store(loaded + place, value)
        tl.store(stored + where, tl.load(source + place))
        if ATOMIC:
            tl.atomic_add(added + where, value)


@functools.cache
def _rows_text(kind: str, by_row: bool, masked: bool) -> str:
    pointer = f"*{kind}"
    signature = {
        **dict(index="*i64", valid="*i8", source=pointer, loaded=pointer, stored=pointer, added=pointer),
        **dict(row_stride="i32", column_stride="i32", used="i32"),
    }
    atomic = kind not in ("i8", "i16")
    constants = dict(R=ROWS, C=COLUMNS, BY_ROW=by_row, MASKED=masked, ATOMIC=atomic)
    return ttir(rows_kernel, signature, constants)


def _both(text: str, arguments: Any, programs: int) -> tuple[Outcome, Outcome]:
    plan = plan_of(text)
    native, numpy = (run(plan, arguments, (programs,), ExecutorOptions(native=flag)) for flag in (True, False))
    return native, numpy


def _values(random: np.random.Generator, dtype: str, size: int) -> np.ndarray:
    if dtype.startswith("float"):
        return random.standard_normal(size).astype(dtype)
    limits = np.iinfo(dtype)
    return random.integers(limits.min, limits.max, size, dtype, endpoint=True)


@EXAMPLES
@given(
    st.sampled_from(sorted(DTYPES)),
    st.booleans(),
    st.booleans(),
    st.sampled_from([(COLUMNS, 1), (1, TARGETS), (3, 1), (0, 2), (2, 0), (2 * COLUMNS, 2)]),
    st.integers(0, COLUMNS),
    st.sampled_from([0.0, 0.5, 1.0]),
    st.integers(0, 2**32),
)
def test_native_rows_leave_numpy_s_bytes(
    dtype: str, by_row: bool, masked: bool, strides: tuple[int, int], used: int, share: float, seed: int
) -> None:
    assert gather.worth_it((PROGRAMS * ROWS, COLUMNS))
    random = np.random.default_rng(seed)
    reach = max(1 + (TARGETS - 1) * strides[0] + (COLUMNS - 1) * strides[1], PROGRAMS * ROWS * COLUMNS)
    index = random.integers(0, TARGETS, PROGRAMS * ROWS)
    valid = (random.random(index.size) < share).astype(np.int8)
    index = np.where(valid if masked else True, index, 1 << 40)  # masked lanes may point anywhere
    buffers = [_values(random, dtype, reach) for _ in range(4)]
    arguments = [index, valid, *buffers, *strides, used]
    native, numpy = _both(_rows_text(DTYPES[dtype], by_row, masked), arguments, PROGRAMS)
    for name, got, want in zip(
        ("source", "loaded", "stored", "added"), native.arrays[2:], numpy.arrays[2:], strict=True
    ):
        assert got.tobytes() == want.tobytes(), name


def test_sums_are_those_of_one_addition_after_another() -> None:
    random = np.random.default_rng(0)
    index = random.integers(0, TARGETS, PROGRAMS * ROWS)
    source = random.standard_normal((TARGETS, COLUMNS)).astype(np.float32)
    padded = np.zeros(PROGRAMS * ROWS * COLUMNS, np.float32)
    padded[: source.size] = source.reshape(-1)
    want = np.zeros((TARGETS, COLUMNS), np.float32)
    for row in index:
        want[row] += source[row]
    added = np.zeros(TARGETS * COLUMNS, np.float32)
    arguments = [index, np.ones(index.size, np.int8), padded, padded, padded, added, COLUMNS, 1, COLUMNS]
    native, _ = _both(_rows_text("fp32", True, False), arguments, PROGRAMS)
    assert native.arrays[5].tobytes() == want.tobytes()


@pytest.mark.parametrize("by_row", [True, False])
@pytest.mark.parametrize("outside", [TARGETS, -1, 1 << 40])
def test_rows_outside_trap_as_without_native_code(outside: int, by_row: bool) -> None:
    index = np.arange(PROGRAMS * ROWS) * 7 % TARGETS
    index[77] = outside
    buffers = [np.zeros(TARGETS * COLUMNS, np.float32)] * 4
    buffers[1] = np.zeros(PROGRAMS * ROWS * COLUMNS, np.float32)
    arguments = [index, np.ones(index.size, np.int8), *buffers, COLUMNS, 1, COLUMNS]
    messages = [
        _message(OutOfBounds, _rows_text("fp32", by_row, True), arguments, ExecutorOptions(native=native))
        for native in (True, False)
    ]
    assert messages[0] == messages[1]
    assert "by program (2, 0, 0)" in messages[0]


def _message(kind: type[Exception], text: str, arguments: Any, options: ExecutorOptions) -> str:
    with pytest.raises(kind) as raised:
        run(plan_of(text), arguments, (PROGRAMS,), options)
    return str(raised.value)


@triton.jit
def crooked_kernel(index, source, out, R: tl.constexpr, C: tl.constexpr):
    r, c = tl.arange(0, R), tl.arange(0, C)
    at = tl.load(index + tl.program_id(0) * R + r)
    where = source + at[:, None] + c[None, :] * 4
    value = tl.load(where.to(tl.pointer_type(tl.int32)))
    tl.store(out + (tl.program_id(0) * R + r)[:, None] * C + c[None, :], value)


def test_rows_that_are_not_aligned_trap_as_without_native_code() -> None:
    text = ttir(crooked_kernel, dict(index="*i64", source="*i8", out="*i32"), dict(R=ROWS, C=COLUMNS))
    index = np.arange(PROGRAMS * ROWS) * 7 % TARGETS * 4
    index[40] += 2
    arguments = [index, np.zeros(4 * (TARGETS + COLUMNS), np.int8), np.zeros(PROGRAMS * ROWS * COLUMNS, np.int32)]
    native, numpy = (_message(Misaligned, text, arguments, ExecutorOptions(native=flag)) for flag in (True, False))
    assert native == numpy
    assert "by program (1, 0, 0)" in native


# --- the functions by themselves -------------------------------------------------------------------------------------


def _window(strides: tuple[int, ...], shape: tuple[int, ...], itemsize: int) -> np.ndarray:
    """Byte offsets of a window's elements."""
    offsets = np.zeros(shape, np.int64)
    for axis, stride in enumerate(strides):
        column = [1] * len(shape)
        column[axis] = shape[axis]
        offsets = offsets + (np.arange(shape[axis]) * stride * itemsize).reshape(column)
    return offsets


@st.composite
def _problems(draw: Callable[..., Any]) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, tuple[int, ...], Any, Any]:
    """(elements, starts, valid, window shape, byte strides, seeded generator)"""
    dtype = draw(st.sampled_from([np.int8, np.int16, np.int32, np.int64, np.float32, np.float64]))
    shape = tuple(draw(st.lists(st.integers(1, 19), max_size=3)))
    strides = tuple(draw(st.sampled_from([-7, -1, 0, 1, 1, 1, 2, 19])) for _ in shape)
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    elements = _values(random, np.dtype(dtype).name, 2000)
    size = elements.itemsize
    offsets = _window(strides, shape, size)
    low, high = -int(offsets.min()) // size, 2000 - int(offsets.max()) // size
    starts = random.integers(low, high, draw(st.integers(1, 40))) * size
    valid = random.random(starts.size) < 0.6 if draw(st.booleans()) else None
    return elements, starts, valid, shape, tuple(stride * size for stride in strides), random


def _index(problem: Any) -> np.ndarray:
    """Element numbers (rows, *window)."""
    elements, starts, _, shape, strides, _ = problem
    offsets = _window(tuple(stride // elements.itemsize for stride in strides), shape, elements.itemsize)
    return (starts.reshape(-1, *(1,) * len(shape)) + offsets) // elements.itemsize


@EXAMPLES
@given(_problems(), st.booleans())
def test_reading(problem: Any, turned: bool) -> None:
    elements, starts, valid, shape, strides, random = problem
    fill = _values(random, elements.dtype.name, 1)
    want = elements[_index(problem)]
    if valid is not None:
        want[~valid] = fill[0]
    # Into every other element, of axes turned round: targets are slices of larger arrays.
    room = np.zeros((starts.size, *(2 * n for n in (shape[::-1] if turned else shape))), elements.dtype)
    target = room[(slice(None), *(slice(None, None, 2) for _ in shape))]
    target = target.transpose(0, *range(len(shape), 0, -1)) if turned else target
    gather.read_rows(elements.view(np.uint8), starts, valid, target, strides, fill)
    assert target.tobytes() == want.tobytes()
    target[...] = 0
    assert not room.any()


@EXAMPLES
@given(_problems(), st.booleans())
def test_writing_and_adding(problem: Any, uniform: bool) -> None:
    elements, starts, valid, shape, strides, random = problem
    some = _values(random, elements.dtype.name, int(np.prod(shape)) * (1 if uniform else starts.size))
    values = np.broadcast_to(some.reshape(-1, *shape), (starts.size, *shape))
    taken = np.ones(starts.size, np.bool_) if valid is None else valid
    index = _index(problem)[taken].reshape(-1)
    written, added = elements.copy(), elements.copy()
    written[index] = values[taken].reshape(-1)
    got = elements.copy()
    gather.write_rows(got.view(np.uint8), starts, valid, values, strides)
    assert got.tobytes() == written.tobytes()
    if not gather.addable(elements.dtype):
        return
    old = np.zeros(values.shape, elements.dtype)
    want_old = np.zeros_like(old)
    lanes = np.argwhere(np.broadcast_to(taken.reshape(-1, *(1,) * len(shape)), old.shape))
    for at, lane in zip(index, map(tuple, lanes), strict=True):
        want_old[lane] = added[at]
        np.add.at(added, at, values[lane])  # wraps without a warning
    for wanted in (None, old):
        sums = elements.copy()
        gather.add_rows(sums.view(np.uint8), starts, valid, values, strides, wanted)
        assert sums.tobytes() == added.tobytes()
    assert old.tobytes() == want_old.tobytes()
