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


# To be collected only: quickly, since they import no torch.
BARE = """
from harness.cases import case


@case(dtype=["fp32"], size=["tiny"])
def small(dtype, size):
    return None


@case(dtype=["fp32"], size=["tiny"])
def large(dtype, size):
    return None
"""
NO_TORCH = """
import pytest
from harness.collection.cases import EXECUTION

@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    if EXECUTION in config.stash:  # there are cases
        config.stash[EXECUTION].preload = ()
"""
IDS = ["models/some.py::small[npu-fp32-tiny]", "models/some.py::large[npu-fp32-tiny]"]


@pytest.fixture
def models(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeini("[pytest]\naddopts = -p xdist -p harness.pytest_plugin\n")
    pytester.makepyfile(test_ordinary="def test_ordinary():\n    pass\n")
    pytester.mkdir("models")
    return pytester.path / "models" / "some.py"


def _ids(result: pytest.RunResult) -> list[str]:
    return [line for line in result.outlines if "::" in line]


def test_models_are_collected_only_when_they_are_asked_for(pytester: pytest.Pytester, models: Path):
    models.write_text(BARE)
    pytester.makeconftest(NO_TORCH)

    def collected(*options: str) -> list[str]:
        return _ids(pytester.runpytest_inprocess("--collect-only", "-q", "-n0", "-p", "no:cacheprovider", *options))

    assert collected() == ["test_ordinary.py::test_ordinary"]
    assert collected("--models")[:2] == IDS
    assert collected("models") == IDS
    assert collected("models", "-m", "models and npu", "-k", "small") == IDS[:1]


def test_a_listed_model_is_no_stale_line_where_models_were_not_asked_for(pytester: pytest.Pytester, models: Path):
    models.write_text(BARE)
    pytester.makeconftest(NO_TORCH)
    kernels = pytester.mkdir("coverage_kernels")
    (kernels / "one.py").write_text(
        "from harness.cases import Buffer, KernelCase, case\n@case(n=[])\ndef nothing(n):\n    return None\n"
    )
    (pytester.path / "allowlist.txt").write_text(f"coverage_kernels/*\n{IDS[0]}\n")
    result = pytester.runpytest_inprocess("--gate", "-p", "no:cacheprovider", "-n0")
    assert "matches no case" not in "\n".join(result.outlines)


def test_a_run_of_models(pytester: pytest.Pytester, models: Path):
    models.write_text(MODEL)
    result = pytester.runpytest_subprocess("models", "-n0", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, failed=1)
    record = json.loads((pytester.path / ".harness" / "report" / "record.json").read_text())
    passed, failed = record["verdicts"]
    assert passed["outcome"] == "pass"
    assert passed["evidence"]["model"]["compared"] == 1
    assert failed["bucket"] == "not-simulated"
    assert any("linalg" in one for one in failed["evidence"]["model"]["externs"])
