"""Cases executed after every pass: right ones match everywhere, wrong ones name the pass."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
import triton

from harness.bisect.results import Bisection, Change
from harness.bisect.run import bisect_case
from harness.bisect.stages import FINAL
from harness.cases.loading import load_templates
from harness.executor import ExecutorOptions

HERE = Path(__file__).parent
REGRESSIONS = HERE.parents[1] / "coverage_kernels" / "regressions"
VERSION = tuple(map(int, triton.__version__.split(".")[:2]))


@cache
def bisected(path: Path, name: str, target: str, number: int = 0) -> Bisection:
    template = {template.name: template for template in load_templates(path)}[name]
    return bisect_case(template.instances()[number], target)


def change_of(bisection: Bisection) -> Change:
    (launch,) = bisection.launches
    change = launch.first_change()
    assert change is not None
    return change


@pytest.mark.parametrize("target", ["cuda:80", "cuda:90", "hip:gfx942"])
@pytest.mark.parametrize("name", ["double", "matmul"])
def test_a_correct_kernel_matches_at_every_stage(name: str, target: str) -> None:
    bisection = bisected(HERE / "bisect_cases.py", name, target)
    (launch,) = bisection.launches
    assert bisection.outcome == "clean"
    assert launch.count("match") == len(launch.results) == len(launch.capture.stages) > 20
    assert launch.results[-1].stage.pass_name == FINAL
    assert [finding for result in launch.results for finding in result.findings] == []
    executed = [result for result in launch.results if result.same_as is None]
    assert 0 < len(executed) < len(launch.results)
    assert all(buffer.compared for result in launch.results for buffer in result.buffers if buffer.role == "out")


def test_the_pipelined_matmul_holds_copies_in_flight() -> None:
    """What the test above executed is the real thing."""
    (launch,) = bisected(HERE / "bisect_cases.py", "matmul", "cuda:90").launches
    text = launch.results[-1].stage.text
    assert "ttg.async_copy_global_to_local" in text and "ttg.async_wait" in text


def test_products_in_tensor_memory_match_at_every_stage() -> None:
    (launch,) = bisected(HERE / "bisect_cases.py", "wide_matmul", "cuda:100").launches
    assert launch.count("match") == len(launch.results) > 20
    text = launch.results[-1].stage.text
    assert "ttng.tc_gen5_mma" in text and "is_async" in text and "ttng.tmem_load" in text


def test_parts_that_run_at_once_match_once_they_are_apart() -> None:
    """The passes in between say it in the `nvws` dialect, which is refused by name."""
    (launch,) = bisected(HERE / "bisect_cases.py", "specialised", "cuda:100").launches
    blockers = {result.blocker for result in launch.results if result.verdict != "match"}
    assert blockers and all(blocker.startswith("op nvws.") for blocker in blockers)
    text = launch.results[-1].stage.text
    assert launch.results[-1].verdict == "match" and "ttg.warp_specialize(" in text and "ttng.arrive_barrier" in text


@pytest.mark.parametrize("target", ["cuda:90", "hip:gfx942"])
def test_full_checks_know_what_the_launches_before_wrote(target: str) -> None:
    template = {one.name: one for one in load_templates(HERE / "bisect_cases.py")}["twice"]
    bisection = bisect_case(template.instances()[0], target, ExecutorOptions(checks="full"))
    assert bisection.outcome == "clean"
    assert [finding for one in bisection.launches for result in one.results for finding in result.findings] == []


def test_every_launch_of_a_case_is_bisected() -> None:
    bisection = bisected(HERE / "bisect_cases.py", "twice", "cuda:90")
    assert [one.capture.kernel for one in bisection.launches] == ["double_kernel", "relaunch_kernel"]
    assert bisection.outcome == "clean"


def test_a_kernel_that_is_wrong_from_the_start_accuses_no_pass() -> None:
    bisection = bisected(HERE / "bisect_cases.py", "wrong_reference", "cuda:90")
    (launch,) = bisection.launches
    assert bisection.outcome == "undecided"
    assert launch.count("differs") == len(launch.results)
    assert launch.first_change() is None
    assert launch.results[0].reason.startswith("out: 100 of 100 wrong, first at [0]: got ")


@pytest.mark.parametrize("number", [1, 2])
def test_the_pipeliner_moves_a_load_above_a_store(number: int) -> None:
    change = change_of(bisected(REGRESSIONS / "store_then_load.py", "store_then_load", "cuda:80", number))
    assert change.suspects == ("tritongpu-pipeline",)
    assert change.after.reason.startswith("y: 32768 of 32768 wrong")


def test_without_pipelining_the_order_stays() -> None:
    assert bisected(REGRESSIONS / "store_then_load.py", "store_then_load", "cuda:80", 0).outcome == "clean"


@pytest.mark.parametrize(
    ("file", "name", "number"),
    [
        ("cast/fp8e4b15.py", "from_fp8e4b15", 0),
        ("cast/fp8e4b15.py", "to_fp8e4b15", 0),
        ("gemm/input_precision.py", "input_precision", 2),
    ],
)
def test_conversions_that_triton_writes_in_assembly(file: str, name: str, number: int) -> None:
    bisection = bisected(REGRESSIONS.parent / file, name, "cuda:80", number)
    assert bisection.outcome == "clean"
    last = bisection.launches[0].results[-1]
    assert last.verdict == "match" and "tt.elementwise_inline_asm" in last.stage.text


def test_a_product_with_scales_that_amd_multiplies_first() -> None:
    bisection = bisected(REGRESSIONS.parent / "gemm" / "dot_scaled.py", "dot_scaled", "hip:gfx942", 4)
    (launch,) = bisection.launches
    assert launch.count("match") == len(launch.results)


def test_a_division_by_a_constant_that_becomes_a_product() -> None:
    """From 3.9 on `x / 6` is `x * approx_divf(1, 6)`."""
    bisection = bisected(HERE / "bisect_cases.py", "sixth", "cuda:80")
    (launch,) = bisection.launches
    assert launch.count("match") == len(launch.results)
    assert ("tt.approx_divf" in launch.results[-1].stage.text) == (VERSION >= (3, 9))


def test_a_flattened_loop_whose_inner_loop_is_empty() -> None:
    bisection = bisected(REGRESSIONS / "flatten_empty_inner.py", "flatten_empty_inner", "cuda:90")
    if VERSION >= (3, 9):
        assert bisection.outcome == "clean"
        return
    assert change_of(bisection).suspects == ("tritongpu-fuse-nested-loops",)


def test_a_compiler_that_fails_is_a_finding_of_its_own() -> None:
    bisection = bisected(REGRESSIONS / "duplicate_epilogue.py", "duplicate_epilogue", "cuda:90")
    (launch,) = bisection.launches
    assert launch.count("match") == len(launch.results) > 5
    if VERSION >= (3, 9):
        assert bisection.outcome == "clean"
        return
    assert bisection.outcome == "found"
    assert launch.capture.failure is not None
    assert launch.capture.failure.pass_name == "tritongpu-fuse-nested-loops"
    assert "error: 'scf.if' op" in launch.capture.failure.cause
