"""One tiny kernel through every process, and what a side does with a wrong result."""

from __future__ import annotations

import math
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import tiny_kernel

from benchmarks.benchmark import Benchmark, Located
from benchmarks.measure import Plan, measure
from benchmarks.processes import Worker, worker_environment
from benchmarks.sides import SIDES, Check, Setting, WrongResult, first_programs
from harness.cases.allocate import allocate


def _ignore(line: str) -> None:
    """Progress is for people."""


class Here:
    """A worker without a process, which costs its start."""

    def __init__(self, located: Located, side: str, threads: int, scale: int = 1, machine: str = "") -> None:
        self._side = side
        self._setting = Setting(located.benchmark, scale, threads, machine)

    def __enter__(self) -> Here:
        with ExitStack() as stack:
            self.sample = stack.enter_context(SIDES[self._side].open(self._setting))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *raised: object) -> None:
        self._stack.close()

    def ready(self) -> dict[str, Any]:
        return {"grid": self._setting.benchmark.case(1).grid}


def worker(located: Located, side: str, threads: int, scale: int = 1, machine: str = "") -> Worker | Here:
    """In a process where the side cannot do without: Triton is the interpreter from its import on."""
    kind = Worker if side == "interpreter" else Here
    return kind(located, side, threads, scale, machine)


@pytest.mark.usefixtures("quick_start")
def test_every_side_of_a_kernel_is_checked_and_measured(triton_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.measure.Worker", worker)
    row = measure(Located("tiny_kernel", tiny_kernel.TINY), Plan(repeat=1), _ignore)
    assert row.error == ""
    assert row.grid == (4,)
    assert row.buffer_bytes == 2 * 50 * 4
    assert row.interpreter is not None
    assert row.interpreter.programs == 4
    for measured in (row.npu_seconds, row.executor_seconds, row.torch_seconds):
        assert measured is not None and measured > 0
    # In this process, which has had more, a run this small may need nothing new.
    assert row.peak_bytes is not None and row.peak_bytes >= 0


def test_a_side_that_fails_costs_its_row_and_names_itself() -> None:
    row = measure(Located("benchmarks", tiny_kernel.TINY), Plan(repeat=1), _ignore)
    assert row.error == "memory: UsageError: the module benchmarks has no benchmark 'tiny'"
    assert row.npu_seconds is None


def test_a_wrong_result_is_not_timed() -> None:
    with pytest.raises(WrongResult, match="out is wrong in 50 of 50"), SIDES["torch"].open(Setting(tiny_kernel.WRONG)):
        pass


@pytest.mark.parametrize("kernel", [tiny_kernel.TINY, tiny_kernel.RETURNS], ids=lambda one: one.name)
def test_torch_writes_into_the_buffers_or_returns_their_content(kernel: Benchmark) -> None:
    with SIDES["torch"].open(Setting(kernel)) as sampler:
        assert all(second > 0 for second in sampler()["seconds"])


def test_of_a_partial_run_only_what_was_written_counts() -> None:
    case = tiny_kernel.double(1)
    allocated = allocate(case, "seed")
    check = Check(case, allocated)
    x, out = allocated.tensors["x"], allocated.tensors["out"]
    with pytest.raises(WrongResult, match="still poison"):
        check(partial=True)
    out[:16] = x[:16] * 2
    Check(case, allocated)(partial=True)


def test_of_a_partial_run_what_was_written_must_be_right() -> None:
    case = tiny_kernel.double(1)
    allocated = allocate(case, "seed")
    check = Check(case, allocated)
    allocated.tensors["out"][:16] = allocated.tensors["x"][:16] * 3
    with pytest.raises(WrongResult, match="16 of 50"):
        check(partial=True)


@pytest.mark.parametrize(
    ("grid", "count", "expected"),
    [
        ((100,), 8, (8,)),
        ((4, 32), 8, (4, 2)),
        ((3, 5), 4, (3, 1)),
        ((2, 2, 8), 16, (2, 2, 4)),
        ((5, 1), 100, (5, 1)),
    ],
)
def test_first_programs_fill_the_axes_from_x_on(grid: tuple[int, ...], count: int, expected: tuple[int, ...]) -> None:
    assert first_programs(grid, count) == expected
    assert math.prod(expected) <= count


def test_a_worker_starts_with_what_its_side_wants_and_without_what_it_must_not_have() -> None:
    current = {"HOME": "somewhere", "TRITON_INTERPRET": "1", "OMP_NUM_THREADS": "64"}
    npu = worker_environment(current, SIDES["npu"].environment, 2)
    assert "TRITON_INTERPRET" not in npu
    assert (npu["HOME"], npu["OMP_NUM_THREADS"], npu["OPENBLAS_NUM_THREADS"]) == ("somewhere", "2", "2")
    assert worker_environment({}, SIDES["interpreter"].environment, 1)["TRITON_INTERPRET"] == "1"
