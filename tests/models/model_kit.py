"""Small models, and runs of them in this process."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from harness.cases import ModelCase
from harness.models.run import ModelRun, run_model
from harness.npu.session import Session

# Importing Inductor would start a pool of compiling processes.
os.environ["TORCH_WARM_POOL"] = "0"

Change = Callable[[str], str]


def perceptron() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.LayerNorm(32), nn.Linear(32, 8))


def run(
    module: Any,
    *inputs: Any,
    arch: str = "simulated",
    transform: Change | None = None,
    going: bool = False,
    **options: Any,
) -> ModelRun:
    """A run of the module; what it raises, `run_model` does."""
    outcome = ModelRun.of(Session(transform=transform), going)
    run_model(ModelCase(module, inputs, **options), arch, outcome)
    return outcome


def assert_clean(outcome: ModelRun) -> None:
    """Everything compared, nothing wrong, nothing on the host."""
    assert not outcome.findings
    assert not [buffer.name for buffer in outcome.buffers if buffer.mismatch]
    assert not outcome.model.without
    assert outcome.model.compared > 0
