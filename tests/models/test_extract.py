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


class _Patches(torch.nn.Module):
    """Two kernels write the parts of one buffer, as a vision transformer's class token and patches do."""

    def __init__(self):
        super().__init__()
        self.token = torch.nn.Parameter(torch.randn(1, 1, 6))
        self.embed = torch.nn.Conv2d(2, 6, 2, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        patches = self.embed(x).flatten(2).transpose(1, 2)
        return torch.cat([self.token.expand(patches.shape[0], -1, -1), patches], 1).sum(-1)


def _convolutions() -> torch.nn.Module:
    """Inductor keeps no node for what the first kernel writes: convolution, normalisation and ReLU in one."""
    layers = [torch.nn.Conv2d(2, 4, 3, padding=1), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.Conv2d(4, 2, 1)]
    return torch.nn.Sequential(*layers).eval()


def _of(module: Any, *inputs: torch.Tensor, **more: Any) -> CaseInstance:
    @case()
    def subject() -> ModelCase:
        return ModelCase(module, inputs=inputs, **more)

    return subject.instances()[0]


@pytest.mark.parametrize("wanted", ["1", "2", "triton_tem_fused__native_batch_norm_legit_no_training_relu_1"])
def test_kernels_with_nothing_of_the_graph_between_them_are_taken_together(wanted: str):
    instance = _of(_convolutions(), torch.randn(1, 2, 6, 6))
    found = extract(instance, "convolutions", wanted, "")
    assert (found.number, found.bucket) == (1 if wanted == "1" else 2, "")
    assert found.text.count("tl.dot") == 2
    assert "then=[" in found.text and "arg_X_2 = out_ptr1\n" in found.text
    wrong = extract(instance, "convolutions", "", "", lambda text: text.replace("cmpf ogt", "cmpf olt"))
    assert wrong.bucket == "wrong-values"


def test_parts_of_one_buffer_are_views_of_it():
    found = extract(_of(_Patches(), torch.randn(2, 2, 4, 4)), "patches", "2", "")
    assert found.bucket == ""
    assert ".view((2, 1, 6), (30, 6, 1), offset=0)" in found.text
    assert ".view((2, 4, 6), (30, 6, 1), offset=6)" in found.text


class _Masked(torch.nn.Module):
    mask: torch.Tensor

    def __init__(self):
        super().__init__()
        self.register_buffer("mask", torch.full((80, 80), -torch.inf).triu(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x + self.mask).softmax(-1)


def test_a_mask_of_infinities_is_saved_where_it_is():
    instance = _of(_Masked(), torch.randn(80, 80))
    found = extract(instance, "masked", "1", "")
    assert (found.bucket, found.scratch) == ("", ())
    assert "in_ptr1 = Buffer((80, 80), 'fp32', fill=Values((\n" in found.text
    assert max(map(len, found.text.splitlines())) < 200
    wrong = extract(instance, "masked", "1", "", lambda text: text.replace("arith.addf", "arith.subf"))
    assert wrong.bucket == "wrong-values"


def test_the_reference_changes_none_of_what_it_is_given():
    def add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x.add_(y) * 2

    found = extract(_of(add, torch.randn(4, 5), torch.randn(4, 5)), "add", "1", "")
    assert found.bucket == ""
    assert "copy_.default(arg0_1.clone(), add.clone())" in found.text


def test_what_is_not_compared_is_said():
    """Of `topk`, made by a sort that another node has too, Inductor keeps no node."""
    instance = _of(lambda x: (x.sort(-1), x.topk(3, -1), x.norm()), torch.randn(4, 16))
    found = extract(instance, "sorted", "1", "")
    assert found.scratch
    assert f"stands for what they hold: {', '.join(found.scratch)}.\n" in found.text


def test_random_numbers_and_sizes_are_written_down():
    dropped = extract(_of(lambda x: torch.nn.functional.dropout(x, 0.5) * 2, torch.randn(4, 8)), "dropped", "2", "")
    assert dropped.bucket == ""
    assert "from harness.models.philox import inductor_random" in dropped.text
    flat = _of(lambda x: x.reshape(x.shape[0] * 2, -1).sum(-1), torch.randn(4, 8), dynamic=True)
    assert "operator.mul(" in extract(flat, "flat", "1", "").text


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
