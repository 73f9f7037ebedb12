"""Ops that move elements, and views of memory whose shape differs from program to program."""

# Kernels pass numbers where tl's annotations want tensors.
# pyright: reportArgumentType=false

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl
from examples import examples
from executor_kit import HAS_BLOCK_POINTER_OPS, HAS_BLOCK_POINTERS, everywhere, ttir
from hypothesis import given
from hypothesis import strategies as st

PROGRAMS = 5


@triton.jit
def windows(x, y, sizes, BLOCK: tl.constexpr):
    """A block pointer and a descriptor of a matrix whose shape, strides and offsets are the program's own."""
    pid = tl.program_id(0)
    height, width = tl.load(sizes + pid * 4), tl.load(sizes + pid * 4 + 1)
    top, left = tl.load(sizes + pid * 4 + 2), tl.load(sizes + pid * 4 + 3)
    block = tl.make_block_ptr(x, (height, width), (width, 1), (top, left), (4, BLOCK), (1, 0))
    some = tl.load(block, boundary_check=(0, 1), padding_option="zero")
    more = tl.load(tl.advance(block, (1, -2)), boundary_check=(0, 1), padding_option="zero")
    lanes = tl.arange(0, 4)[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :]
    tl.store(y + pid * 4 * BLOCK + lanes, some + 1000 * more)


def window(matrix: np.ndarray, top: int, left: int, block: int) -> np.ndarray:
    result = np.zeros((4, block), matrix.dtype)
    for i in range(4):
        for j in range(block):
            if 0 <= top + i < matrix.shape[0] and 0 <= left + j < matrix.shape[1]:
                result[i, j] = matrix[top + i, left + j]
    return result


@pytest.mark.skipif(not HAS_BLOCK_POINTERS, reason="this Triton has no block pointers")
@examples(12)
@given(data=st.data())
def test_block_pointers_of_the_program_s_own(data: st.DataObject) -> None:
    draw = st.tuples(st.integers(1, 6), st.integers(1, 7), st.integers(-5, 6), st.integers(-9, 8))
    alike = data.draw(st.booleans())
    one = data.draw(draw)
    sizes = np.array([one if alike else data.draw(draw) for _ in range(PROGRAMS)], np.int32)
    x, y = np.arange(1, 43, dtype=np.int32), np.zeros((PROGRAMS, 4, 8), np.int32)
    for arch in ("simulated", "frontend"):
        text = _windows(arch)
        got = everywhere(text, [x, y, sizes], (PROGRAMS,))[1]
        for pid, (height, width, top, left) in enumerate(sizes):
            matrix = x[: height * width].reshape(height, width)
            want = window(matrix, top, left, 8) + 1000 * window(matrix, top + 1, left - 2, 8)
            assert np.array_equal(got[pid], want)


_TEXTS: dict[str, str] = {}


def _windows(arch: str) -> str:
    if arch not in _TEXTS:
        _TEXTS[arch] = ttir(windows, {"x": "*i32", "y": "*i32", "sizes": "*i32"}, {"BLOCK": 8}, arch)
    return _TEXTS[arch]


