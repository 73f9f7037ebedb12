"""Atomics: programs in order, lanes in row-major order, and the value each of them found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl
from executor_kit import MLIR, everywhere, module, plan_of, pointers, run, ttir

from harness.errors import Deadlock
from harness.executor import ExecutorOptions

PROGRAMS, LANES = 6, 8
INTEGER: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda old, value: old + value,
    "and": lambda old, value: old & value,
    "or": lambda old, value: old | value,
    "xor": lambda old, value: old ^ value,
    "max": max,
    "min": min,
    "umax": lambda old, value: max(old, value, key=lambda v: int(v) % (1 << v.itemsize * 8)),
    "umin": lambda old, value: min(old, value, key=lambda v: int(v) % (1 << v.itemsize * 8)),
    "exch": lambda old, value: value,
}


def lanes(kind: str, body: str, result: str | None) -> str:
    """%v: LANES values of %x a program, %m: a mask from %z; the results of the body go to %w."""
    keep = f"""
  %os = tt.splat %w : !tt.ptr<{kind}> -> tensor<8x!tt.ptr<{kind}>>
  %oa = tt.addptr %os, %at : tensor<8x!tt.ptr<{kind}>>, tensor<8xi32>
  tt.store %oa, {result} : tensor<8x!tt.ptr<{kind}>>"""
    return f"""
  %pid = tt.get_program_id x : i32
  %n = arith.constant {LANES} : i32
  %f = arith.muli %pid, %n : i32
  %fs = tt.splat %f : i32 -> tensor<8xi32>
  %r = tt.make_range {{end = 8 : i32, start = 0 : i32}} : tensor<8xi32>
  %at = arith.addi %fs, %r : tensor<8xi32>
  %vs = tt.splat %x : !tt.ptr<{kind}> -> tensor<8x!tt.ptr<{kind}>>
  %va = tt.addptr %vs, %at : tensor<8x!tt.ptr<{kind}>>, tensor<8xi32>
  %v = tt.load %va : tensor<8x!tt.ptr<{kind}>>
  %is = tt.splat %z : !tt.ptr<i32> -> tensor<8x!tt.ptr<i32>>
  %ia = tt.addptr %is, %at : tensor<8x!tt.ptr<i32>>, tensor<8xi32>
  %i = tt.load %ia : tensor<8x!tt.ptr<i32>>
  %zero = arith.constant dense<0> : tensor<8xi32>
  %m = arith.cmpi sge, %i, %zero : tensor<8xi32>
  %ys = tt.splat %y : !tt.ptr<{kind}> -> tensor<8x!tt.ptr<{kind}>>
  %ya = tt.addptr %ys, %i : tensor<8x!tt.ptr<{kind}>>, tensor<8xi32>{body}""" + (keep if result else "")


def update(kind: str, element: str) -> str:
    types = f"(tensor<8x!tt.ptr<{element}>>, tensor<8x{element}>, tensor<8xi1>) -> tensor<8x{element}>"
    return f"\n  %o = tt.atomic_rmw {kind}, acq_rel, gpu, %ya, %v, %m : {types}"


def in_order(
    combine: Callable[[Any, Any], Any], values: np.ndarray, memory: np.ndarray, index: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    memory, found = memory.copy(), np.zeros_like(values)
    with np.errstate(over="ignore"):
        for lane in np.ndindex(values.shape):
            if index[lane] >= 0:
                found[lane] = memory[index[lane]]
                memory[index[lane]] = combine(memory[index[lane]], values[lane])
    return memory, found


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("kind", INTEGER)
def test_integer_updates(kind: str, dtype: type) -> None:
    numbers = np.random.default_rng(0)
    limits = np.iinfo(dtype)
    x = numbers.integers(limits.min, limits.max, (PROGRAMS, LANES)).astype(dtype)
    y = numbers.integers(limits.min, limits.max, 5).astype(dtype)
    z = numbers.integers(-2, 5, (PROGRAMS, LANES)).astype(np.int32)
    memory, found = in_order(INTEGER[kind], x, y, z)
    element = MLIR[np.dtype(dtype).name]
    for wanted in (True, False):
        op = update(kind, element)
        text = module(lanes(element, op, "%o" if wanted else None), *pointers(x, y, z, x)).replace("%u:", "%w:")
        _, got, _, old = everywhere(text, [x, y, z, np.zeros_like(x)], (PROGRAMS,), races=True)
        assert np.array_equal(got, memory)
        assert not wanted or np.array_equal(old, found)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("kind", ["fadd", "exch"])
def test_float_updates_round_in_order(kind: str, dtype: type) -> None:
    numbers = np.random.default_rng(1)
    x = numbers.standard_normal((PROGRAMS, LANES)).astype(dtype)
    y = numbers.standard_normal(3).astype(dtype)
    z = numbers.integers(0, 3, (PROGRAMS, LANES)).astype(np.int32)
    memory, found = in_order(lambda old, value: old + value if kind == "fadd" else value, x, y, z)
    element = MLIR[np.dtype(dtype).name]
    for wanted in (True, False):
        op = update(kind, element)
        text = module(lanes(element, op, "%o" if wanted else None), *pointers(x, y, z, x)).replace("%u:", "%w:")
        _, got, _, old = everywhere(text, [x, y, z, np.zeros_like(x)], (PROGRAMS,), races=True)
        assert np.array_equal(got, memory)
        assert not wanted or np.array_equal(old, found)


def test_compare_and_swap_compares_bits() -> None:
    """NaN equals the same NaN, -0.0 is not 0.0."""
    x = np.array([[np.nan, 0.0, -0.0, 1.0, np.nan, 2.0, 0.0, 7.0]], np.float32)
    y = np.array([np.nan, -0.0], np.float32)
    z = np.array([[0, 1, 1, 1, 0, 0, 0, 0]], np.int32)
    op = """
  %two = arith.constant dense<2.0> : tensor<8xf32>
  %o = tt.atomic_cas acq_rel, gpu, %ya, %v, %two
      : (tensor<8x!tt.ptr<f32>>, tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>"""
    text = module(lanes("f32", op, "%o"), *pointers(x, y, z, x)).replace("%u:", "%w:")
    _, got, _, old = everywhere(text, [x, y, z, np.zeros_like(x)], (1,))
    assert got.tolist() == [2.0, 2.0]
    want = np.array([[np.nan, -0.0, -0.0, 2.0, 2.0, 2.0, 2.0, 2.0]], np.float32)
    assert old.view("u4").tolist() == want.view("u4").tolist()


# --- programs that wait for one another ----------------------------------------------------------------------


@triton.jit
def spin_lock(lock, count, order):
    pid = tl.program_id(0)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    at = tl.load(count)
    tl.store(order + at, pid)
    tl.store(count, at + 1)
    tl.atomic_xchg(lock, 0)


@triton.jit
def later_first(turn, count, order):
    """Each program waits until all programs after it are done."""
    pid = tl.program_id(0)
    while tl.atomic_add(turn, 0) != tl.num_programs(0) - 1 - pid:
        pass
    at = tl.load(count)
    tl.store(order + at, pid)
    tl.store(count, at + 1)
    tl.atomic_add(turn, 1)


@triton.jit
def volatile_flag(flag, count, order):
    """The first program waits for the last one, by reading only."""
    pid = tl.program_id(0)
    if pid == 0:
        while tl.load(flag, volatile=True) == 0:
            pass
    at = tl.atomic_add(count, 1)
    tl.store(order + at, pid)
    if pid == tl.num_programs(0) - 1:
        tl.atomic_xchg(flag, 1)


@triton.jit
def nobody_unlocks(lock, count, order):
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(count, tl.load(count) + 1)


@triton.jit
def work_queue(queue, count, order):
    """No program ends before all of a long queue is done: not a deadlock."""
    item = tl.atomic_add(queue, 1)
    done = 0
    while item < 400:
        done += 1
        item = tl.atomic_add(queue, 1)
    tl.atomic_add(count, done)


def waiting(kernel: Any) -> str:
    return ttir(kernel, dict.fromkeys(kernel.arg_names, "*i32"))


@pytest.mark.parametrize(
    ("kernel", "order"), [(spin_lock, range(6)), (later_first, range(5, -1, -1)), (volatile_flag, [1, 2, 3, 4, 5, 0])]
)
def test_waiting_programs_all_finish(kernel: Any, order: Any) -> None:
    buffers = [np.zeros(1, np.int32), np.zeros(1, np.int32), np.full(6, -1, np.int32)]
    _, count, seen = everywhere(waiting(kernel), buffers, (6,), races=True)
    assert count[0] == 6 and seen.tolist() == list(order)


def test_a_deadlock_is_a_trap() -> None:
    buffers = [np.zeros(1, np.int32), np.zeros(1, np.int32), np.zeros(1, np.int32)]
    with pytest.raises(Deadlock, match="2 programs wait for one another") as caught:
        run(plan_of(waiting(nobody_unlocks)), buffers, (3,))
    error = caught.value
    assert error.program in [(1, 0, 0), (2, 0, 0)] and error.where is not None
    assert "while " in Path(error.where.file).read_text().splitlines()[error.where.line - 1]


def test_a_program_that_waits_alone_is_no_other_ones_fault() -> None:
    buffers = [np.ones(1, np.int32), np.zeros(1, np.int32), np.zeros(1, np.int32)]
    with pytest.raises(Deadlock, match=r"program \(0, 0, 0\) waits for what nobody does"):
        run(plan_of(waiting(nobody_unlocks)), buffers, (1,))


def test_a_long_queue_is_no_deadlock() -> None:
    buffers = [np.zeros(1, np.int32), np.zeros(1, np.int32), np.zeros(1, np.int32)]
    queue, count, _ = run(plan_of(waiting(work_queue)), buffers, (4,), ExecutorOptions(max_turns=100)).arrays
    assert count[0] == 400 and queue[0] == 404


def test_full_checks_accept_what_atomics_order() -> None:
    buffers = [np.zeros(1, np.int32), np.zeros(1, np.int32), np.full(6, -1, np.int32)]
    for kernel in (spin_lock, later_first):
        outcome = run(plan_of(waiting(kernel)), buffers, (6,), ExecutorOptions(checks="full"))
        assert outcome.result.findings == []
