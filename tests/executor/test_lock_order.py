"""Full checks know that a lock orders the programs that take it."""

from __future__ import annotations

import numpy as np
import triton
import triton.language as tl
from executor_kit import plan_of, run, ttir

from harness.executor import ExecutorOptions


@triton.jit
def add_under_a_lock(lock, total, unlocked: tl.constexpr):
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    value = tl.load(total, volatile=True)
    tl.store(total, value + 1)
    tl.debug_barrier()
    if not unlocked:
        tl.atomic_xchg(lock, 0)


@triton.jit
def add_without_a_lock(lock, total):
    tl.store(total, tl.load(total) + tl.program_id(0) + 1)


def races(text: str) -> list[str]:
    buffers = [np.zeros(1, np.int32), np.zeros(1, np.int32)]
    outcome = run(plan_of(text), buffers, (16,), ExecutorOptions(checks="full"))
    return [finding.kind for finding in outcome.result.findings]


def test_three_programs_that_read_and_write_under_a_lock_do_not_race() -> None:
    text = ttir(add_under_a_lock, {"lock": "*i32", "total": "*i32", "unlocked": "constexpr"}, {"unlocked": False})
    assert races(text) == []


def test_the_same_without_the_lock_races() -> None:
    assert "race" in races(ttir(add_without_a_lock, {"lock": "*i32", "total": "*i32"}))
