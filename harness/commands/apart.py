"""Work in a process of its own, so that what it does to its process, or how long it takes, costs the work alone."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

from harness.errors import HarnessError
from harness.isolation import wire
from harness.isolation.messages import Stage

T = TypeVar("T")


@dataclass(frozen=True)
class Ended:
    """The process ended, or was ended, before it had done its work: in which stage, and how."""

    stage: str
    how: str


@dataclass(frozen=True)
class _Done:
    result: Any


def apart(work: Callable[[Callable[[str], None]], T], timeout: float, first_stage: str) -> T | Ended:
    """What `work` returns, or how it ended. It is given a function that hears each stage as it begins.

    Raises the HarnessError that it raises. What it returns must be picklable.
    """
    ours, theirs = socket.socketpair()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        ours.close()
        _work(work, theirs)
    theirs.close()
    with contextlib.suppress(OSError):  # the child does so too, and may be gone
        os.setpgid(pid, pid)
    try:
        with ours:
            return _watched(ours, pid, timeout, first_stage)
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)


def _work(work: Callable[[Callable[[str], None]], object], connection: socket.socket) -> NoReturn:
    try:
        faulthandler.disable()  # how the process ended is told in a sentence
        os.setpgid(0, 0)
        if "torch" in sys.modules:
            # Of its pool only the thread that forks is here; it would wait for the others.
            sys.modules["torch"].set_num_threads(1)
        try:
            answer: object = _Done(work(lambda stage: wire.send(connection, Stage(stage))))
        except HarnessError as error:
            answer = error
        wire.send(connection, answer)
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(1)


def _watched(connection: socket.socket, pid: int, timeout: float, stage: str) -> Any:
    deadline = time.monotonic() + timeout
    while True:
        connection.settimeout(max(0.001, deadline - time.monotonic()))
        try:
            answer = wire.receive(connection)
        except TimeoutError:
            return Ended(stage, f"still running after {timeout:g} s (--case-timeout)")
        except (OSError, EOFError):
            return Ended(stage, _how(pid))
        if isinstance(answer, HarnessError):
            raise answer
        if isinstance(answer, _Done):
            return answer.result
        stage = answer.name


def _how(pid: int) -> str:
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        return f"the case's process ended by {signal.Signals(os.WTERMSIG(status)).name}"
    return f"the case ended its process with status {os.waitstatus_to_exitcode(status)}"
