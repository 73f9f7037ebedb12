"""What an author can get wrong in a model: told with the line of the model and a next step for models."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from harness.cases import ModelCase, case
from harness.cases.evidence import Verdict
from harness.cases.options import RunOptions
from harness.errors import UsageError
from harness.models.evaluation import undefined_conversion
from harness.models.run_case import run_model_case
from harness.reports import failure_text
from harness.verdicts import bucket_named, classify
from harness.verdicts.next_step import next_step


class Prints(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        torch._dynamo.graph_break()
        return x + 1


class Raises(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        raise ValueError("no module's fault but its own")


class Inverts(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.linalg.inv(x) + 1


class Overflows(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x * 1000).to(torch.int8)


def test_an_input_that_only_torch_changes_differs():
    """Inductor makes of this swap two copies of one input, by a fault of its own."""

    def swap(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        kept = x.clone()
        x.copy_(y)
        y.copy_(kept)
        return kept.sum()

    @case()
    def subject() -> ModelCase:
        return ModelCase(swap, inputs=(torch.randn(4, 5), torch.randn(4, 5)))

    evidence = run_model_case(subject.instances()[0], "subject", "npu", RunOptions(machine=""), keep_going=True)
    assert evidence.failure is None
    assert [one.name for one in evidence.buffers if one.mismatch][-1] == "input[1] afterwards"


def test_a_cast_to_fp8_and_back_is_rounded_in_its_golden_too():
    @case()
    def subject() -> ModelCase:
        return ModelCase(lambda x: x.to(torch.float8_e4m3fn).float() * 2, inputs=(torch.randn(32),))

    evidence = run_model_case(subject.instances()[0], "subject", "npu", RunOptions(machine=""))
    assert evidence.is_clean, evidence.buffers


def verdict_of(module: nn.Module) -> tuple[Verdict, list[str]]:
    lines: list[str] = []

    @case()
    def subject() -> ModelCase:
        return ModelCase(module, inputs=(torch.eye(4) + 0.5,))

    options = RunOptions(machine="default")
    evidence = run_model_case(
        subject.instances()[0], "subject", "npu", options, progress=lambda report: lines.append(str(report))
    )
    return classify(evidence), lines


def places(verdict: Verdict) -> list[str]:
    failure, findings = verdict.evidence.failure, verdict.evidence.findings
    return [str(one.where) for one in ([failure] if failure else findings)]


def line_of(kind: type, text: str) -> int:
    lines, first = inspect.getsourcelines(kind)
    return next(first + number for number, line in enumerate(lines) if text in line)


@pytest.mark.parametrize(
    ("kind", "bucket", "what", "text"),
    [
        (Prints, "not-simulated", "torch cannot put the module into one graph: ", "graph_break"),
        (Raises, "reference", "torch alone cannot run the module: ValueError: no module's fault but its own", "raise"),
        (Inverts, "not-simulated", "linalg_inv_ex.default ran on the host: Inductor has no Triton lowering", "inv"),
    ],
)
def test_it_is_told_at_its_line(kind: type[nn.Module], bucket: str, what: str, text: str):
    verdict, _ = verdict_of(kind())
    assert verdict.bucket == bucket
    assert what in verdict.summary
    assert any(f"test_model_mistakes.py:{line_of(kind, text)}" in place for place in places(verdict))
    assert next_step(verdict) == bucket_named(bucket).of_models


def test_a_module_without_a_kernel_is_told_what_to_do():
    verdict, _ = verdict_of(nn.Identity())
    assert (verdict.bucket, next_step(verdict)) == ("not-simulated", bucket_named("not-simulated").of_models)


def test_a_value_that_nobody_defines_is_said_where_it_differs():
    verdict, lines = verdict_of(Overflows())
    assert verdict.bucket == "wrong-values"
    assert any("16 of the floats that convert_element_type converts lie outside int8" in line for line in lines)
    text = failure_text(verdict)
    assert f"node convert_element_type at {__file__}:{line_of(Overflows, 'int8')}; everything it reads was" in text
    assert "16 of the floats" in text


@pytest.mark.parametrize(
    ("dtype", "values", "outside"),
    [
        (torch.int8, [-128.9, 127.9, 0.0], 0),
        (torch.int8, [-129.0, 128.0, 0.0], 2),
        (torch.uint8, [-0.9, 255.9, -1.0], 1),
        (torch.int64, [-(2.0**63), 2.0**63, float("nan")], 2),
        (torch.bool, [7.0, float("inf")], 0),
    ],
)
def test_a_conversion_is_defined_for_what_the_integers_hold(dtype: torch.dtype, values: list[float], outside: int):
    graph = torch.fx.Graph()
    source = graph.placeholder("x")
    step = graph.call_function(torch.ops.prims.convert_element_type.default, (source, dtype))
    given = torch.tensor(values, dtype=torch.float64)
    note = undefined_conversion(step, {source: given, step: torch.zeros(3, dtype=dtype)})
    assert note.startswith(f"{outside} of the floats") if outside else not note


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("mpl", {}, r"no model is called 'mpl' \(did you mean 'mlp'\?\)"),
        ("zzz", {}, r"no model is called 'zzz' \(in models/: mlp\)"),
        ("mlp", {"machine": "tinny"}, r"there is no machine 'tinny' .*, or none\)"),
    ],
)
def test_what_is_misspelt_is_refused_before_anything_is_compiled(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch, name: str, options: dict[str, str], message: str
):
    from argparse import Namespace

    from harness.commands import model

    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "mlp.py").write_text("from harness.cases import case\n@case()\ndef mlp():\n    return 1\n")
    monkeypatch.chdir(tmp_path)
    command: Callable[[Namespace], int] = model.run
    with pytest.raises(UsageError, match=message):
        command(Namespace(model=name, **{"machine": "none", "keep_going": False, "timing": False, **options}))


def _filled(x: torch.Tensor) -> torch.Tensor:
    made = torch.zeros(4, 4)
    made[0] = x[1]
    return made @ x


def _bits(x: torch.Tensor) -> torch.Tensor:
    return (x.view(torch.int32) & 0xFFFF) + 1


def _overflow(x: torch.Tensor) -> torch.Tensor:
    return torch.log(torch.exp(x * 100) + 1)


def _masked_row(x: torch.Tensor) -> torch.Tensor:
    keep = torch.tensor([1.0, 0.0, 1.0, 1.0])[:, None]
    return torch.softmax(x * 0.37 + (1 - keep) * -1e9, -1)


@pytest.mark.parametrize("function", [_filled, _bits, _overflow, _masked_row], ids=lambda one: one.__name__)
def test_what_torch_computes_too_is_right(function: Callable[[torch.Tensor], torch.Tensor]):
    class Subject(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return function(x)

    verdict, _ = verdict_of(Subject())
    assert verdict.outcome == "pass", verdict.summary
