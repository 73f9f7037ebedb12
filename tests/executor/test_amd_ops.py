"""What only AMD's pipeline makes of a kernel."""

from __future__ import annotations

import numpy as np
import pytest
from executor_kit import module, plan_of, pointers, run

from harness.errors import UnsupportedOp

TILE = """
 %range{N} = tt.make_range {{end = {SIZE} : i32, start = 0 : i32}} : tensor<{SIZE}xi32>
 %at{N} = tt.reshape %range{N} : tensor<{SIZE}xi32> -> tensor<{ROWS}x{COLUMNS}xi32>
 %all{N} = tt.splat %{NAME} : !tt.ptr<{KIND}> -> tensor<{ROWS}x{COLUMNS}x!tt.ptr<{KIND}>>
 %p{N} = tt.addptr %all{N}, %at{N} : tensor<{ROWS}x{COLUMNS}x!tt.ptr<{KIND}>>, tensor<{ROWS}x{COLUMNS}xi32>
"""
UPCAST = """
 %v = tt.load %p0 : tensor<{SRC}x!tt.ptr<i8>>
 %s = tt.load %p1 : tensor<2x1x!tt.ptr<i8>>
 %r = amdg.upcast_mxfp %v, %s fp_type = {KIND} {{fastMath = false}}
  : tensor<{SRC}xi8>, tensor<2x1xi8> -> tensor<{TO}xf16>
 tt.store %p2, %r : tensor<{TO}x!tt.ptr<f16>>
"""
CODES = np.arange(32, dtype=np.int8).reshape(2, 16)  # each byte is two numbers, the low half first
NUMBERS = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6], np.float32)
SCALES = np.array([[128], [126]], np.uint8).view(np.int8)


def tile(number: int, name: str, rows: int, columns: int, kind: str) -> str:
    return TILE.format(N=number, NAME=name, ROWS=rows, COLUMNS=columns, SIZE=rows * columns, KIND=kind)


def upcast(codes: np.ndarray, shape: tuple[int, int], kind: str = "e2m1") -> np.ndarray:
    out = np.zeros(shape, np.float16)
    rows, columns = codes.shape
    tiles = tile(0, "x", rows, columns, "i8") + tile(1, "y", 2, 1, "i8") + tile(2, "z", *shape, "f16")
    body = tiles + UPCAST.format(SRC=f"{rows}x{columns}", TO="x".join(map(str, shape)), KIND=kind)
    arrays = codes, SCALES, out
    return run(plan_of(module(body, *pointers(*arrays))), arrays, (1,)).arrays[2]


def test_small_floats_are_scaled_by_the_group() -> None:
    """A row of 32 numbers has one scale: 2, and one half."""
    want = NUMBERS[np.stack((CODES & 15, CODES >> 4), axis=-1).reshape(2, 32)] * np.array([[2], [0.5]])
    np.testing.assert_array_equal(upcast(CODES, (2, 32)), want)


def test_scales_of_the_right_operand_have_k_last_too() -> None:
    left, right = upcast(CODES, (2, 32)), upcast(np.ascontiguousarray(CODES.T), (32, 2))
    np.testing.assert_array_equal(right, left.T)


def test_other_small_floats_are_refused() -> None:
    with pytest.raises(UnsupportedOp, match="upcast_mxfp of e4m3"):
        upcast(CODES, (2, 32), "e4m3")
