"""`checks="full"`: what is reported, and what is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl
from executor_kit import plan_of, ttir

from harness.cases.evidence import Finding
from harness.executor import Allocation, ExecutorOptions, LaunchResult, Memory, PointerArgument, launch


@triton.jit
def all_write(x, y, BLOCK: tl.constexpr):
    tl.store(y + tl.arange(0, BLOCK), tl.program_id(0))


@triton.jit
def all_write_the_same(x, y, BLOCK: tl.constexpr):
    tl.store(y + tl.arange(0, BLOCK), tl.load(x))


@triton.jit
def overlap(x, y, BLOCK: tl.constexpr):
    """Windows that overlap by one element, with values of their own."""
    pid = tl.program_id(0)
    tl.store(y + pid * (BLOCK - 1) + tl.arange(0, BLOCK), pid)


@triton.jit
def reads_its_neighbour(x, y, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    tl.store(y + pid, pid + 1)
    tl.store(x + pid, tl.load(y + pid + 1))


@triton.jit
def shifts_in_place(x, y, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    value = tl.load(y + pid + 1)
    tl.store(y + pid, value + 1)


@triton.jit
def last_one_sums(x, y, BLOCK: tl.constexpr):
    """Every program leaves its part; the one that comes last, by an atomic, adds them up."""
    pid = tl.program_id(0)
    tl.store(y + pid, pid)
    if tl.atomic_add(x, 1) == tl.num_programs(0) - 1:
        tl.store(y, tl.sum(tl.load(y + tl.arange(0, BLOCK))))


@triton.jit
def only_reads(x, y, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    tl.store(y + pid, tl.sum(tl.load(x + tl.arange(0, BLOCK))))


@triton.jit
def reads_what_nobody_wrote(x, y, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    tl.store(y + lanes, lanes, lanes < 2)
    tl.store(x + pid, tl.sum(tl.load(y + lanes, lanes < 3)))


@triton.jit
def updates_what_nobody_wrote(x, y, BLOCK: tl.constexpr):
    tl.atomic_add(y + tl.program_id(0), 1)


@triton.jit
def writes_the_hole(x, y, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    tl.store(y + tl.arange(0, BLOCK), tl.load(x), tl.arange(0, BLOCK) != pid)


def checked(
    kernel: Any, programs: int, inside: slice = slice(None), written: slice = slice(None)
) -> tuple[LaunchResult, list[np.ndarray]]:
    """x: 16 numbers from 0 (zeros for atomics); y: 16 zeros of which `inside` is the view, `written` initialised."""
    plan = plan_of(ttir(kernel, {"x": "*i32", "y": "*i32"}, {"BLOCK": 8}))
    memory, arrays, arguments = Memory(), [np.zeros(16, np.int32), np.zeros(16, np.int32)], []
    for name, array, address in zip("xy", arrays, (0x1000, 0x2000), strict=True):
        allocation = memory.add(Allocation(name, array.view(np.uint8), address, 4))
        view, known = np.full(16, name == "x"), np.full(16, name == "x")
        view[inside], known[written] = True, True
        allocation.inside, allocation.initialised = np.repeat(view, 4), np.repeat(known, 4)
        arguments.append(PointerArgument(allocation))
    return launch(plan, (programs, 1, 1), arguments, memory, ExecutorOptions(checks="full")), arrays


def the_finding(result: LaunchResult) -> Finding:
    assert len(result.findings) == 1, result.findings
    return result.findings[0]


def line_of(kernel: Any, text: str) -> int:
    import inspect

    lines, first = inspect.getsourcelines(kernel.fn)
    return first + next(number for number, line in enumerate(lines) if text in line)


def test_two_programs_write_one_element() -> None:
    for kernel, element in ((all_write, 0), (overlap, 7)):
        found = the_finding(checked(kernel, 2)[0])
        assert found.kind == "race" and found.buffer == "y" and found.programs == ((0, 0, 0), (1, 0, 0))
        assert f"element {element} of buffer 'y'" in found.message
        assert found.where is not None and found.where.line == line_of(kernel, "tl.store")


def test_a_program_reads_what_another_writes() -> None:
    found = the_finding(checked(reads_its_neighbour, 3)[0])
    assert found.kind == "race" and found.where is not None and found.other is not None
    assert found.where.line == line_of(reads_its_neighbour, "tl.load")
    assert found.other.line == line_of(reads_its_neighbour, "pid + 1)")
    found = the_finding(checked(shifts_in_place, 3)[0])
    assert found.kind == "race" and "read" in found.message


@pytest.mark.parametrize("kernel", [all_write_the_same, last_one_sums, only_reads])
def test_what_is_no_race(kernel: Any) -> None:
    result, arrays = checked(kernel, 8)
    assert result.findings == []
    if kernel is last_one_sums:
        assert arrays[1][0] == sum(range(8))


def test_one_program_races_with_nobody() -> None:
    for kernel in (all_write, overlap, reads_its_neighbour, shifts_in_place):
        assert checked(kernel, 1)[0].findings == []


def test_reads_of_memory_nobody_wrote() -> None:
    found = the_finding(checked(reads_what_nobody_wrote, 1, written=slice(0, 0))[0])
    assert found.kind == "uninitialised-read" and "element 2 of buffer 'y'" in found.message
    assert checked(reads_what_nobody_wrote, 1, written=slice(2, 3))[0].findings == []
    found = the_finding(checked(updates_what_nobody_wrote, 3, written=slice(0, 2))[0])
    assert found.kind == "uninitialised-read" and "element 2 of buffer 'y'" in found.message
    assert found.programs == ((2, 0, 0),)


def test_writes_outside_the_view() -> None:
    found = the_finding(checked(writes_the_hole, 1, inside=slice(0, 7))[0])
    assert found.kind == "wrote-outside" and "element 7 of buffer 'y'" in found.message
    assert checked(writes_the_hole, 1, inside=slice(1, None))[0].findings == []


def test_writers_of_every_byte() -> None:
    result, _ = checked(overlap, 2)
    writers = result.writers["y"].reshape(16, 4)
    assert (writers == writers[:, :1]).all()
    assert writers[:, 0].tolist() == [0] * 7 + [1] * 8 + [-1]
