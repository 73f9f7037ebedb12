"""Small models, and runs of them in this process."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from harness.cases import ModelCase
from harness.errors import Diverged
from harness.models.capture import Capture
from harness.models.checking import Checker
from harness.models.inductor import npu_inductor
from harness.models.run import ModelRun, compiled, run_model
from harness.models.watch import use_watch
from harness.npu.session import Session, use_session

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
    processes: int = 0,
    **options: Any,
) -> ModelRun:
    """A run of the module; what it raises, `run_model` does."""
    outcome = ModelRun.of(Session(transform=transform), going)
    run_model(ModelCase(module, inputs, **options), arch, outcome, processes=processes)
    return outcome


def assert_clean(outcome: ModelRun) -> None:
    """Everything compared, nothing wrong, nothing on the host."""
    assert not outcome.findings
    assert not [buffer.name for buffer in outcome.buffers if buffer.mismatch]
    assert not outcome.model.without
    assert outcome.model.compared > 0


@dataclass
class Compiled:
    """A module that is compiled once, and then run as often as a test likes, with faults put into its kernels.

    names, texts  of its launches, in order
    """

    module: nn.Module
    input: torch.Tensor
    capture: Capture = field(default_factory=Capture)
    names: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    _stack: ExitStack = field(default_factory=ExitStack)
    _function: Any = None

    def __enter__(self) -> Compiled:
        self._stack.enter_context(npu_inductor("simulated", self.capture))
        self._function = compiled(self.module, False)
        launches = self.run().session.launches
        self.names, self.texts = [one.kernel for one in launches], [one.text for one in launches]
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def run(self, number: int = 0, change: Change | None = None, going: bool = False) -> Checker:
        """One run, with the IR of the launch of that number, from 1, changed. A change that changes nothing fails."""
        launched = 0

        def transform(text: str) -> str:
            nonlocal launched
            launched += 1
            if launched != number or change is None:
                return text
            changed = change(text)
            assert changed != text, "the fault is none"
            return changed

        checker = Checker(Session(transform=transform if change else None), self.capture, going)
        with use_session(checker.session), use_watch(checker), suppress(Diverged), torch.no_grad():
            self._function(self.input)
        return checker
