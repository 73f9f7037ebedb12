"""What explains a failure, written to the case's folder while everything is still in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.cases.allocate import Allocated, AllocatedBuffer, Snapshot
from harness.cases.evidence import Evidence, Failure
from harness.cases.kernel_case import KernelCase
from harness.errors import UsageError
from harness.reports.artifacts import BufferArtifact, FailureArtifacts
from harness.targets.kernel_source import kernel_file

if TYPE_CHECKING:
    import torch

Memory = tuple[Allocated, Snapshot, "Mapping[str, np.ndarray | None]"]


def save_artifacts(
    folder: Path,
    evidence: Evidence,
    case: KernelCase | None,
    kernel: Any,
    irs: Mapping[str, Callable[[], str]],
    memory: Memory | None,
) -> Failure | None:
    """Writes the failure folder of a run. Returns the failure to do so, if any: a full disk is not the case's fault
    and must not hide what the run found."""
    kernels = [kernel] if kernel is not None else [launch.kernel for launch in (case.launches if case else ())]
    stage, last = _last(irs)
    artifacts = FailureArtifacts(
        kernel=kernel_file(kernels),
        ttir=irs["ttir"]() if "ttir" in irs else last,
        last_ir=last,
        last_ir_stage=stage,
        buffers=buffers_of(*memory) if memory else [],
    )
    try:
        artifacts.save(folder)
    except UsageError as error:
        return Failure(evidence.stage, "EnvironmentFailed", error.what, hint=error.hint)
    return None


def _last(irs: Mapping[str, Callable[[], str]]) -> tuple[str, str]:
    stages = list(irs)
    return (stages[-1], irs[stages[-1]]()) if stages else ("", "")


def buffers_of(
    allocated: Allocated, before: Snapshot, goldens: Mapping[str, np.ndarray | None]
) -> list[BufferArtifact]:
    """Every buffer as it was before the first launch, as it is now, and as it should be. What it is now shares the
    case's memory."""
    return [
        BufferArtifact(name, _input(one, before), one.tensor.cpu(), _want(one, goldens.get(name)))
        for name, one in allocated.buffers.items()
    ]


def _input(one: AllocatedBuffer, before: Snapshot) -> torch.Tensor:
    import torch

    buffer, size = one.buffer, one.buffer.dtype.itemsize
    if buffer.numel == 0:
        return torch.empty(buffer.shape, dtype=buffer.dtype.torch)
    raw = before.bytes_of(one.storage)[: buffer.storage_elements * size].copy()
    elements = torch.from_numpy(raw).view(buffer.dtype.torch)
    return elements.as_strided(buffer.shape, buffer.strides, buffer.offset)


def _want(one: AllocatedBuffer, golden: np.ndarray | None) -> torch.Tensor | None:
    import torch

    if golden is None:
        return None
    if one.buffer.numel == 0:
        return torch.empty(one.buffer.shape, dtype=one.buffer.dtype.torch)
    raw = np.ascontiguousarray(golden).reshape(-1).view(np.uint8).copy()
    return torch.from_numpy(raw).view(one.buffer.dtype.torch).reshape(one.buffer.shape)
