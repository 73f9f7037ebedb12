"""`interpreter`: Triton's own interpreter, an independent opinion on what a kernel computes."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from harness.cases.targets import ENVIRONMENTS
from harness.errors import UsageError
from harness.npu.activation import npu_driver_active
from harness.npu.session import Session, use_session
from harness.targets.npu import npu_option_names
from harness.targets.target import BoundLaunch, LaunchFunction, LaunchOutcome, RunContext, evidence_of


@dataclass(frozen=True)
class InterpreterTarget:
    """Runs each program in Python, one at a time, on the host: nothing is simulated."""

    name: str = "interpreter"
    simulated: bool = False
    device: str = "cpu"
    stages: tuple[str, ...] = ("simulate",)
    environment: Mapping[str, str] = field(default_factory=lambda: ENVIRONMENTS["interpreter"])

    def check(self) -> None:
        from triton import knobs

        if not knobs.runtime.interpret:
            raise UsageError(
                "the interpreter target needs TRITON_INTERPRET=1 in the environment before kernels are imported",
                hint="set it and run again",
            )

    def option_names(self) -> Collection[str]:
        return npu_option_names()  # the interpreter itself takes any

    @contextmanager
    def open(self, context: RunContext) -> Iterator[LaunchFunction]:
        def launch(bound: BoundLaunch) -> LaunchOutcome:
            context.enter_stage("simulate")
            started = time.perf_counter()
            bound.kernel[bound.grid](**bound.args, **bound.options)
            return LaunchOutcome([evidence_of(bound, time.perf_counter() - started)])

        # The autotuner asks the active driver for its benchmarker, and there is none without a GPU.
        with npu_driver_active(), use_session(Session(benchmark_runs=1)):
            yield launch
