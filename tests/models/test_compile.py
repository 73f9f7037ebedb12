"""harness.models.compile: a module of one's own."""

from __future__ import annotations

import pytest
import torch
from model_kit import perceptron

import harness.models
from harness.errors import Diverged, NotSimulated
from harness.models.report import KernelReport


def test_it_computes_what_the_module_does_and_compares_every_buffer():
    module, x = perceptron(), torch.randn(4, 16)
    model = harness.models.compile(module)
    assert torch.allclose(model(x), module(x), atol=1e-5)
    model(x)
    assert model.evidence.compared == len(model.buffers) > 0
    assert all(buffer.compared and not buffer.mismatch for buffer in model.buffers)


def test_gradients_inside_with():
    module, x = perceptron(), torch.randn(4, 16)
    seen: list[KernelReport] = []
    with harness.models.compile(module, machine="none", progress=seen.append) as model:
        model(x).sum().backward()
    assert {report.graph for report in seen} == {"forward", "backward"}
    assert all(parameter.grad is not None for parameter in module.parameters())


def test_what_stays_on_the_host_is_an_error():
    model = harness.models.compile(lambda x: torch.linalg.det(x) + 1, machine="none")
    with pytest.raises(NotSimulated, match="linalg"):
        model(torch.eye(3))


def test_a_wrong_buffer_is_an_error_that_says_where():
    model = harness.models.compile(perceptron(), machine="none")
    model._run.checker.session.transform = lambda text: text.replace("arith.addf", "arith.subf")
    with pytest.raises(Diverged, match=r"launch 2, triton_\w+: inference/buf\d+ differs .*; everything it reads"):
        model(torch.randn(4, 16))
