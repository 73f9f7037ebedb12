"""`gpu`: real CUDA hardware, for checking that the simulator and silicon agree."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from harness.errors import UsageError
from harness.targets.target import BoundLaunch, LaunchFunction, LaunchOutcome, RunContext, evidence_of


@dataclass(frozen=True)
class GpuTarget:
    """Every launch runs on the current CUDA device, which the case's buffers live on."""

    name: str = "gpu"
    simulated: bool = False
    device: str = "cuda"
    stages: tuple[str, ...] = ("simulate",)
    environment: Mapping[str, str] = field(default_factory=dict)

    def check(self) -> None:
        import torch

        if not torch.cuda.is_available():
            raise UsageError("the gpu target needs a CUDA device and a CUDA build of torch, and finds none")

    def option_names(self) -> Collection[str]:
        from triton.compiler import make_backend
        from triton.runtime import driver

        target: Any = driver.active.get_current_target()
        return set(vars(make_backend(target).parse_options({})))

    @contextmanager
    def open(self, context: RunContext) -> Iterator[LaunchFunction]:
        import torch
        import triton

        # Kernels that build tensor descriptors on the device need memory for them.
        triton.set_allocator(lambda size, alignment, stream: torch.empty(size, dtype=torch.int8, device="cuda"))

        def launch(bound: BoundLaunch) -> LaunchOutcome:
            context.enter_stage("frontend")
            torch.cuda.synchronize()
            started = time.perf_counter()
            bound.kernel[bound.grid](**bound.args, **bound.options)
            # Compiling is over and hardware takes over: what fails from here on is the launch.
            context.enter_stage("simulate")
            torch.cuda.synchronize()
            return LaunchOutcome([evidence_of(bound, time.perf_counter() - started)])

        yield launch
