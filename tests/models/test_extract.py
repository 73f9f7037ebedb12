"""One launch of a model as a kernel case: it does by itself what it does in the model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from encoder_case import encoder

from harness.cases import ModelCase, case
from harness.cases.kernel_case import CaseInstance
from harness.cases.options import RunOptions
from harness.errors import UsageError
from harness.models.extracted import extract
from harness.npu.session import Session


def _instance() -> CaseInstance:
    return encoder.instances()[0]


@pytest.mark.parametrize("number", range(1, 6))
def test_a_launch_passes_by_itself(number: int):
    found = extract(_instance(), "encoder", str(number), "")
    assert (found.number, found.bucket) == (number, "")
    assert "torch._inductor" not in found.text
    assert f"def {found.kernel}(" in found.text
    assert "torch.ops.aten." in found.text


def _wrong_softmax(text: str) -> str:
    return text.replace("arith.maxnumf", "arith.minnumf").replace("__nv_expf", "__nv_exp2f") if "exp" in text else text


def test_the_launch_that_fails_fails_by_itself():
    found = extract(_instance(), "encoder", "", "", _wrong_softmax)
    assert found.bucket == "wrong-values"
    assert "softmax" in found.kernel


def test_a_kernel_that_triton_has_compiled_before_has_its_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """As in the process of a case, whose failing launch is extracted by a second run over the same cache."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    assert [extract(_instance(), "encoder", "1", "").bucket for _ in range(2)] == ["", ""]


def test_a_scan_takes_its_body_with_it():
    @case()
    def sums() -> ModelCase:
        return ModelCase(lambda x: x.cumsum(-1), inputs=(torch.randn(3, 40),))

    found = extract(sums.instances()[0], "sums", "1", "")
    assert found.bucket == ""
    assert "_triton_helper_fn_add0(" in found.text


def test_there_is_no_such_launch():
    with pytest.raises(UsageError, match=r"encoder has no launch '99' \(a number from 1 to \d+, or one of: triton_"):
        extract(_instance(), "encoder", "99", "")


def test_nothing_fails():
    with pytest.raises(UsageError, match="no launch of the model fails"):
        extract(_instance(), "encoder", "", "")


def test_it_is_written_where_kernels_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
):
    from harness.cli import main

    (tmp_path / "models").mkdir()
    source = Path(__file__).parents[2] / "models" / "mlp.py"
    (tmp_path / "models" / "mlp.py").write_text(source.read_text())
    monkeypatch.chdir(tmp_path)
    assert main(["extract", "mlp", "--kernel", "2", "--machine=none"]) == 0
    (written,) = (tmp_path / "coverage_kernels" / "extracted").glob("*.py")
    assert written.name in capsys.readouterr().out


def test_a_failing_run_leaves_its_launch_as_a_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from harness.models import extracted, run_case
    from harness.targets.run_case import run_case_on

    def session(**options: Any) -> Session:
        return Session(**{**options, "transform": _wrong_softmax})

    def alone(instance: Any, name: str, target: Any, options: Any, enter: Any) -> Any:
        return run_case_on(instance, name, replace(target, transform=_wrong_softmax), options, enter)

    monkeypatch.setattr(run_case, "Session", session)
    monkeypatch.setattr(extracted, "run_case_on", alone)
    options = RunOptions(artifacts=str(tmp_path / "artifacts"))
    evidence = run_case.run_case(_instance(), "models/encoder.py::encoder[npu-tiny]", "npu", options, lambda *_: None)
    assert evidence.artifacts == options.artifacts
    text = (tmp_path / "artifacts" / "extracted.py").read_text()
    assert "of models/encoder.py::encoder[npu-tiny]" in text
    assert "is a case of its own, which fails as it does here" in evidence.output


def test_a_model_that_fails_before_its_first_launch_says_so():
    @case()
    def wrong() -> ModelCase:
        return ModelCase(torch.nn.Linear(3, 4), inputs=(torch.randn(2, 5),))

    with pytest.raises(UsageError, match="the model fails before its first launch: torch alone cannot run the module"):
        extract(wrong.instances()[0], "wrong", "", "")
