"""Coverage kernels, executed after the passes up to the double buffering, give their goldens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from lowering_kit import PASSES

from harness.cases.features import lacking
from harness.cases.loading import load_templates
from harness.cases.options import RunOptions
from harness.ir import parse_module, print_module
from harness.npu.lowering import run_passes
from harness.npu.machine import load_machine
from harness.targets.npu import NPU, ExecutedTarget
from harness.targets.run_case import run_case_on
from harness.targets.target import LaunchFunction, RunContext
from harness.verdicts import classify

FOLDER = Path(__file__).parents[3] / "coverage_kernels"
# The file, and ops that its kernels must have after the passes.
KERNELS = {
    "gemm/tails": ("npu.start_load", "npu.start_store", "scf.for"),
    "gemm/persistent": ("npu.start_load", "npu.start_store"),
    "attention/variable_length": ("npu.start_load", "scf.if"),
    "control_flow/early_return": ("scf.if",),
    "control_flow/noinline_call": ("npu.start_load",),
    "memory/descriptor_gemm": ("npu.start_load", "npu.start_store"),
}


@dataclass(frozen=True)
class LateTarget(ExecutedTarget):
    """Transfers take effect when they are waited for."""

    @contextmanager
    def open(self, context: RunContext) -> Iterator[LaunchFunction]:
        executor = replace(context.executor, copies="latest")
        with super().open(replace(context, executor=executor)) as launch:
            yield launch


@dataclass
class Lowering:
    """Lowers the text of a program; remembers which ops came out."""

    ops: Counter[str] = field(default_factory=Counter)

    def __call__(self, text: str) -> str:
        module = parse_module(text, "kernel")
        run_passes(module, load_machine("tiny"), tuple(PASSES))
        self.ops.update(op.name for op in module.walk())
        return print_module(module)


@pytest.mark.parametrize("name", KERNELS)
def test_the_goldens_are_met(name: str, triton_cache: Path) -> None:
    (template, *_) = load_templates(FOLDER / f"{name}.py")
    if missing := lacking(template.needs):
        pytest.skip(f"this release of Triton lacks {missing}")
    lowering = Lowering()
    target = LateTarget(NPU.name, NPU.arch, transform=lowering)
    evidence = run_case_on(template.instances()[0], name, target, RunOptions(), lambda stage: None)
    verdict = classify(evidence)
    assert verdict.outcome == "pass", verdict
    assert set(KERNELS[name]) <= set(lowering.ops)
    assert not {"tt.call", "cf.cond_br", "tt.descriptor_load"} & set(lowering.ops)
