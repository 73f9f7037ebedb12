"""Work that a copy of this process does meanwhile, on a core that would be idle."""

from __future__ import annotations

import faulthandler
import os
import signal
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import IO, Any, Generic, NoReturn, TypeVar

from harness.process_end import end_with_parent

T = TypeVar("T")


def idle_cores() -> int:
    """How many processes may work beside this one, if it has the machine for itself."""
    return len(os.sched_getaffinity(0)) - 1 if hasattr(os, "sched_getaffinity") else 0


def can_fork() -> bool:
    """A fork copies no thread but the one that forks: what others hold locked would stay locked in the copy. Threads
    of torch's and NumPy's own pools hold nothing while nobody computes, and copies run torch on one thread."""
    return hasattr(os, "fork") and threading.active_count() == 1


def fork(work: Callable[[], None]) -> int:
    """The number of a copy of this process that does the work and ends, whatever happens; it prints nothing."""
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        _end_with(parent)
        _work_and_end(work)
    return pid


def _end_with(parent: int) -> None:
    """Killed too when the parent is; it may be already."""
    end_with_parent()
    if os.getppid() != parent:
        os._exit(1)


def end(pid: int) -> None:
    """Kills a copy that is not needed any more, if it is still there."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    with suppress(ChildProcessError):
        os.waitpid(pid, 0)


def _work_and_end(work: Callable[[], None]) -> NoReturn:
    """What it would print is for who started it, to whom the same happens."""
    status = 1
    try:
        faulthandler.disable()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nowhere, descriptor)
        _on_one_thread()
        work()
        status = 0
    finally:
        os._exit(status)


def _on_one_thread() -> None:
    """OpenMP's pool of threads is not there in a copy, and waiting for it would be for ever."""
    import torch

    torch.set_num_threads(1)


class Beside(Generic[T]):
    """The result of a function that a copy of this process computes. Whatever keeps the copy from it (an exception, a
    crash, no memory) costs nothing but the time: it is computed here then, and what that raises is raised."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`
        self._pid: int | None = fork(self._work_and_write)

    def result(self, again: Callable[[], None]) -> T:
        """Waits for it. `again` is called where it has to be computed here."""
        import torch

        pid, self._pid = self._pid, None
        if pid is not None and os.waitpid(pid, 0)[1] == 0:
            self._file.seek(0)
            # Written by this process's own copy.
            return torch.load(self._file, weights_only=False)
        again()
        return self._work()

    def close(self) -> None:
        """Ends the copy if nobody has asked for its result."""
        if self._pid is not None:
            end(self._pid)
            self._pid = None
        self._file.close()

    def _work_and_write(self) -> None:
        import torch

        result: Any = self._work()
        torch.save(result, self._file)
        self._file.flush()
