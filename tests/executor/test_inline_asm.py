"""The assembly that Triton itself writes, known by its text."""

from __future__ import annotations

import numpy as np
from executor_kit import module, plan_of, pointers, run

TO_TF32 = """
 %at = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
 %xs = tt.splat %x : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
 %xp = tt.addptr %xs, %at : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
 %ys = tt.splat %y : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
 %yp = tt.addptr %ys, %at : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
 %v = tt.load %xp : tensor<8x!tt.ptr<f32>>
 %r = tt.elementwise_inline_asm "cvt.rna.tf32.f32 $0, $1;" {constraints = "=r,r", packed_element = 1 : i32, pure = true}
  %v : tensor<8xf32> -> tensor<8xf32>
 tt.store %yp, %r : tensor<8x!tt.ptr<f32>>
"""
HALF = 2.0**-11  # of the last of tf32's ten bits, for numbers from 1 to 2


def test_rounding_to_tf32_takes_halves_away_from_zero() -> None:
    below = float(np.nextafter(np.float32(1 + HALF), np.float32(0)))
    given = np.array([1 + HALF, -1 - HALF, below, 1 + 3 * HALF, -0.0, np.inf, np.nan, 3.4028235e38], np.float32)
    want = np.array([1 + 2 * HALF, -1 - 2 * HALF, 1, 1 + 4 * HALF, -0.0, np.inf, np.nan, np.inf], np.float32)
    arrays = given, np.zeros(8, np.float32)
    got = run(plan_of(module(TO_TF32, *pointers(*arrays))), arrays, (1,)).arrays[1]
    np.testing.assert_array_equal(got, want)
    assert np.signbit(got[4])
