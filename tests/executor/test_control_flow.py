"""Programs that take different ways: each must end as if it had run alone."""

# In a kernel, calling another `@triton.jit` function returns its values.
# pyright: reportGeneralTypeIssues=false

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl
from executor_kit import HAS_BLOCK_POINTERS, everywhere, module, plan_of, run, ttir

from harness.errors import Deadlock
from harness.executor import ExecutorOptions

PROGRAMS = 13
COUNTS = np.array([3, 0, 5, 1, 2, 7, 2, 4, 0, 9, 1, 1, 6], np.int32)
POINTERS = {"x": "*i32", "y": "*i32"}


@triton.jit
def nested_branches(x, y):
    pid = tl.program_id(0)
    n = tl.load(x + pid)
    value = tl.arange(0, 4) * n
    scalar = n
    if n % 2 == 0:
        if n > 3:
            value += pid
            scalar = -n
        else:
            value = tl.full((4,), 7, tl.int32)
    elif n > 4:
        scalar = pid
    tl.store(y + pid * 4 + tl.arange(0, 4), value + scalar)


def nested_branches_alone(pid: int, n: int) -> np.ndarray:
    value, scalar = np.arange(4) * n, n
    if n % 2 == 0 and n > 3:
        value, scalar = value + pid, -n
    elif n % 2 == 0:
        value = np.full(4, 7)
    elif n > 4:
        scalar = pid
    return value + scalar


@triton.jit
def nested_loops(x, y):
    pid = tl.program_id(0)
    n = tl.load(x + pid)
    total = tl.zeros((4,), tl.int32)
    product = pid * 0 + 1
    for i in range(n):
        for j in range(i, n, 2):
            total += tl.arange(0, 4) * j + i
            if j == 3:
                product = product * 3 + pid
        product += i
    tl.store(y + pid * 4 + tl.arange(0, 4), total + product)


def nested_loops_alone(pid: int, n: int) -> np.ndarray:
    total, product = np.zeros(4, np.int64), 1
    for i in range(n):
        for j in range(i, n, 2):
            total += np.arange(4) * j + i
            if j == 3:
                product = product * 3 + pid
        product += i
    return total + product


