"""A case of a suite on a GPU's pipeline: its verdict carries the guilty pass, and its evidence the table of stages."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import triton

from harness.bisect.run_case import run_case
from harness.cases.evidence import Evidence, Verdict
from harness.cases.loading import load_templates
from harness.cases.options import RunOptions
from harness.errors import UsageError
from harness.reports.artifacts import FailureArtifacts
from harness.verdicts import classify

HERE = Path(__file__).parent
KERNELS = HERE.parents[1] / "coverage_kernels"
VERSION = tuple(map(int, triton.__version__.split(".")[:2]))


def verdict_on(path: Path, name: str, number: int = 0, target: str = "cuda:90", folder: str = "") -> Verdict:
    template = {template.name: template for template in load_templates(path)}[name]
    stages: list[str] = []
    options = RunOptions(artifacts=folder)
    evidence = run_case(template.instances()[number], f"case.py::{name}[{target}]", target, options, stages.append)
    assert stages[-1] == evidence.stage
    return classify(evidence)


def executed(evidence: Evidence, pipeline: str) -> int:
    rows = [row for row in evidence.stages if row.pipeline == pipeline]
    return sum(len(row.passes) for row in rows if row.verdict == "match")


def test_a_correct_case_passes_by_its_executed_stages() -> None:
    verdict = verdict_on(HERE / "bisect_cases.py", "twice")
    assert verdict.outcome == "pass"
    evidence = verdict.evidence
    assert {row.launch for row in evidence.stages} == {0, 1} and len(evidence.launches) == 2
    assert executed(evidence, "ttir") > 10 and executed(evidence, "ttgir") > 40
    assert all(row.after for row in evidence.stages if row.number)


@pytest.mark.skipif(VERSION < (3, 6), reason="earlier pipelines have another name for the pass")
def test_wrong_values_are_filed_at_the_pass_with_what_it_was_given(tmp_path: Path) -> None:
    path = KERNELS / "regressions" / "store_then_load.py"
    verdict = verdict_on(path, "store_then_load", 1, folder=str(tmp_path))
    assert (verdict.outcome, verdict.bucket, verdict.stage) == ("fail", "wrong-values", "tritongpu-pipeline")
    assert (tmp_path / "last-tritongpu-pipeline.mlir").exists() and (tmp_path / "after.mlir").exists()
    assert "num-stages=3" in (tmp_path / "reproduce.sh").read_text()
    assert "ttg.async_wait" in rerun(tmp_path).stdout
    assert "= ttg.async_wait" in (tmp_path / "change.diff").read_text()
    assert "store_then_load.py:23" in (tmp_path / "change.txt").read_text()
    buffers = {one.name: one for one in FailureArtifacts.load(tmp_path).buffers}
    assert set(buffers) == {"x", "y", "o"}
    x, y = buffers["x"], buffers["y"]
    assert x.input is not None and x.got is not None and torch.equal(x.input, x.got)
    assert y.got is not None and y.want is not None and not torch.equal(y.got, y.want)
    assert torch.equal(y.want, 2 * x.input + 1)


def rerun(folder: Path) -> subprocess.CompletedProcess[str]:
    """What the saved reproducer says, with this project's own Python for its `harness`."""
    harness, *arguments = shlex.split((folder / "reproduce.sh").read_text().splitlines()[-1])
    assert harness == "harness"
    command = [sys.executable, "-m", "harness.cli", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.skipif(not (3, 6) <= VERSION < (3, 9), reason="what the pass crashes on is a bug of these releases")
def test_a_pass_that_fails_is_named_and_its_reproducer_fails_the_same_way(tmp_path: Path) -> None:
    path = KERNELS / "regressions" / "duplicate_epilogue.py"
    verdict = verdict_on(path, "duplicate_epilogue", folder=str(tmp_path))
    assert (verdict.bucket, verdict.stage) == ("verifier", "tritongpu-fuse-nested-loops")
    assert verdict.evidence.failure is not None
    (out,) = FailureArtifacts.load(tmp_path).buffers
    assert out.want is not None and out.want.tolist() == [9] and out.got is None
    ran = rerun(tmp_path)
    assert ran.returncode == 1 and verdict.evidence.failure.message in ran.stderr


@pytest.mark.skipif(not (3, 6) <= VERSION < (3, 8), reason="what the pass crashes on is a bug of these releases")
def test_the_reproducer_of_a_crash_crashes_the_same_way(tmp_path: Path) -> None:
    verdict = verdict_on(KERNELS / "regressions" / "locality_two_uses.py", "locality_two_uses", folder=str(tmp_path))
    assert (verdict.bucket, verdict.stage) == ("compiler-crash", "tritongpu-optimize-thread-locality")
    ran = rerun(tmp_path)
    assert ran.returncode == 128 + 6 and "loopResult.hasOneUse()" in ran.stderr


@pytest.mark.skipif(not (3, 6) <= VERSION < (3, 8), reason="what the pass crashes on is a bug of these releases")
def test_a_crash_that_mlir_catches_is_told_by_its_assertion() -> None:
    verdict = verdict_on(KERNELS / "memory" / "chosen_pointer.py", "chosen_pointer", target="hip:gfx942")
    assert (verdict.bucket, verdict.stage) == ("compiler-crash", "tritonamdgpu-canonicalize-pointers")
    assert verdict.evidence.failure is not None
    assert verdict.evidence.failure.message.startswith("Assertion `")
    assert "harness-capture" not in verdict.evidence.failure.log


def test_a_kernel_that_is_wrong_from_the_start_accuses_no_pass() -> None:
    verdict = verdict_on(HERE / "bisect_cases.py", "wrong_reference")
    assert (verdict.bucket, verdict.stage) == ("wrong-values", "compare")


def test_what_no_stage_could_execute_is_no_pass() -> None:
    verdict = verdict_on(HERE / "bisect_cases.py", "assembly")
    assert (verdict.outcome, verdict.bucket) == ("fail", "not-simulated")
    assert {row.blocker.split()[0] for row in verdict.evidence.stages} == {"tt.elementwise_inline_asm"}


@pytest.mark.parametrize(
    ("name", "target"), [("type_of_another_gpu", "cuda:90"), ("precision_of_another_gpu", "hip:gfx942")]
)
def test_what_the_gpu_lacks_is_refused(name: str, target: str) -> None:
    verdict = verdict_on(HERE / "bisect_cases.py", name, target=target)
    assert verdict.outcome == "refused" and target in verdict.summary
    assert verdict.summary.startswith(f"{HERE / 'bisect_cases.py'}:")


def test_a_conversion_that_the_gpus_library_only_asserts_not_to_have_is_refused() -> None:
    verdict = verdict_on(KERNELS / "cast" / "fp8e4b15.py", "to_fp8e4b15", 4, target="cuda:80")
    assert verdict.outcome == "refused"
    assert "fp8e4b15.py:50:13: cuda:80: assert arg.type.scalar.is_fp16()" in verdict.summary
    assert "does not hold, in convert_custom_float8 (triton/language/extra/cuda/utils.py:" in verdict.summary


def test_a_target_that_no_backend_takes_is_no_finding() -> None:
    with pytest.raises(UsageError, match="abacus:1"):
        verdict_on(HERE / "bisect_cases.py", "double", target="abacus:1")
