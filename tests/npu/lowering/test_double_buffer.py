"""Loads that are started a trip ahead read nothing that the loop does not, and never what its stores will change."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lowering_kit import EXAMPLES, check, launched, ops_of, stages
from machine_run import program_of, roomy, simulated

from harness.executor import Allocation, PointerArgument
from harness.npu.timing import Timing, time_program

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


# Tiles of 8 elements from x on, doubled, and stored from y on, %step elements apart.
COPY = """module {
  tt.func public @k(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %high: i32) {
    %low = arith.constant 0 : i32
    %step = arith.constant STEP : i32
    %lane = tt.make_range {end = 8 : i32, start = 0 : i32} : tensor<8xi32>
    %xs = tt.splat %x : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
    %ys = tt.splat TARGET : !tt.ptr<f32> -> tensor<8x!tt.ptr<f32>>
    scf.for %i = %low to %high step %step : i32 {
      %is = tt.splat %i : i32 -> tensor<8xi32>
      %at = arith.addi %is, %lane : tensor<8xi32>
      %p = tt.addptr %xs, %at : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
      %q = tt.addptr %ys, %at : tensor<8x!tt.ptr<f32>>, tensor<8xi32>
      %v = tt.load %p : tensor<8x!tt.ptr<f32>>
      %w = arith.addf %v, %v : tensor<8xf32>
      tt.store %q, %w : tensor<8x!tt.ptr<f32>>
    }
    tt.return
  }
}
"""


def copying(step: int, target: str = "%y") -> str:
    return COPY.replace("STEP", str(step)).replace("TARGET", target)


def numbers(count: int) -> np.ndarray:
    return np.arange(1, count + 1, dtype=np.float32)


@pytest.mark.parametrize("step", [8, 5])
@pytest.mark.parametrize(("read", "written"), [(0, 0), (0, 8), (0, 3), (8, 0), (8, 16)])
def test_one_buffer_given_twice_is_read_as_the_loop_left_it(read: int, written: int, step: int) -> None:
    """Of trip n + 1 the load would overtake the store of trip n, which it may read."""
    x = numbers(96)
    arguments = [(x, read), (x, written), 64]
    text = check(copying(step), arguments, 1)
    assert "npu.apart" in ops_of(text)
    plain = stages(copying(step), "tiny")[0].program
    want = launched(plain, arguments, 1, "earliest")
    for copies in ("earliest", "latest"):
        assert simulated(copying(step), arguments, 1, roomy("tiny"), copies) == want


def test_two_buffers_are_read_ahead() -> None:
    x, y = numbers(64), np.zeros(64, np.float32)
    check(copying(8), [x, y, 64], 1)
    for copies in ("earliest", "latest"):
        got = simulated(copying(8), [x, y, 64], 1, roomy("tiny"), copies)
        assert got == [x.tobytes(), (x * 2).tobytes()]


@pytest.mark.parametrize("step", [8, 16, 7])
def test_in_place_only_what_a_trip_leaves_behind_is_overtaken(step: int) -> None:
    x = numbers(96)
    text = check(copying(step, "%x"), [x, x, 64], 1)
    assert ops_of(text).count("npu.start_load") == (1 if step < 8 else 2)
    assert "npu.apart" not in ops_of(text)


def timed(text: str, arguments: list, passes: tuple[str, ...] | None = None) -> Timing:
    machine = roomy("tiny")
    program = program_of(text, machine) if passes is None else program_of(text, machine, passes)
    return time_program(program, machine, (1,), arguments)


def buffer(at: int) -> PointerArgument:
    return PointerArgument(Allocation(f"b{at}", np.zeros(1 << 16, np.uint8), at, 4), 0)


def test_the_launch_decides_how_long_it_takes() -> None:
    """A load that was started a trip ahead is there when it is wanted; of one buffer every trip waits for its own."""
    one, other, trips = buffer(1 << 20), buffer(1 << 21), 1000
    apart, shared = (timed(copying(8), [one, second, 8 * trips]) for second in (other, one))
    machine = roomy("tiny")
    latency = machine.dma.latency + machine.dram.latency_ns * machine.clock_mhz / 1000
    assert shared.cycles - apart.cycles == pytest.approx(latency * trips, rel=0.1)
    assert apart.bytes_in == shared.bytes_in == 32 * trips
    assert timed(copying(8), [0, 0, 8 * trips]).cycles == apart.cycles
    assert apart.stepped < 1000


# A tile of 2 x 4 elements is loaded and stored; both walk by steps of their own, or by the same.
WALK = """module {{
  tt.func public @k(%x: !tt.ptr<f32>, %y: !tt.ptr<f32>, %n: i32) {{
    %low = arith.constant 0 : i32
    %one = arith.constant {by} : i32
    %row = arith.constant {row} : i64
    %column = arith.constant {column} : i64
    %read = arith.constant {read} : i32
    %written = arith.constant {written} : i32
    scf.for %i = %low to %n step %one : i32 {{
      %r = arith.muli %i, %read : i32
      %w = arith.muli %i, %written : i32
      %p = tt.addptr %x, %r : !tt.ptr<f32>, i32
      %q = tt.addptr {target}, %w : !tt.ptr<f32>, i32
      %a = npu.load %p[%row, %column] : !tt.ptr<f32> -> tensor<2x4xf32>
      %b = arith.addf %a, %a : tensor<2x4xf32>
      npu.store %b to %q[%row, %column] : tensor<2x4xf32> -> !tt.ptr<f32>
    }}
    tt.return
  }}
}}
"""


@EXAMPLES
@given(
    target=st.sampled_from(["%x", "%y"]),
    by=st.sampled_from([1, 2]),
    column=st.sampled_from([1, 2]),
    row=st.integers(8, 12),
    steps=st.tuples(st.integers(-24, 24), st.integers(-24, 24)),
    alike=st.booleans(),
    shift=st.integers(-20, 20),
    trips=st.integers(0, 6),
)
def test_wherever_loads_and_stores_walk_to_the_loop_leaves_the_same(
    target: str, by: int, column: int, row: int, steps: tuple[int, int], alike: bool, shift: int, trips: int
) -> None:
    read, written = (steps[0], steps[0]) if alike else steps
    text = WALK.format(target=target, by=by, column=column, row=row, read=read, written=written)
    x = numbers(600)
    check(text, [(x, 300), (x, 300 + shift), trips * by], 1)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("gap", [-1, 0, 1])
@pytest.mark.parametrize(("row", "column"), [(8, 1), (9, 2)])
def test_tiles_that_meet_in_one_element_do_not_pass_one_another(row: int, column: int, gap: int, sign: int) -> None:
    step = sign * (1 + row + 3 * column + gap)
    text = WALK.format(target="%x", by=1, column=column, row=row, read=step, written=step)
    x = numbers(600)
    printed = check(text, [(x, 300), x, 5], 1)
    assert ops_of(printed).count("npu.start_load") == (1 if gap < 0 else 2)
