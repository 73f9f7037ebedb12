"""What a target is: a place where the launches of a case can run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from harness.cases.evidence import Finding, LaunchEvidence

if TYPE_CHECKING:
    import torch

    from harness.executor.api import ExecutorOptions

EnterStage = Callable[[str], None]


@dataclass(frozen=True)
class Region:
    """One named storage of a case: `bytes` is the 1-D uint8 tensor of it, without its guards.

    holes   1-D bool numpy array, one per byte, True inside the view; None means all
    written 1-D bool numpy array, one per byte, True where the fill wrote; None means all
    pointers  the bytes hold addresses of other regions (a pointer table)
    """

    name: str
    bytes: torch.Tensor
    itemsize: int
    inside: Any = None
    initialised: Any = None
    pointers: bool = False


@dataclass(frozen=True)
class BoundLaunch:
    """One launch with live arguments, by parameter name; the grid is X first and as the case wrote it."""

    kernel: Any
    grid: tuple[int, ...]
    args: Mapping[str, Any]
    options: Mapping[str, Any]


@dataclass
class LaunchOutcome:
    """What one `kernel[grid](...)` did; an autotuned kernel makes several launches in it.

    loads and stores name regions, or are None where the target cannot see accesses
    texts            IR by stage name, for the artifacts
    writers          program ids that wrote an element: `writers(region name, byte offset)`; None when not traced
    """

    launches: list[LaunchEvidence] = field(default_factory=list)
    loads: set[str] | None = None
    stores: set[str] | None = None
    findings: list[Finding] = field(default_factory=list)
    output: list[str] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)


LaunchFunction = Callable[[BoundLaunch], LaunchOutcome]


@dataclass(frozen=True)
class RunContext:
    """What a target is given for one case: its memory, how to execute, and whom to tell about stages."""

    regions: tuple[Region, ...]
    executor: ExecutorOptions
    enter_stage: EnterStage


class Target(Protocol):
    """A place where a case can run.

    name         as `--target` spells it
    simulated    True when every launch runs on the executor, so that a pass is earned
    stages       the stages it adds between "frontend" and "compare", in order
    environment  variables that must be set before Triton, or a module with kernels, is imported
    """

    name: str
    simulated: bool
    stages: tuple[str, ...]
    environment: Mapping[str, str]

    def check(self) -> None:
        """Raises UsageError, in one sentence, when this machine or process cannot run the target."""
        ...

    def open(self, context: RunContext) -> AbstractContextManager[LaunchFunction]:
        """A function that runs one launch at a time over the context's memory."""
        ...


def three_dimensional(grid: tuple[int, ...]) -> tuple[int, int, int]:
    """The grid as (x, y, z), X first."""
    x, y, z = (*grid, 1, 1)[:3]
    return x, y, z