@triton.jit
def while_in_for(x, y):
    pid = tl.program_id(0)
    n = tl.load(x + pid)
    steps = 0
    last = n
    for i in range(1, n + 1):
        c = i + pid
        while c != 1:
            c = tl.where(c % 2 == 0, c // 2, 3 * c + 1)
            steps += 1
        last = last + steps
    tl.store(y + pid * 4 + tl.arange(0, 4), steps + last * tl.arange(0, 4))


def while_in_for_alone(pid: int, n: int) -> np.ndarray:
    steps, last = 0, n
    for i in range(1, n + 1):
        c = i + pid
        while c > 1 or c < 1:
            c = c // 2 if c % 2 == 0 else 3 * c + 1
            steps += 1
        last += steps
    return steps + last * np.arange(4)


@triton.jit
def carried_pointers(x, y):
    """Pointers of two buffers swap places in programs of their own number of trips."""
    pid = tl.program_id(0)
    n = tl.load(x + pid)
    here = x
    there = x + 1
    total = 0
    for i in range(n):
        total = total * 3 + tl.load(here + i)
        kept = here
        here = there
        there = kept + 1
    tl.store(y + pid * 4 + tl.arange(0, 4), total)


def carried_pointers_alone(pid: int, n: int) -> np.ndarray:
    here, there, total = 0, 1, 0
    for i in range(n):
        total = total * 3 + int(COUNTS[here + i])
        here, there = there, here + 1
    return np.full(4, total)


@triton.jit
def chosen_buffer(x, y):
    """A pointer that is one buffer's in some programs and the other's in the rest."""
    pid = tl.program_id(0)
    n = tl.load(x + pid)
    place = x
    if n > 2:
        place = y + 100
    for _ in range(n):
        place += 1
    value = tl.load(place)
    tl.store(y + pid * 4 + tl.arange(0, 4), value)


def chosen_buffer_alone(pid: int, n: int) -> np.ndarray:
    return np.full(4, -5 if n > 2 else COUNTS[n])


@triton.jit
def early_return(x, y):
    pid = tl.program_id(0)
    n = tl.load(x + pid)
    if n == 0:
        return
    tl.store(y + pid * 4 + tl.arange(0, 4), n)
    if n > 4:
        tl.store(y + pid * 4, -1)
        return
    tl.store(y + pid * 4 + 1, n * n)


def early_return_alone(pid: int, n: int) -> np.ndarray:
    if n == 0:
        return np.full(4, -5)
    return np.array([-1, n, n, n]) if n > 4 else np.array([n, n * n, n, n])


@triton.jit(noinline=True)
def collatz(c):
    steps = c * 0
    while c > 1:
        c = tl.where(c % 2 == 0, c // 2, 3 * c + 1)
        steps += 1
    return steps, c


@triton.jit(noinline=True)
def twice(c):
    a, b = collatz(c)
    d, e = collatz(c + 1)
    return a + d * 10 + b + e


@triton.jit
def calls(x, y):
    pid = tl.program_id(0)
    n = tl.load(x + pid)
    value = n
    if n > 2:
        value = twice(n)
    tl.store(y + pid * 4 + tl.arange(0, 4), value)


def calls_alone(pid: int, n: int) -> np.ndarray:
    def steps(c: int) -> tuple[int, int]:
        count = 0
        while c > 1:
            c, count = (c // 2 if c % 2 == 0 else 3 * c + 1), count + 1
        return count, c

    if n <= 2:
        return np.full(4, n)
    (a, b), (d, e) = steps(n), steps(n + 1)
    return np.full(4, a + d * 10 + b + e)


@triton.jit
def block_pointers(x, y):
    """A block pointer advanced a different number of times by every program."""
    pid = tl.program_id(0)
    n = tl.load(x + pid)
    block = tl.make_block_ptr(x, (13,), (1,), (0,), (4,), (0,))
    total = tl.zeros((4,), tl.int32)
    for _ in range(n):
        total += tl.load(block, boundary_check=(0,), padding_option="zero")
        block = tl.advance(block, (pid - 3,))
    tl.store(y + pid * 4 + tl.arange(0, 4), total)


def block_pointers_alone(pid: int, n: int) -> np.ndarray:
    total = np.zeros(4, np.int64)
    for i in range(n):
        at = np.arange(4) + i * (pid - 3)
        total += np.where((at >= 0) & (at < 13), COUNTS[np.clip(at, 0, 12)], 0)
    return total


PAIRS: list[tuple[Any, Any]] = [
    (nested_branches, nested_branches_alone),
    (nested_loops, nested_loops_alone),
    (while_in_for, while_in_for_alone),
    (carried_pointers, carried_pointers_alone),
    (chosen_buffer, chosen_buffer_alone),
    (early_return, early_return_alone),
    (calls, calls_alone),
]
if HAS_BLOCK_POINTERS:
    PAIRS.append((block_pointers, block_pointers_alone))
KERNELS = {kernel.fn.__name__: (kernel, alone) for kernel, alone in PAIRS}


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("arch", ["simulated", "frontend"])
def test_divergent_programs(name: str, arch: str) -> None:
    kernel, alone = KERNELS[name]
    out = np.full(PROGRAMS * 4 + 100, -5, np.int32)
    _, got = everywhere(ttir(kernel, POINTERS, arch=arch), [COUNTS, out], (PROGRAMS,))
    want = np.stack([alone(pid, int(n)) for pid, n in enumerate(COUNTS)]).astype(np.int32)
    assert np.array_equal(got[: PROGRAMS * 4].reshape(PROGRAMS, 4), want)


def loop(kind: str, unsigned: str, low: int, high: int, step: int) -> str:
    """Counts the trips of a loop and sums the induction variable."""
    return module(
        f"""
  %low = arith.constant {low} : {kind}
  %high = arith.constant {high} : {kind}
  %step = arith.constant {step} : {kind}
  %zero = arith.constant 0 : {kind}
  %one = arith.constant 1 : {kind}
  %r:2 = scf.for {unsigned}%i = %low to %high step %step
      iter_args(%n = %zero, %s = %zero) -> ({kind}, {kind}) : {kind} {{
    %n2 = arith.addi %n, %one : {kind}
    %s2 = arith.addi %s, %i : {kind}
    scf.yield %n2, %s2 : {kind}, {kind}
  }}
  tt.store %x, %r#0 : !tt.ptr<{kind}>
  tt.store %y, %r#1 : !tt.ptr<{kind}>""",
        f"%x: !tt.ptr<{kind}>",
        f"%y: !tt.ptr<{kind}>",
    )


@pytest.mark.parametrize(
    ("kind", "unsigned", "low", "high", "step", "values"),
    [
        ("i32", "", 5, 5, 1, []),
        ("i32", "", 7, -3, 2, []),
        ("i32", "", -(1 << 31), (1 << 31) - 1, 1 << 30, [-(1 << 31), -(1 << 30), 0, 1 << 30]),
        ("i32", "unsigned ", 2147483640, -2147483645, 5, [2147483640, 2147483645, -2147483646]),
        ("i32", "unsigned ", 1, -1, 1 << 30, [1, (1 << 30) + 1, -(1 << 31) + 1, -(1 << 30) + 1]),
        ("i64", "", -(1 << 62) - (1 << 61), (1 << 62) + (1 << 61), 1 << 62, [-3 << 61, -1 << 61, 1 << 61]),
        ("i64", "unsigned ", (1 << 63) - 2, -(1 << 63) + 3, 2, [(1 << 63) - 2, -(1 << 63), -(1 << 63) + 2]),
    ],
)
def test_loop_bounds(kind: str, unsigned: str, low: int, high: int, step: int, values: list[int]) -> None:
    dtype = np.int32 if kind == "i32" else np.int64
    count, total = everywhere(loop(kind, unsigned, low, high, step), [np.zeros(1, dtype), np.zeros(1, dtype)])
    with np.errstate(over="ignore"):
        assert count[0] == len(values) and total[0] == np.array(values, dtype).sum(dtype=dtype)


@pytest.mark.parametrize("grid", [1, 5])
def test_the_watchdog_ends_a_loop_that_nothing_ends(grid: int) -> None:
    """Also where only some programs are in it."""
    forever = module(
        """
  %t = arith.constant true
  %pid = tt.get_program_id x : i32
  %r = scf.while (%i = %pid) : (i32) -> i32 {
    scf.condition(%t) %i : i32
  } do {
  ^bb0(%i: i32):
    scf.yield %i : i32
  }
  tt.store %x, %r : !tt.ptr<i32>""",
        "%x: !tt.ptr<i32>",
    )
    blocks = module(
        f"""
  %pid = tt.get_program_id x : i32
  %last = arith.constant {grid - 1} : i32
  %zero = arith.constant 0 : i32
  %c = arith.cmpi sge, %pid, %zero : i32
  %more = arith.cmpi sge, %pid, %last : i32
  cf.cond_br %more, ^bb1, ^bb2
 ^bb1:
  cf.cond_br %c, ^bb1, ^bb2
 ^bb2:
  tt.store %x, %pid : !tt.ptr<i32>""",
        "%x: !tt.ptr<i32>",
    )
    for text in (forever, blocks):
        with pytest.raises(Deadlock, match="more than 50 iterations"):
            run(plan_of(text), [np.zeros(1, np.int32)], (grid,), ExecutorOptions(max_steps=50))
