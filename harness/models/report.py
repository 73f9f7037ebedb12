"""What one step of a model came to, and in words what is wrong with a buffer of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from harness.cases.evidence import BufferEvidence
from harness.cases.location import SourceLocation
from harness.cases.tolerance import Tolerance
from harness.models.plan import Kernel, Output, place_of
from harness.npu.session import LaunchRecord

if TYPE_CHECKING:
    import torch.fx


@dataclass
class KernelReport:
    """One step of a model, for the progress line and for whoever asks what happened.

    number    of the launch, from 1, over the whole run
    steps     of its graph
    launches  what ran on the simulated NPU; empty for a step without code of its own
    buffers   what it finished, compared or not
    tolerances  measured ones, of buffers for which the documented tolerance does not hold
    notes     by the name of a buffer that differs, what may explain it
    held_to   by output, the node whose value it was found to hold, or should have held
    reads     and whether what it read was right: "right", "wrong" or "not compared"
    """

    number: int
    graph: str
    kernel: Kernel
    launches: Sequence[LaunchRecord]
    buffers: list[BufferEvidence] = field(default_factory=list)
    reads: dict[str, str] = field(default_factory=dict)
    tolerances: list[Tolerance] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)
    held_to: dict[str, torch.fx.Node] = field(default_factory=dict)
    worst: float = 0.0
    seconds: float = 0.0
    steps: int = 0

    def __str__(self) -> str:
        """The line that `harness model` prints."""
        from harness.models.progress import kernel_line

        return kernel_line(self)

    @property
    def name(self) -> str:
        return self.launches[0].kernel if self.launches else self.kernel.extern or "nothing to launch"

    def output_of(self, buffer: BufferEvidence) -> Output:
        return next(one for one in self.kernel.outputs if f"{self.graph}/{one.name}" == buffer.name)

    def place_of(self, buffer: BufferEvidence) -> SourceLocation | None:
        """The line of the model that the buffer's node comes from."""
        return place_of(self.output_of(buffer).node)


def mismatch_line(report: KernelReport, buffer: BufferEvidence) -> str:
    """One buffer that differs: where, how, from which node and line, and whether what its kernel read was right."""
    mismatch = buffer.mismatch
    assert mismatch is not None
    return (
        f"launch {report.number}, {report.name}: {buffer.name} differs from its golden{_node(report, buffer)}:"
        f" {mismatch.wrong} of {mismatch.total} elements"
        f" ({mismatch.error_shape}), first at {list(mismatch.first_index)}: got {mismatch.got}, want {mismatch.want};"
        f" {_explained(report, buffer)}"
    )


def origin_line(report: KernelReport, buffer: BufferEvidence) -> str:
    """Of a buffer that differs, which launch made it, of which node and line, and what may explain it."""
    return f"launch {report.number}, {report.name}{_node(report, buffer)}; {_explained(report, buffer)}"


def _node(report: KernelReport, buffer: BufferEvidence) -> str:
    output, place = report.output_of(buffer), report.place_of(buffer)
    node = f", node {output.node.name}" if output.node is not None else ""
    return f"{node} at {place}" if place else node


def _explained(report: KernelReport, buffer: BufferEvidence) -> str:
    others = [name for name, state in report.reads.items() if state != "right"]
    inputs = f"what it reads was wrong already: {', '.join(others)}" if others else "everything it reads was right"
    note = report.notes.get(buffer.name, "")
    return f"{inputs}; {note}" if note else inputs
