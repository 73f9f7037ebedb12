"""Grids and arguments of a launch."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from executor_kit import everywhere, module, plan_of, run, ttir

from harness.errors import UnsupportedOp, UsageError
from harness.executor import ExecutorOptions, PointerArgument
from harness.executor.strided import even_spacing, overlapping


@triton.jit
def number(x):
    """Each program writes x + 10 y + 100 z in its place."""
    a, b, c = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    width, height = tl.num_programs(0), tl.num_programs(1)
    tl.store(x + a + width * (b + height * c), a + 10 * b + 100 * c + 1000 * tl.num_programs(2))


@pytest.mark.parametrize("grid", [(5, 1, 1), (1, 4, 1), (1, 1, 3), (3, 4, 2), (2, 1, 5), (7, 3, 1)])
def test_grids_count_x_first(grid: tuple[int, int, int]) -> None:
    x, y, z = grid
    (got,) = everywhere(ttir(number, {"x": "*i32"}), [np.zeros(x * y * z, np.int32)], grid)
    c, b, a = np.meshgrid(np.arange(z), np.arange(y), np.arange(x), indexing="ij")
    assert np.array_equal(got, (a + 10 * b + 100 * c + 1000 * z).reshape(-1))


@pytest.mark.parametrize("grid", [(0, 1, 1), (3, 0, 2), (2, 2, 0)])
def test_an_empty_grid_runs_nothing(grid: tuple[int, int, int]) -> None:
    outcome = run(plan_of(ttir(number, {"x": "*i32"})), [np.full(4, 7, np.int32)], grid)
    assert outcome.arrays[0].tolist() == [7] * 4
    assert outcome.result.programs == 0 and not outcome.result.stores


def test_a_million_programs() -> None:
    """Each does next to nothing: batched, that takes as long as the data."""
    total = 1_000_000
    outcome = run(plan_of(ttir(number, {"x": "*i32"})), [np.zeros(total, np.int32)], (1000, 1000))
    assert outcome.result.programs == total
    assert np.array_equal(outcome.arrays[0].reshape(1000, 1000), 1000 + np.arange(1000) + 10 * np.arange(1000)[:, None])


def test_arguments_take_the_parameter_s_type() -> None:
    text = module(
        """
  %a = arith.extsi %i : i8 to i64
  tt.store %x, %a : !tt.ptr<i64>
  %one = arith.constant 1 : i32
  %p1 = tt.addptr %x, %one : !tt.ptr<i64>, i32
  %b = arith.extui %i : i8 to i64
  tt.store %p1, %b : !tt.ptr<i64>
  %two = arith.constant 2 : i32
  %p2 = tt.addptr %x, %two : !tt.ptr<i64>, i32
  tt.store %p2, %j : !tt.ptr<i64>
  %three = arith.constant 3 : i32
  %p3 = tt.addptr %x, %three : !tt.ptr<i64>, i32
  %c = arith.extf %h : f16 to f64
  %d = arith.bitcast %c : f64 to i64
  tt.store %p3, %d : !tt.ptr<i64>
  %four = arith.constant 4 : i32
  %p4 = tt.addptr %x, %four : !tt.ptr<i64>, i32
  %e = arith.extui %t : i1 to i64
  tt.store %p4, %e : !tt.ptr<i64>""",
        "%x: !tt.ptr<i64>",
        "%i: i8",
        "%j: i64",
        "%h: f16",
        "%t: i1",
    )
    (got,) = everywhere(text, [np.zeros(5, np.int64), 200, (1 << 64) - 2, 0.1, True])
    assert got[:3].tolist() == [-56, 200, -2]
    assert got[3:4].view(np.float64)[0] == float(np.float16(0.1)) and got[4] == 1


def test_too_few_arguments() -> None:
    with pytest.raises(UsageError, match="takes 1 arguments, 2 were given"):
        run(plan_of(ttir(number, {"x": "*i32"})), [np.zeros(1, np.int32), 3], (1,))


def test_an_op_without_a_meaning_is_named_with_its_line() -> None:
    with pytest.raises(UnsupportedOp, match=r"unsupported op tt\.nonsense") as caught:
        plan_of(module('  %a = "tt.nonsense"() : () -> i32'))
    assert caught.value.where is not None


def test_threads_leave_the_same_result_record() -> None:
    plan = plan_of(ttir(number, {"x": "*i32"}))
    results = [
        run(plan, [np.zeros(500, np.int32)], (500,), ExecutorOptions(batch_elements=16, threads=threads)).result
        for threads in (1, 3)
    ]
    assert results[0] == results[1] and results[0].stores == {"x"}


def test_pointer_arguments_carry_their_offset() -> None:
    body = "  %v = tt.load %x : !tt.ptr<i16>\n  tt.store %y, %v : !tt.ptr<i16>"
    text = module(body, "%x: !tt.ptr<i16>", "%y: !tt.ptr<i16>")
    _, got = everywhere(text, [(np.arange(9, dtype=np.int16), 7), (np.zeros(3, np.int16), 2)])
    assert got.tolist() == [0, 0, 7]
    assert PointerArgument.__dataclass_fields__["byte_offset"].default == 0


@pytest.mark.parametrize("seed", range(6))
def test_spacing_and_overlap_against_all_positions(seed: int) -> None:
    numbers = np.random.default_rng(seed)
    for _ in range(60):
        counts, steps = numbers.integers(1, 5, 3), numbers.integers(-12, 13, 3) * 4
        first, second, third = (np.arange(n) * s for n, s in zip(counts, steps, strict=True))
        starts = (first[:, None, None] + second[:, None] + third).reshape(-1)
        if not overlapping(tuple(counts.tolist()), tuple(steps.tolist()), 4):
            assert np.unique(starts).size == starts.size
        spacing = even_spacing(starts)
        if spacing is None:
            continue
        shape, strides = spacing
        rebuilt = np.full((), starts[0])
        for extent, stride in zip(shape, strides, strict=True):
            rebuilt = rebuilt[..., None] + np.arange(extent) * stride
        assert np.array_equal(rebuilt.reshape(-1), starts)
