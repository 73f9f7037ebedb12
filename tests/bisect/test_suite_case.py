"""A case of a suite on a GPU's pipeline: its verdict carries the guilty pass, and its evidence the table of stages."""

from __future__ import annotations

from pathlib import Path

import pytest
import triton

from harness.bisect.run_case import run_case
from harness.cases.evidence import Evidence, Verdict
from harness.cases.loading import load_templates
from harness.cases.options import RunOptions
from harness.errors import UsageError
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
    assert "= ttg.async_wait" in (tmp_path / "change.diff").read_text()
    assert "store_then_load.py:23" in (tmp_path / "change.txt").read_text()


@pytest.mark.skipif(not (3, 6) <= VERSION < (3, 9), reason="what the pass crashes on is a bug of these releases")
def test_a_pass_that_fails_is_named_and_its_reproducer_saved(tmp_path: Path) -> None:
    path = KERNELS / "regressions" / "duplicate_epilogue.py"
    verdict = verdict_on(path, "duplicate_epilogue", folder=str(tmp_path))
    assert (verdict.bucket, verdict.stage) == ("verifier", "tritongpu-fuse-nested-loops")
    assert "--tritongpu-fuse-nested-loops" in (tmp_path / "reproduce.sh").read_text()
    assert "tt.func" in (tmp_path / "last-tritongpu-fuse-nested-loops.mlir").read_text()


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
