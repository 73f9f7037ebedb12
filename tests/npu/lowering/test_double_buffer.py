"""Loads that are started a trip ahead read nothing that the loop does not."""

from __future__ import annotations

import numpy as np
import pytest
from lowering_kit import check, ops_of

# The sum of the tiles of 8 elements from %low on, %step elements apart.
SUM = """module {
  tt.func public @k(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %low: i32, %high: i32, %step: i32) {
    %zeros = arith.constant dense<0.0> : tensor<8xf32>
    %lane = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
    %xs = tt.splat %x : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
    %sum = scf.for UNSIGNED %i = %low to %high step %step iter_args(%s = %zeros) -> (tensor<8xf32>) : i32 {
      %is = tt.splat %i : i32 -> tensor<8xi32>
      %at = arith.addi %is, %lane : tensor<8xi32>
      %p = tt.addptr %xs, %at : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
      %v = tt.load %p : tensor<8x!tt.ptr<f32>>
      %t = arith.addf %s, %v : tensor<8xf32>
      scf.yield %t : tensor<8xf32>
    }
    %ys = tt.splat %y : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
    %py = tt.addptr %ys, %lane : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
    tt.store %py, %sum : tensor<8x!tt.ptr<f32>>
    tt.return
  }
}
"""
LAST = (1 << 31) - 1


@pytest.mark.parametrize("unsigned", ["", "unsigned"])
@pytest.mark.parametrize(
    ("tiles", "low", "high", "step"),
    [
        (4, 0, 32, 8),
        (4, 0, 25, 8),
        (1, 0, 8, 8),
        (1, 0, 1, 8),
        (0, 0, 0, 8),
        (0, 8, 0, 8),
        (1, 0, LAST, LAST),
        (3, 8, 24, 8),
    ],
)
def test_a_buffer_that_ends_with_the_last_trip(tiles: int, low: int, high: int, step: int, unsigned: str) -> None:
    """A read of one tile more would be a trap."""
    x, y = np.arange(8 * tiles, dtype=np.float32), np.zeros(8, np.float32)
    text = check(SUM.replace("UNSIGNED", unsigned), [x, y, low, high, step], 1)
    assert ops_of(text).count("npu.start_load") == 2
