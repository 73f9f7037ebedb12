"""A whole run, from a case to its evidence, on the simulated NPU and through the front end alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import triton
import triton.language as tl

from harness.cases import Buffer, CaseInstance, Integers, KernelCase, Launch, case, empty
from harness.cases.evidence import Evidence
from harness.cases.options import RunOptions
from harness.errors import UsageError
from harness.targets import run_case
from harness.targets.run_case import seeded_torch
from harness.verdicts import classify


@triton.jit
def scale(out, x, n, factor, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, at < n) * factor, at < n)


@triton.jit
def double_into(middle, x, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(middle + at, tl.load(x + at, at < n) * 2, at < n)


@triton.jit
def triple(out, middle, n, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(middle + at, at < n) * 3, at < n)


@triton.jit
def beyond(out, x):
    tl.store(out + 16, tl.load(x))


@triton.jit
def ends_too_early(out, x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, at < n), at < n - 1)


@triton.jit
def only_reads(out, x, n):
    tl.load(x)


@triton.jit
def may_write(out, x, n):
    for _ in range(n):
        tl.store(out, tl.load(x))


@triton.jit
def counts_up(out, n):
    count = 0
    while count < n:
        count += 1
    tl.store(out, count)


@triton.jit
def tells(out, n):
    tl.device_print("n is", n)
    tl.store(out, n)


@case(n=[100])
def scaled(n: int) -> KernelCase:
    return KernelCase(
        scale,
        grid=(-(-n // 32),),
        args={"out": empty(n), "x": Buffer(n), "n": n, "factor": 2.0, "BLOCK": 32},
        reference=lambda x: {"out": x * 2},
    )


@case(wrong=["reference"])
def scaled_wrongly(wrong: str) -> KernelCase:
    good = scaled.build(100)
    assert isinstance(good, KernelCase)
    return KernelCase(good.kernel, good.grid, good.args, reference=lambda x: {"out": x * 3})


@case(shape=[16])
def out_of_bounds(shape: int) -> KernelCase:
    return KernelCase(beyond, (1,), {"out": empty(shape), "x": Buffer(shape)}, lambda x: {"out": x})


@case(n=[40])
def unwritten_tail(n: int) -> KernelCase:
    args = {"out": empty(n), "x": Buffer(n), "n": n, "BLOCK": 16}
    return KernelCase(ends_too_early, (3,), args, lambda x: {"out": x})


@case(n=[33])
def two_launches(n: int) -> KernelCase:
    x, middle, out = Buffer(n, fill=Integers()), empty(n), empty(n)
    sizes = {"n": n, "BLOCK": 64}
    return KernelCase(
        double_into,
        (1,),
        {"middle": middle, "x": x, **sizes},
        lambda x: {"middle": x * 2, "out": x * 6},
        then=[Launch(triple, (1,), {"middle": middle, "out": out, **sizes})],
    )


@case(kernel=[only_reads], n=[0])
def stores_nowhere(kernel: Any, n: int) -> KernelCase:
    return KernelCase(kernel, (2,), {"out": empty(4), "x": Buffer(4), "n": n}, lambda out: {"out": out})


@case(n=[0])
def stores_in_no_turn(n: int) -> KernelCase:
    case = stores_nowhere.build(may_write, n)
    assert isinstance(case, KernelCase)
    return case


@case(n=[5000])
def counting(n: int) -> KernelCase:
    return KernelCase(counts_up, (1,), {"out": empty(1, "int32"), "n": n}, lambda: {"out": torch.tensor([n])})


@case(n=[5])
def printing(n: int) -> KernelCase:
    return KernelCase(tells, (1,), {"out": empty(1, "int32"), "n": n}, lambda: {"out": torch.tensor([5])})


def _run(template: Any, target: str = "npu", **options: Any) -> tuple[Evidence, list[str]]:
    (instance,) = template.instances()
    assert isinstance(instance, CaseInstance)
    stages: list[str] = []
    return run_case(instance, "file.py::case", target, RunOptions(**options), stages.append), stages


@pytest.mark.parametrize("target", ["npu", "ttir"])
def test_a_case_that_passes_has_its_launch_and_every_golden_compared(target: str):
    evidence, stages = _run(scaled, target)
    assert evidence.failure is None
    assert not evidence.findings
    (launch,) = evidence.launches
    assert (launch.kernel, launch.grid, launch.programs, launch.simulated) == ("scale", (4, 1, 1), 4, True)
    assert {buffer.name: (buffer.role, buffer.compared) for buffer in evidence.buffers} == {
        "out": ("out", True),
        "x": ("in", False),
    }
    assert all(buffer.mismatch is None for buffer in evidence.buffers)
    assert evidence.stage == stages[-1] == "compare"
    # A kernel that is compiled already enters neither "ttir" nor "encode" again.
    compiled = [stage for stage in stages if stage not in ("ttir", "encode")]
    assert compiled == ["collect", "reference", "frontend", "simulate", "compare"]
    assert set(evidence.seconds) == set(stages)


def test_wrong_values_leave_a_folder_that_explains_them(tmp_path: Path):
    evidence, _ = _run(scaled_wrongly, artifacts=str(tmp_path / "failure"))
    (out,) = [buffer for buffer in evidence.buffers if buffer.mismatch]
    assert out.mismatch is not None
    assert (out.mismatch.wrong, out.mismatch.total) == (100, 100)
    assert out.mismatch.writers == ((0, 0, 0), (1, 0, 0), (2, 0, 0), (3, 0, 0))
    folder = Path(evidence.artifacts)
    assert "def scale(" in (folder / "kernel.py").read_text()
    assert "tt.store" in (folder / "last-simulate.mlir").read_text()
    got, want = (torch.load(folder / "buffers" / f"out.{moment}.pt") for moment in ("got", "want"))
    torch.testing.assert_close(got * 1.5, want)


def test_a_trap_is_a_failure_of_the_simulate_stage_at_the_kernels_line(tmp_path: Path):
    evidence, _ = _run(out_of_bounds, artifacts=str(tmp_path))
    assert evidence.failure is not None
    assert (evidence.failure.kind, evidence.failure.stage) == ("OutOfBounds", "simulate")
    assert "'out'" in evidence.failure.message
    assert evidence.failure.where is not None
    assert evidence.failure.where.file == __file__
    assert "def beyond(" in (tmp_path / "kernel.py").read_text()


def test_an_element_that_no_program_wrote_is_still_poison():
    evidence, _ = _run(unwritten_tail)
    mismatch = evidence.buffers[0].mismatch
    assert mismatch is not None
    assert (mismatch.wrong, mismatch.first_index, mismatch.writers) == (1, (39,), ())
    assert mismatch.error_shape.startswith("still poison")


def test_a_kernel_without_a_store_proves_nothing_where_nothing_is_to_change():
    verdict = classify(_run(stores_nowhere)[0])
    assert (verdict.outcome, verdict.bucket, verdict.stage) == ("fail", "reference", "compare")
    assert verdict.summary.startswith(f"{stores_nowhere.where}: no launch stores to any buffer")


def test_a_store_that_was_rightly_not_executed_is_a_pass():
    assert classify(_run(stores_in_no_turn)[0]).outcome == "pass"


def test_launches_run_in_order_over_the_same_buffers():
    evidence, _ = _run(two_launches)
    assert [launch.kernel for launch in evidence.launches] == ["double_into", "triple"]
    assert {buffer.name: (buffer.role, buffer.mismatch) for buffer in evidence.buffers} == {
        "middle": ("inout", None),
        "x": ("in", None),
        "out": ("out", None),
    }


@pytest.mark.parametrize("machine", ["", "default"])
def test_a_loop_that_goes_on_is_told_with_its_line_so_that_a_hang_has_one(machine: str):
    (instance,) = counting.instances()
    heard: list[Any] = []
    run_case(instance, "f.py::c", "npu", RunOptions(machine=machine), lambda stage, where=None: heard.append(where))
    lines = {where.line - counts_up.starting_line_number for where in heard if where}
    assert lines and lines <= {3, 4}  # `while`, or what the turn ends with


def test_what_a_kernel_prints_is_in_the_evidence(capsys: pytest.CaptureFixture[str]):
    evidence, _ = _run(printing)
    assert "n is" in evidence.output
    assert capsys.readouterr().out == ""


def test_an_unknown_target_is_the_users_mistake_and_no_evidence():
    with pytest.raises(UsageError, match="no target 'nqu'"):
        _run(scaled, "nqu")


def test_what_a_case_draws_is_the_same_in_every_run_and_leaves_no_trace() -> None:
    @case(n=[4])
    def drawn(n):
        raise AssertionError

    (instance,) = drawn.instances()
    before = torch.get_rng_state()
    numbers = []
    for _ in range(2):
        with seeded_torch(instance):
            numbers.append(torch.randn(3))
    assert torch.equal(*numbers)
    assert torch.equal(before, torch.get_rng_state())
