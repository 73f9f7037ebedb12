"""Runners that do what a compiler or a kernel may do to its process; named in requests by import path."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from harness.cases.evidence import Evidence
from harness.cases.kernel_case import CaseInstance
from harness.cases.options import RunOptions
from harness.errors import OutOfBounds

EnterStage = Callable[[str], None]


def run(instance: CaseInstance, node_id: str, target: str, options: RunOptions, enter_stage: EnterStage) -> Evidence:
    """Does what the case's parameter `deed` says, in stage "frontend"."""
    enter_stage("frontend")
    DEEDS[instance.chosen["deed"]](options)
    enter_stage("compare")
    return Evidence(node_id, target, "compare", output=str(os.getpid()))


def _nothing(options: RunOptions) -> None:
    pass


def _segfault(options: RunOptions) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def _abort(options: RunOptions) -> None:
    os.write(2, b"Assertion `isa<To>(Val)' failed.\n")
    os.abort()


def _hang(options: RunOptions) -> None:
    signal.pause()


def _exit_at_once(options: RunOptions) -> None:
    os._exit(3)


def _exit_at_once_as_if_well(options: RunOptions) -> None:
    os._exit(0)


def _sys_exit(options: RunOptions) -> None:
    sys.exit(4)


def _killed(options: RunOptions) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _kill_zygote(options: RunOptions) -> None:
    os.kill(os.getppid(), signal.SIGKILL)
    signal.pause()


def _allocate(options: RunOptions) -> None:
    np.ones(2**28, dtype=np.float64)  # 2 GiB


def _trap(options: RunOptions) -> None:
    raise OutOfBounds("x[5] is outside", hint="mask it", program=(1, 2, 3))


def _close_every_descriptor(options: RunOptions) -> None:
    os.closerange(3, 256)


def _leave_a_process_behind(options: RunOptions) -> None:
    process = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
    Path(options.artifacts).write_text(str(process.pid), encoding="ascii")


def _wait_for_start(pid: int) -> None:
    while Path(f"/proc/{pid}").exists():
        time.sleep(0.01)


DEEDS: dict[str, Callable[[RunOptions], None]] = {
    "nothing": _nothing,
    "segfault": _segfault,
    "abort": _abort,
    "hang": _hang,
    "os._exit": _exit_at_once,
    "os._exit(0)": _exit_at_once_as_if_well,
    "sys.exit": _sys_exit,
    "sigkill": _killed,
    "kill-zygote": _kill_zygote,
    "allocate": _allocate,
    "trap": _trap,
    "close-descriptors": _close_every_descriptor,
    "leave-process": _leave_a_process_behind,
}
