"""Deliberate faults, each found at the right kernel and buffer: in one compiled model, whose kernels' IR is changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
import torch
from model_kit import Compiled, run
from torch import nn

from harness.errors import OutOfBounds


class Subject(nn.Module):
    """Five kernels: a product, a normalisation of its ReLU (which takes over the product's memory), a product, a
    softmax, and a running mean that is changed in place."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(16, 24), nn.LayerNorm(24), nn.Linear(24, 10)
        self.seen: torch.Tensor
        self.register_buffer("seen", torch.zeros(10))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        hidden = torch.relu(self.first(x))
        out = self.last(self.norm(hidden))
        self.seen.mul_(0.9).add_(out.mean(0))
        return torch.softmax(out * 0.5, -1), hidden


FIRST, NORM, LAST, SOFTMAX, MEAN = range(1, 6)


@pytest.fixture(scope="module")
def subject() -> Iterator[Compiled]:
    torch.manual_seed(0)
    module = Subject()
    torch.nn.init.normal_(module.norm.weight)
    torch.nn.init.normal_(module.norm.bias)
    with Compiled(module, torch.randn(5, 16)) as compiled:
        yield compiled


def test_without_a_fault_nothing_is_found(subject: Compiled):
    checker = subject.run()
    assert [len(report.buffers) for report in checker.reports] == [1, 2, 1, 1, 1]
    assert all(buffer.compared and not buffer.mismatch for report in checker.reports for buffer in report.buffers)
    assert not checker.findings


def swapped(text: str, left: str, right: str) -> str:
    return text.replace(left, "%swap").replace(right, left).replace("%swap", right)


@dataclass(frozen=True)
class Fault:
    """kernel   whose IR is changed, counted from 1
    change   of the IR
    wrong    the outputs that it makes wrong, counted from 0
    """

    kernel: int
    change: Callable[[str], str]
    wrong: tuple[int, ...] = (0,)
    shape: str = ""


def _replaced(old: str, new: str) -> Callable[[str], str]:
    return lambda text: text.replace(old, new)


def _minimum(text: str) -> str:
    """Triton writes a maximum that keeps NaNs as a comparison, from 3.8 on as an op of its own."""
    return text.replace("arith.cmpf ogt, %cst, ", "arith.cmpf olt, %cst, ").replace("arith.maximumf", "arith.minimumf")


FAULTS: dict[str, Fault] = {
    "a wrong constant": Fault(NORM, _replaced("dense<9.99999974E-6>", "dense<9.99999974E-3>"), (1,)),
    "a constant wrong by 4e-5": Fault(NORM, _replaced("dense<2.400000e+01>", "dense<24.001>"), (1,)),
    "weight and bias change places": Fault(NORM, lambda text: swapped(text, "%in_ptr0:", "%in_ptr1:"), (1,)),
    "a maximum that is a minimum": Fault(NORM, _minimum, (0, 1)),
    "one row is left out": Fault(NORM, _replaced("%xmask = arith.constant 5 :", "%xmask = arith.constant 4 :"), (0, 1)),
    "one column is left out": Fault(LAST, _replaced("dense<10> : tensor<1x16xi32>", "dense<9> : tensor<1x16xi32>")),
    "nothing is stored": Fault(SOFTMAX, lambda text: _without(text, "tt.store"), shape="still poison"),
    "a sum is a maximum": Fault(SOFTMAX, _replaced("arith.addf %tmp32", "arith.maxnumf %tmp32")),
    "a change in place is lost": Fault(MEAN, lambda text: _without(text, "tt.store")),
    "a row is added twice": Fault(
        MEAN, _replaced("%tmp6 = arith.constant dense<20>", "%tmp6 = arith.constant dense<10>")
    ),
    "the bias is dropped": Fault(FIRST, _replaced("%tmp0_39 : tensor<16x16", "%zero : tensor<16x16")),
}


def _without(text: str, op: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.strip().startswith(op))


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_at_its_kernel(subject: Compiled, name: str):
    fault = FAULTS[name]
    if name == "the bias is dropped":
        fault = Fault(FIRST, _bias_dropped)
    checker = subject.run(fault.kernel, fault.change)
    report = checker.reports[-1]
    assert report.number == fault.kernel, "the run ends where it went wrong"
    assert [i for i, one in enumerate(report.buffers) if one.mismatch] == list(fault.wrong)
    assert all(state == "right" for state in report.reads.values())
    assert not any(one.mismatch for earlier in checker.reports[:-1] for one in earlier.buffers)
    if fault.shape:
        assert report.buffers[0].mismatch is not None
        assert report.buffers[0].mismatch.error_shape == fault.shape


def _bias_dropped(text: str) -> str:
    lines = text.splitlines()
    dot = next(i for i, line in enumerate(lines) if " tt.dot " in line)
    lines.insert(dot, "    %zero = arith.constant dense<0.000000e+00> : tensor<16x32xf32>")
    return "\n".join(lines).replace("%tmp0_39 : tensor<16x16xf32>", "%zero : tensor<16x16xf32>")


def test_a_kernel_that_changes_what_it_only_reads(subject: Compiled):
    def spoiled(text: str) -> str:
        return text.replace(
            "    tt.return", "    tt.store %tmp0_8, %tmp31, %tmp0_10 : tensor<1x16x!tt.ptr<f32>>\n    tt.return"
        )

    checker = subject.run(SOFTMAX, spoiled)
    assert checker.reports[-1].number == SOFTMAX
    (finding,) = checker.findings
    assert finding.kind == "input-changed"
    assert finding.buffer == "inference/buf6"
    assert "kernel 3, which only reads it" in finding.message


def test_a_dropped_mask_is_a_trap_of_its_launch(subject: Compiled):
    with pytest.raises(OutOfBounds):
        subject.run(SOFTMAX, _replaced("tt.load %tmp0_8, %tmp0_10, %cst_1", "tt.load %tmp0_8"))


def test_a_stale_kernel_is_found_where_it_runs(subject: Compiled):
    """As from a cache whose key is too small: the first product runs in the place of the second."""
    stale, fresh = subject.texts[FIRST - 1], subject.texts[LAST - 1]
    name = subject.names[FIRST - 1], subject.names[LAST - 1]
    assert stale != fresh
    with pytest.raises(OutOfBounds):
        subject.run(LAST, lambda text: stale.replace(f"@{name[0]}(", f"@{name[1]}("))


def test_what_comes_after_a_fault_is_not_blamed(subject: Compiled):
    """Each kernel is held to what it was given."""
    checker = subject.run(NORM, FAULTS["a wrong constant"].change, going=True)
    assert [report.number for report in checker.reports if any(one.mismatch for one in report.buffers)] == [NORM]
    after = checker.reports[LAST - 1]
    assert "wrong" in after.reads.values()


def test_an_op_on_the_host_is_no_pass():
    def inverse(x: torch.Tensor) -> torch.Tensor:
        return torch.linalg.inv(x @ x.T + torch.eye(4)) * 2

    torch.manual_seed(0)
    outcome = run(inverse, torch.randn(4, 4))
    assert {finding.kind for finding in outcome.findings} == {"not-simulated"}
    assert "aten.linalg_inv_ex.default ran on the host: Inductor has no Triton lowering" in outcome.findings[0].message


def test_a_buffer_that_is_checked_too_early_is_seen(subject: Compiled):
    """The harness's own fault: a golden of what a buffer holds one kernel later."""
    (graph,) = subject.capture.graphs
    kernel = graph.kernels[NORM - 1]
    hidden, normed = kernel.outputs
    kernel.outputs = (hidden, type(normed)(normed.name, normed.variable, hidden.node))
    try:
        checker = subject.run()
    finally:
        kernel.outputs = (hidden, normed)
    assert [bool(one.mismatch) for one in checker.reports[-1].buffers] == [False, True]
    assert checker.reports[-1].number == NORM
