"""`pytest --target cuda:90` from the outside: ids, marks, the record and the summary."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import triton.backends  # noqa: F401
from kept_zygote import KeptZygote

# Imported here, since inner runs forget what they import, and NumPy cannot be imported twice.
from harness.bisect import architectures, capture  # noqa: F401
from harness.cases.targets import DEFAULT_TARGET
from harness.collection.cases import EXECUTION
from harness.collection.execution import check_target
from harness.errors import UsageError
from harness.targets import registry  # noqa: F401

CASES = Path(__file__).parents[1] / "bisect" / "bisect_cases.py"


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, one_toolchain: None) -> pytest.Pytester:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeini("[pytest]\naddopts = --strict-markers -p xdist -p harness.pytest_plugin\n")
    folder = pytester.path / "coverage_kernels" / "family"
    folder.mkdir(parents=True)
    (folder / "cases.py").write_text(CASES.read_text())
    return pytester


@pytest.fixture
def zygote(pytestconfig: pytest.Config) -> KeptZygote:
    """The one that runs this pytest's own cases: another would import torch once more."""
    return KeptZygote(pytestconfig.stash[EXECUTION].processes_for(DEFAULT_TARGET))


def test_cases_run_on_a_gpu_pipeline_and_are_chosen_by_id_and_mark(suite: pytest.Pytester, zygote: KeptZygote) -> None:
    chosen = ("-m", "cuda_90", "-k", "double or assembly")
    result = suite.runpytest_inprocess("-n0", "--target=cuda:90,npu", *chosen, plugins=[zygote])
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


def test_what_is_no_target_is_refused_before_anything_runs(suite: pytest.Pytester) -> None:
    result = suite.runpytest_inprocess("--target=abacus:1")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*abacus:1*"])


@pytest.mark.parametrize("target", ["abacus:1", "cuda:nine", "nqu"])
def test_what_is_no_target_is_named(target: str) -> None:
    with pytest.raises(UsageError, match=target):
        check_target(target)
