"""`interpreter`: Triton's own interpreter, an independent opinion on what a kernel computes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from harness.cases.evidence import LaunchEvidence
from harness.errors import UsageError
from harness.npu.activation import npu_driver_active
from harness.targets.target import BoundLaunch, LaunchFunction, LaunchOutcome, RunContext, three_dimensional


class InterpreterTarget:
    """Runs each program in Python, one at a time, on the host: nothing is simulated."""

    name = "interpreter"
    simulated = False
    stages: tuple[str, ...] = ("simulate",)
    environment: Mapping[str, str] = {"TRITON_INTERPRET": "1"}

    def check(self) -> None:
        from triton import knobs

        if not knobs.runtime.interpret:
            raise UsageError(
                "the interpreter target needs TRITON_INTERPRET=1 in the environment before kernels are imported",
                hint="run `TRITON_INTERPRET=1 pytest --target interpreter`",
            )

    @contextmanager
    def open(self, context: RunContext) -> Iterator[LaunchFunction]:
        def launch(bound: BoundLaunch) -> LaunchOutcome:
            context.enter_stage("simulate")
            started = time.perf_counter()
            bound.kernel[bound.grid](**bound.args, **bound.options)
            return LaunchOutcome([evidence_of(bound, time.perf_counter() - started)])

        # The autotuner asks the active driver for its benchmarker, and there is none without a GPU.
        with npu_driver_active():
            yield launch


def evidence_of(bound: BoundLaunch, seconds: float) -> LaunchEvidence:
    """The evidence of a launch that something other than our executor ran."""
    x, y, z = three_dimensional(bound.grid)
    return LaunchEvidence(bound.kernel.__name__, (x, y, z), x * y * z, simulated=False, simulate_seconds=seconds)