@triton.jit
def descriptors(x, y, sizes, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    height, width = tl.load(sizes + pid * 4), tl.load(sizes + pid * 4 + 1)
    top, left = tl.load(sizes + pid * 4 + 2), tl.load(sizes + pid * 4 + 3)
    source = tl.make_tensor_descriptor(x, [height, width], [8, 1], [4, BLOCK])
    target = tl.make_tensor_descriptor(y + pid * 64, [6, 8], [8, 1], [4, BLOCK])
    target.store([top, left], source.load([top, left]) + 1)


def test_descriptors_clip_what_they_load_and_store() -> None:
    numbers = np.random.default_rng(0)
    sizes = np.stack(
        [numbers.integers(1, 7, 9), numbers.integers(1, 9, 9), numbers.integers(-4, 7, 9), numbers.integers(-8, 9, 9)],
        1,
    )
    x, y = np.arange(1, 65, dtype=np.int32), np.zeros((9, 8, 8), np.int32)
    text = ttir(descriptors, {"x": "*i32", "y": "*i32", "sizes": "*i32"}, {"BLOCK": 8})
    got = everywhere(text, [x, y, sizes.astype(np.int32)], (9,))[1]
    want = np.zeros_like(y)
    for pid, (height, width, top, left) in enumerate(sizes):
        matrix = x.reshape(8, 8)[:height, :width]
        loaded = window(matrix, top, left, 8) + 1
        for i in range(max(0, -top), 4):
            for j in range(max(0, -left), 8):
                if top + i < 6 and left + j < 8:
                    want[pid, top + i, left + j] = loaded[i, j]
    assert np.array_equal(got, want)


@triton.jit
def rearranged(x, y, z, BLOCK: tl.constexpr):
    """join, split, cat, trans, reshape, permute, gather and a flip by index, of values and of pointers."""
    pid = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    value = tl.load(x + pid * BLOCK + lanes)
    pairs = tl.join(value, lanes + pid)
    first, second = tl.split(tl.reshape(tl.permute(pairs, (1, 0)), (BLOCK, 2)))
    both = tl.cat(first, second, can_reorder=True)
    turned = tl.reshape(tl.trans(tl.reshape(both, (4, BLOCK // 2))), (2 * BLOCK,))
    flipped = tl.gather(turned, 2 * BLOCK - 1 - tl.arange(0, 2 * BLOCK), 0)
    tl.store(y + pid * 2 * BLOCK + tl.arange(0, 2 * BLOCK), flipped)
    places = tl.reshape(tl.join(z + lanes * 2, z + lanes * 2 + 1), (2 * BLOCK,)) + pid * 2 * BLOCK
    tl.store(places, flipped)


def test_elements_end_up_where_they_should() -> None:
    block = 8
    x = np.random.default_rng(1).integers(0, 99, (PROGRAMS, block)).astype(np.int32)
    y = np.zeros((PROGRAMS, 2 * block), np.int32)
    _, got, through_pointers = everywhere(
        ttir(rearranged, dict.fromkeys("xyz", "*i32"), {"BLOCK": block}), [x, y, y], (PROGRAMS,)
    )
    for pid in range(PROGRAMS):
        pairs = np.stack([x[pid], np.arange(block) + pid], axis=-1)
        halves = pairs.T.reshape(block, 2)
        both = np.concatenate([halves[:, 0], halves[:, 1]])
        want = both.reshape(4, block // 2).T.reshape(-1)[::-1]
        assert np.array_equal(got[pid], want) and np.array_equal(through_pointers[pid], want)


@triton.jit
def counted(x, y, bins: tl.constexpr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    value = tl.load(x + pid * BLOCK + lanes)
    tl.store(y + pid * bins + tl.arange(0, bins), tl.histogram(value, bins, mask=value != 3))


def test_histogram() -> None:
    x = np.random.default_rng(2).integers(0, 8, (PROGRAMS, 32)).astype(np.int32)
    got = everywhere(
        ttir(counted, {"x": "*i32", "y": "*i32"}, {"bins": 8, "BLOCK": 32}),
        [x, np.zeros((PROGRAMS, 8), np.int32)],
        (PROGRAMS,),
    )[1]
    want = np.stack([np.bincount(row[row != 3], minlength=8) for row in x])
    assert np.array_equal(got, want)


@triton.jit
def first_of_two(a, b):
    return tl.where(a > b, a, b), a + b


@triton.jit
def mapped(x, y, z, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    at = pid * BLOCK + tl.arange(0, BLOCK)
    larger, total = tl.map_elementwise(first_of_two, tl.load(x + at), tl.arange(0, BLOCK) * 3)
    tl.store(y + at, larger)
    tl.store(z + at, total)


def test_map_elementwise() -> None:
    x = np.random.default_rng(3).integers(0, 30, (PROGRAMS, 16)).astype(np.int32)
    _, larger, total = everywhere(
        ttir(mapped, dict.fromkeys("xyz", "*i32"), {"BLOCK": 16}), [x, x * 0, x * 0], (PROGRAMS,)
    )
    other = np.arange(16, dtype=np.int32) * 3
    assert np.array_equal(larger, np.maximum(x, other)) and np.array_equal(total, x + other)


@triton.jit
def booleans(x, y, z, BLOCK: tl.constexpr):
    """i1 in memory is a byte; any byte but zero is true."""
    pid = tl.program_id(0)
    at = pid * BLOCK + tl.arange(0, BLOCK)
    flags = tl.load(x + at, at % 3 != 0, at % 2 == 0)
    tl.store(y + at, ~flags)
    tl.store(z + at, tl.where(flags, at, -1))


def test_boolean_buffers() -> None:
    x = np.array([0, 1, 2, 255] * 8, np.uint8).view(np.int8)
    at = np.arange(32)
    _, y, z = everywhere(
        ttir(booleans, {"x": "*i1", "y": "*i1", "z": "*i32"}, {"BLOCK": 8}),
        [x, np.full(32, 7, np.int8), np.zeros(32, np.int32)],
        (4,),
    )
    flags = np.where(at % 3 != 0, x != 0, at % 2 == 0)
    assert np.array_equal(y, (~flags).astype(np.int8)) and np.array_equal(z, np.where(flags, at, -1))


def test_the_front_end_keeps_block_pointers_and_descriptors() -> None:
    """Else the tests above would pin something else."""
    signature = {"x": "*i32", "y": "*i32", "sizes": "*i32"}
    kernels: list[tuple[Any, tuple[str, ...]]] = [(descriptors, ("tt.descriptor_load", "tt.descriptor_store"))]
    if HAS_BLOCK_POINTER_OPS:
        kernels.append((windows, ("tt.advance", "boundaryCheck")))
    for kernel, wanted in kernels:
        text = ttir(kernel, signature, {"BLOCK": 8}, "frontend")
        assert all(op in text for op in wanted)
