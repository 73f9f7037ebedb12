"""The part of a torch device module (`torch.cuda`) that Triton's benchmarking uses, on the host's clock."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

from harness.npu.session import current_session


class Event:
    """A moment; `elapsed_time` is in milliseconds and never zero, since Triton divides by it."""

    def __init__(self, enable_timing: bool = True) -> None:
        self.moment = 0.0

    def record(self) -> None:
        self.moment = time.perf_counter()

    def elapsed_time(self, end: Event) -> float:
        return max(1e-6, (end.moment - self.moment) * 1e3)


def synchronize() -> None:
    """Launches have finished when they return."""


def current_device() -> int:
    return 0


def benchmark(
    kernel_call: Callable[[], Any], quantiles: Sequence[float] | None = None, **unused: Any
) -> list[float] | float:
    """Milliseconds of `kernel_call` on the host: at the quantiles, or the mean.

    A simulated launch is slow and repeats exactly, so a few runs say as much as Triton's 100 ms of them.
    """
    kernel_call()
    times = [_milliseconds(kernel_call) for _ in range(current_session().benchmark_runs)]
    if quantiles is None:
        return statistics.fmean(times)
    ordered = sorted(times)
    return [ordered[round(quantile * (len(ordered) - 1))] for quantile in quantiles]


def _milliseconds(kernel_call: Callable[[], Any]) -> float:
    started = time.perf_counter()
    kernel_call()
    return (time.perf_counter() - started) * 1e3
