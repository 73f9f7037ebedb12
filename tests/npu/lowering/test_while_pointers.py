"""Pointers and indices that a loop with a condition carries."""

from __future__ import annotations

import numpy as np
import pytest
from lowering_kit import check, ops_of
from machine_run import roomy, simulated

# Adds up tiles of x at %p and y at %q, which the condition hands on the other way round; then stores at the last %p.
# An index tile and a tile that nobody wants go round as well.
WALK = """module {
  tt.func public @k(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %out: !tt.ptr<f32>, %n: i32, %step: i32) {
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %zeros = arith.constant dense<0.000000e+00> : tensor<8xf32>
    %lane = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
    %xs = tt.splat %x : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
    %ys = tt.splat %y : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
    %outs = tt.splat %out : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
    %px = tt.addptr %xs, %lane : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
    %py = tt.addptr %ys, %lane : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
    %steps = tt.splat %step : i32 -> tensor<8xi32>
    %r:6 = scf.while (%i = %c0, %sum = %zeros, %p = %px, %q = %py, %at = %lane, %idle = %lane) : (i32, tensor<8xf32>, tensor<8x!tt.ptr<f32>>, tensor<8x!tt.ptr<f32>>, tensor<8xi32>, tensor<8xi32>) -> (i32, tensor<8xf32>, tensor<8x!tt.ptr<f32>>, tensor<8x!tt.ptr<f32>>, tensor<8xi32>, tensor<8xi32>) {
      %more = arith.cmpi slt, %i, %n : i32
      scf.condition(%more) %i, %sum, %q, %p, %at, %idle : i32, tensor<8xf32>, tensor<8x!tt.ptr<f32>>, tensor<8x!tt.ptr<f32>>, tensor<8xi32>, tensor<8xi32>
    } do {
    ^bb0(%i: i32, %sum: tensor<8xf32>, %q: tensor<8x!tt.ptr<f32>>, %p: tensor<8x!tt.ptr<f32>>, %at: tensor<8xi32>, %idle: tensor<8xi32>):
      %z = tt.addptr %xs, %at : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
      %a = tt.load %p : tensor<8x!tt.ptr<f32>>
      %b = tt.load %q : tensor<8x!tt.ptr<f32>>
      %c = tt.load %z : tensor<8x!tt.ptr<f32>>
      %d = arith.subf %a, %b : tensor<8xf32>
      %e = arith.addf %d, %c : tensor<8xf32>
      %t = arith.addf %sum, %e : tensor<8xf32>
      %p1 = tt.addptr %p, %steps : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
      %at1 = arith.addi %at, %steps : tensor<8xi32>
      %idle1 = arith.addi %idle, %at : tensor<8xi32>
      %j = arith.addi %i, %c1 : i32
      scf.yield %j, %t, %p1, %q, %at1, %idle1 : i32, tensor<8xf32>, tensor<8x!tt.ptr<f32>>, tensor<8x!tt.ptr<f32>>, tensor<8xi32>, tensor<8xi32>
    }
    %last = tt.load %r#3 : tensor<8x!tt.ptr<f32>>
    %both = arith.addf %last, %r#1 : tensor<8xf32>
    %to = tt.addptr %outs, %r#4 : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
    tt.store %to, %both : tensor<8x!tt.ptr<f32>>
    tt.return
  }
}
"""  # noqa: E501


@pytest.mark.parametrize("trips", [0, 1, 2, 5])
@pytest.mark.parametrize("step", [0, 3, 8])
def test_what_goes_round_points_to_the_same(trips: int, step: int) -> None:
    x, y = np.arange(64, dtype=np.float32), np.arange(64, dtype=np.float32)[::-1].copy()
    arguments = [x, y, np.zeros(64, np.float32), trips, step]
    printed = check(WALK, arguments, 1)
    ops = ops_of(printed)
    assert "tt.load" not in ops
    assert "tt.store" not in ops
    assert "!tt.ptr<f32>>" not in printed  # no tile of pointers is left
    want = np.zeros(8, np.float32)
    for trip in range(trips):
        want += x[trip * step :][:8] - y[:8] + x[trip * step :][:8]
    want += x[trips * step :][:8]
    for copies in ("earliest", "latest"):
        got = simulated(WALK, arguments, 1, roomy("tiny"), copies)
        assert isinstance(got, list)
        np.testing.assert_array_equal(np.frombuffer(got[2], np.float32)[trips * step :][:8], want)
