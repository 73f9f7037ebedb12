"""`pytest --target cuda:90` from the outside: ids, marks, the record and the summary."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

CASES = Path(__file__).parents[1] / "bisect" / "bisect_cases.py"


@pytest.fixture
def suite(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeini("[pytest]\naddopts = --strict-markers\n")
    folder = pytester.path / "coverage_kernels" / "family"
    folder.mkdir(parents=True)
    (folder / "cases.py").write_text(CASES.read_text())
    return pytester


def test_cases_run_on_a_gpu_pipeline_and_are_chosen_by_id_and_mark(suite: pytest.Pytester) -> None:
    chosen = ("-m", "cuda_90", "-k", "double or assembly")
    result = suite.runpytest_subprocess("--target=cuda:90,npu", "-p", "no:cacheprovider", *chosen)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "stages: * executed (* programs), * not executed (tt.elementwise_inline_asm *)",
            "*not-simulated  1      target",
        ]
    )
    record = json.loads((suite.path / ".harness/report/record.json").read_text())
    verdicts = {one["case"].rpartition("::")[2]: one for one in record["verdicts"]}
    assert set(verdicts) == {"double[cuda:90-100]", "assembly[cuda:90]"}
    assert {row["verdict"] for row in verdicts["double[cuda:90-100]"]["evidence"]["stages"]} == {"match"}


@pytest.mark.parametrize("target", ["abacus:1", "cuda:nine", "nqu"])
def test_what_is_no_target_is_refused_before_anything_runs(suite: pytest.Pytester, target: str) -> None:
    result = suite.runpytest_subprocess(f"--target={target}", "-p", "no:cacheprovider")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{target}*"])
