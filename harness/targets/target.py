"""What a target is: a place where the launches of a case can run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from harness.cases.allocate import Allocated
from harness.cases.evidence import Finding, LaunchEvidence
from harness.cases.options import RunOptions
from harness.executor.api import ExecutorOptions
from harness.goldens import Writers

# Called with each stage as it begins; in a loop that goes on and on also with the stage and the loop's line.
EnterStage = Callable[..., None]


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

    loads, stores  names of the storages the programs touched; None where the target cannot see accesses
    output         lines of `tl.device_print`
    texts          the IR that was executed, one for each compiled kernel
    writers        of one launch each: which programs wrote bytes of a storage, where the executor traced it
    """

    launches: list[LaunchEvidence] = field(default_factory=list)
    loads: set[str] | None = None
    stores: set[str] | None = None
    findings: list[Finding] = field(default_factory=list)
    output: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    writers: list[Writers] = field(default_factory=list)


LaunchFunction = Callable[[BoundLaunch], LaunchOutcome]


@dataclass(frozen=True)
class RunContext:
    """What a target is given for one case: its memory, how to execute, and whom to tell about stages.

    keep_ir  takes a stage and the IR that it is given, for whoever looks into a failure
    options  what the command line says
    """

    allocated: Allocated
    executor: ExecutorOptions
    enter_stage: EnterStage
    keep_ir: Callable[[str, Callable[[], str]], None]
    options: RunOptions = field(default_factory=RunOptions)


class Target(Protocol):
    """A place where a case can run.

    name         as `--target` spells it
    simulated    every launch runs on the executor, so that a pass is earned
    device       the torch device that the case's buffers must live on
    stages       the stages it adds between "frontend" and "compare", in order
    environment  variables that must be set before Triton, or a module with kernels, is imported
    """

    @property
    def name(self) -> str: ...
    @property
    def simulated(self) -> bool: ...
    @property
    def device(self) -> str: ...
    @property
    def stages(self) -> tuple[str, ...]: ...
    @property
    def environment(self) -> Mapping[str, str]: ...

    def check(self) -> None:
        """Raises UsageError, in one sentence, when this machine or process cannot run the target."""
        ...

    def option_names(self) -> Collection[str]:
        """The launch options its compiler knows, such as num_warps."""
        ...

    def open(self, context: RunContext) -> AbstractContextManager[LaunchFunction]:
        """A function that runs one launch at a time over the context's memory."""
        ...


def three_dimensional(grid: tuple[int, ...]) -> tuple[int, int, int]:
    """The grid as (x, y, z), X first."""
    x, y, z = (*grid, 1, 1)[:3]
    return x, y, z


def evidence_of(bound: BoundLaunch, seconds: float) -> LaunchEvidence:
    """The evidence of a launch that something other than our executor ran."""
    x, y, z = three_dimensional(bound.grid)
    return LaunchEvidence(kernel_name(bound.kernel), (x, y, z), x * y * z, simulated=False, simulate_seconds=seconds)


def kernel_name(kernel: Any) -> str:
    """The Python name of a kernel, through autotune and heuristics decorators."""
    while not hasattr(kernel, "__name__"):
        kernel = kernel.fn
    return kernel.__name__
