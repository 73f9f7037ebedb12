"""The parent's end of a worker process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from benchmarks.benchmark import Located
from benchmarks.sides import SIDES, Sample
from harness.errors import HarnessError

_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class WorkerFailed(HarnessError):
    """A side that could not be measured."""


class Worker:
    """One side of one benchmark, in its own process. Use as a context manager: leaving it ends the process."""

    def __init__(self, located: Located, side: str, threads: int, scale: int = 1, machine: str = "") -> None:
        self.side = side
        command = [sys.executable, "-m", "benchmarks.worker", located.module, located.benchmark.name, side]
        command += [f"--threads={threads}", f"--scale={scale}", f"--machine={machine}"]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=worker_environment(os.environ, SIDES[side].environment, threads),
        )

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._process.kill()
        self._process.communicate()

    def ready(self) -> Sample:
        """Waits until the side has checked its results. Raises WorkerFailed."""
        return self._answer("ready")

    def sample(self) -> Sample:
        """One sample, as the side makes it. Raises WorkerFailed."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write("\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass  # `_answer` tells how it ended
        return self._answer("sample")

    def _answer(self, key: str) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise WorkerFailed(f"{self.side}: the process ended with status {self._process.wait()}")
        answer = json.loads(line)
        if "error" in answer:
            raise WorkerFailed(f"{self.side}: {answer['error']}")
        return answer[key]


def worker_environment(current: Mapping[str, str], own: Mapping[str, str | None], threads: int) -> dict[str, str]:
    """The environment of a worker: the current one, with this process's import path, every library on `threads`
    threads, and the side's `own` variables, of which None must not be set."""
    chosen: dict[str, str | None] = {
        **current,
        "PYTHONPATH": os.pathsep.join(folder or os.getcwd() for folder in sys.path),
        **dict.fromkeys(_THREAD_VARIABLES, str(threads)),
        **own,
    }
    return {name: value for name, value in chosen.items() if value is not None}
