"""Model cases as pytest collects and runs them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

MODEL = """
import torch
from torch import nn
from harness.cases import ModelCase, case


@case(dtype=["fp32"], size=["tiny"])
def small(dtype, size):
    return ModelCase(nn.Linear(8, 8), inputs=(torch.randn(4, 8),), dtype=dtype)


class Host(nn.Module):
    def forward(self, x):
        return torch.linalg.det(x) + 1


@case(dtype=["fp32"], size=["tiny"])
def on_the_host(dtype, size):
    return ModelCase(Host(), inputs=(torch.eye(4),), dtype=dtype)
"""


@pytest.fixture
def models(pytester: pytest.Pytester) -> Path:
    pytester.makepyfile(test_ordinary="def test_ordinary():\n    pass\n")
    pytester.mkdir("models")
    file = pytester.path / "models" / "some.py"
    file.write_text(MODEL)
    return file


def _ids(result: pytest.RunResult) -> list[str]:
    return [line for line in result.outlines if "::" in line]


def test_models_are_collected_only_when_they_are_asked_for(pytester: pytest.Pytester, models: Path):
    collect = ("--collect-only", "-q", "-p", "no:cacheprovider")
    ids = ["models/some.py::small[npu-fp32-tiny]", "models/some.py::on_the_host[npu-fp32-tiny]"]
    assert _ids(pytester.runpytest_subprocess(*collect)) == ["test_ordinary.py::test_ordinary"]
    assert _ids(pytester.runpytest_subprocess(*collect, "--models"))[:2] == ids
    assert _ids(pytester.runpytest_subprocess(*collect, "models")) == ids
    assert _ids(pytester.runpytest_subprocess(*collect, "models", "-m", "models and npu", "-k", "small")) == ids[:1]


def test_a_listed_model_is_no_stale_line_where_models_were_not_asked_for(pytester: pytest.Pytester, models: Path):
    kernels = pytester.mkdir("coverage_kernels")
    (kernels / "one.py").write_text(
        "from harness.cases import Buffer, KernelCase, case\n@case(n=[])\ndef nothing(n):\n    return None\n"
    )
    (pytester.path / "allowlist.txt").write_text("coverage_kernels/*\nmodels/some.py::small[npu-fp32-tiny]\n")
    result = pytester.runpytest_subprocess("--gate", "-p", "no:cacheprovider", "-n0")
    assert "matches no case" not in "\n".join(result.outlines)


def test_a_run_of_models(pytester: pytest.Pytester, models: Path):
    result = pytester.runpytest_subprocess("models", "-n0", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, failed=1)
    record = json.loads((pytester.path / ".harness" / "report" / "record.json").read_text())
    passed, failed = record["verdicts"]
    assert passed["outcome"] == "pass"
    assert passed["evidence"]["model"]["compared"] == 1
    assert failed["bucket"] == "not-simulated"
    assert any("linalg" in one for one in failed["evidence"]["model"]["externs"])
