"""The parent's side of a zygote: start it, ask it for children, and see how they end."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import EnvironmentFailed
from harness.isolation import wire, zygote
from harness.isolation.messages import CaseRequest, Dump, Ended, Kill, NotReady, Setup, Spawn, Spawned

# What a case file's import needs; the rest of the harness is imported when the first case runs, so that
# `--collect-only` does not pay for it.
PRELOAD = ("numpy", "numpy.random", "torch", "triton", "triton.language")

# One thread: a fork copies only the thread that calls it, and a pool's other threads would be lost.
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"), "1")

_TAIL_BYTES = 64 * 1024

_MEMORY_FOLDER = "/dev/shm"
_MEMORY_NEEDED = 2**30  # bytes; our own cases need 25 KB each


class ZygoteDied(Exception):
    """The zygote is gone, and with it whatever its child was doing."""


@dataclass
class Child:
    """A process forked from the zygote; `job` is our end of its socket."""

    pid: int
    job: socket.socket
    stdout: Path
    stderr: Path
    ended: Ended | None = None

    def forget_output(self) -> None:
        """What it writes from now on is another case's."""
        for path in (self.stdout, self.stderr):
            os.truncate(path, 0)

    def close(self) -> None:
        self.job.close()
        for path in (self.stdout, self.stderr):
            path.unlink(missing_ok=True)


class Zygote:
    """One running zygote. Its folders hold its children's caches and output, and go when it goes."""

    def __init__(self, environment: Mapping[str, str], preload: tuple[str, ...] = PRELOAD) -> None:
        """Starts the process; it imports while the caller goes on. Raises EnvironmentFailed when it cannot start."""
        self._environment = dict(environment)
        self._spawned = 0
        self._children: dict[int, Child] = {}
        self.folder = Path(tempfile.mkdtemp(prefix="harness-"))
        self._compiled = Path(tempfile.mkdtemp(prefix="harness-", dir=memory_folder()))
        self._control, theirs = socket.socketpair()
        with theirs, (self.folder / "zygote.log").open("wb") as log:
            self._process = self._start(theirs.fileno(), log.fileno())
        wire.send(self._control, Setup(tuple(sys.path), preload, self._folders))
        self._ready = False

    def _start(self, descriptor: int, log: int) -> subprocess.Popen[bytes]:
        # By its path: with -m, a folder called `harness` where pytest was started would be found first.
        command = [sys.executable, zygote.__file__, str(descriptor)]
        try:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self._variables(),
                pass_fds=(descriptor,),
                start_new_session=True,  # Ctrl-C is for pytest, which then ends its zygotes
            )
        except OSError as error:
            raise EnvironmentFailed(f"the process that runs cases cannot be started: {error}") from error

    def _variables(self) -> dict[str, str]:
        caches = {
            name: str(_subfolder(folder, below))
            for name, folder, below in (
                ("TRITON_HOME", self._compiled, "triton"),
                ("TRITON_CACHE_DIR", self._compiled, "triton/cache"),
                ("TRITON_DUMP_DIR", self._compiled, "triton/dump"),
                ("TRITON_OVERRIDE_DIR", self._compiled, "triton/override"),
                ("TORCHINDUCTOR_CACHE_DIR", self.folder, "inductor"),
                ("TMPDIR", self.folder, "temporary"),
            )
        }
        # The one place where this package surely is: a checkout need not be installed to be run.
        package = str(Path(__file__).resolve().parents[2])
        path = os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))
        fixed = {"PYTHONPATH": path, "PYTHONHASHSEED": "0"}
        return {**os.environ, **_ONE_THREAD, **caches, **fixed, **self._environment}

    @property
    def _folders(self) -> tuple[str, ...]:
        return str(self.folder), str(self._compiled)

    def spawn(self, request: CaseRequest | None) -> Child:
        """Forks a child. Raises ZygoteDied, or EnvironmentFailed when the zygote could not import its modules."""
        self._spawned += 1
        stdout, stderr = (self.folder / f"{self._spawned}.{name}" for name in ("out", "err"))
        ours, theirs = socket.socketpair()
        try:
            with theirs:
                self._wait_ready()
                wire.send(self._control, Spawn(request, str(stdout), str(stderr)), (theirs.fileno(),))
            pid = self._expect_spawned()
        except (OSError, EOFError) as error:
            ours.close()
            raise ZygoteDied(self.log()) from error
        child = Child(pid, ours, stdout, stderr)
        self._children[pid] = child
        return child

    def _wait_ready(self) -> None:
        if self._ready:
            return
        answer = wire.receive(self._control)
        if isinstance(answer, NotReady):
            raise EnvironmentFailed(answer.reason, hint="the process that runs cases imports numpy, torch and triton")
        self._ready = True

    def _expect_spawned(self) -> int:
        while True:
            message = wire.receive(self._control)
            if isinstance(message, Spawned):
                return message.pid
            self._note(message)

    def wait(self, child: Child, deadline: float) -> Ended | None:
        """How the child ended, or None if it has not by `deadline` (of time.monotonic). Raises ZygoteDied."""
        while child.ended is None:
            self._control.settimeout(max(0.001, deadline - time.monotonic()))
            try:
                self._note(wire.receive(self._control))
            except TimeoutError:
                return None
            except (OSError, EOFError) as error:
                raise ZygoteDied(self.log()) from error
            finally:
                self._control.settimeout(None)
        return child.ended

    def _note(self, message: Any) -> None:
        if isinstance(message, Ended) and message.pid in self._children:
            self._children.pop(message.pid).ended = message

    def fileno(self) -> int:
        """Readable when a child has ended or the zygote is gone, so that it can be waited for beside a job."""
        return self._control.fileno()

    def kill(self, child: Child) -> None:
        """Kills the child and all it has started, after its Python stack is on its stderr."""
        with contextlib.suppress(OSError):
            wire.send(self._control, Dump(child.pid))
            # The dump is written by a signal handler at once, whatever the child is doing.
            with contextlib.suppress(ZygoteDied):
                self.wait(child, time.monotonic() + 0.1)
            wire.send(self._control, Kill(child.pid))

    def log(self) -> str:
        return tail(self.folder / "zygote.log")

    def close(self) -> None:
        """Ends the zygote and all its children, and removes its folder."""
        self._control.close()
        for child in self._children.values():
            child.job.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        # Where the zygote was killed, its children were too (they asked the kernel for that), but not theirs.
        for pid in self._children:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)
        for folder in self._folders:
            shutil.rmtree(folder, ignore_errors=True)


def memory_folder() -> str | None:
    """Where files live in memory, if there is room for a run's; None for where any temporary file goes.

    Triton's cache makes a folder and some ten files a case, of a few kilobytes each: up to a seventh of what a case
    takes on a file system that keeps a journal.
    """
    if "TMPDIR" in os.environ or not os.access(_MEMORY_FOLDER, os.W_OK):
        return None
    return _MEMORY_FOLDER if shutil.disk_usage(_MEMORY_FOLDER).free >= _MEMORY_NEEDED else None


def _subfolder(folder: Path, name: str) -> Path:
    subfolder = folder / name
    subfolder.mkdir(parents=True, exist_ok=True)
    return subfolder


def tail(path: Path) -> str:
    """The last 64 KiB of a text file; "" when there is none."""
    try:
        with path.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - _TAIL_BYTES))
            return file.read().decode(errors="replace")
    except OSError:
        return ""
