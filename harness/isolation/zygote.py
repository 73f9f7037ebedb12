"""The zygote: a process that imports everything once, runs nothing, and forks a child for each case.

It has one thread, so that a fork copies all there is. It ends, with its children, when the process that
started it does: the control socket closes. It owns the folders with the caches of its children.

Whatever a case starts ends with the case: its process group is killed, and what has left the group (a daemon, in
a session of its own) becomes the zygote's child once its parent is gone, and is killed as such.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import os
import select
import shutil
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from harness.isolation import child, wire
from harness.isolation.messages import Dump, Ended, Kill, NotReady, Ready, Setup, Spawn, Spawned

_PR_SET_CHILD_SUBREAPER = 36


@dataclass
class _Child:
    pid: int
    handle: int  # pidfd: readable once the process has ended
    oom_kills_before: int


@dataclass
class Zygote:
    """Serves the control socket until it closes."""

    control: socket.socket
    children: dict[int, _Child] = field(default_factory=dict)
    prepared: set[str] = field(default_factory=set)

    def serve(self) -> None:
        while True:
            control = self.control.fileno()
            readable, _, _ = select.select([control, *(one.handle for one in self.children.values())], [], [])
            for ended in [one for one in self.children.values() if one.handle in readable]:
                self._bury(ended)
            if control in readable and not self._obey():
                return

    def close(self) -> None:
        """Kills every child that is left, with its process group."""
        for one in list(self.children.values()):
            _kill_group(one.pid)
            os.waitpid(one.pid, 0)
        self.children.clear()
        self._end_orphans()

    def _obey(self) -> bool:
        """Carries out one message; False when there will be no more."""
        try:
            message, descriptors = wire.receive_with_descriptors(self.control)
        except (EOFError, ConnectionError):
            return False
        if isinstance(message, Kill):
            self._signal(message.pid, _kill_group)
        elif isinstance(message, Dump):
            self._signal(message.pid, child.request_dump)
        elif isinstance(message, Spawn):
            self._spawn(message, descriptors[0])
        return True

    def _signal(self, pid: int, send: Callable[[int], None]) -> None:
        # A child that ended meanwhile has no entry, and its number may be another process's by now.
        if pid in self.children:
            send(pid)

    def _spawn(self, message: Spawn, job: int) -> None:
        if message.request is not None:
            self._prepare(message.request.runner.partition(":")[0])
        oom_kills = _oom_kills()
        pid = os.fork()
        if pid == 0:
            self._become_child(message, job)
        os.close(job)
        with contextlib.suppress(OSError):  # the child may have done it, or be gone
            os.setpgid(pid, pid)
        self.children[pid] = _Child(pid, os.pidfd_open(pid), oom_kills)
        wire.send(self.control, Spawned(pid))

    def _prepare(self, module: str) -> None:
        """Imports the runner's module, and calls its `warm_up`, once for all children."""
        if module in self.prepared:
            return
        self.prepared.add(module)
        # What goes wrong here goes wrong again in the child, and is told there.
        with contextlib.suppress(Exception):
            getattr(importlib.import_module(module), "warm_up", _nothing)()
        gc.freeze()

    def _become_child(self, message: Spawn, job: int) -> None:
        # Left open, the control socket would keep its other end from seeing the zygote's death.
        self.control.close()
        for other in self.children.values():
            os.close(other.handle)
        child.serve(message, job)

    def _bury(self, one: _Child) -> None:
        # Not reaped yet, the child keeps its number and its group's: what it left running is killed safely.
        os.waitid(os.P_PID, one.pid, os.WEXITED | os.WNOWAIT)
        _kill_group(one.pid)
        _, status, usage = os.wait4(one.pid, 0)
        os.close(one.handle)
        del self.children[one.pid]
        self._end_orphans()
        wire.send(self.control, Ended(one.pid, status, usage.ru_maxrss * 1024, _oom_kills() - one.oom_kills_before))

    def _end_orphans(self) -> None:
        """Kills what ended cases have left: our children that we did not start, and theirs, which then become ours."""
        while orphans := [pid for pid in _own_children() if pid not in self.children]:
            for pid in orphans:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


def main(descriptor: int) -> None:
    """Reads the setup from the control socket, imports, and serves."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _adopt_orphans()
    control = socket.socket(fileno=descriptor)
    control.set_inheritable(False)
    setup: Setup = wire.receive(control)
    try:
        with contextlib.suppress(EOFError, ConnectionError):
            _start_and_serve(control, setup)
    finally:
        for folder in setup.folders:
            shutil.rmtree(folder, ignore_errors=True)
    _end()


def _end() -> NoReturn:
    """Not by returning: the interpreter would take torch down module by module, a third of what its import costs."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _start_and_serve(control: socket.socket, setup: Setup) -> None:
    sys.path[:] = setup.search_path
    # What is imported stays. To look for garbage in it, again and again as it grows, is a sixth of the start.
    gc.disable()
    for name in setup.preload:
        try:
            importlib.import_module(name)
        except Exception as error:
            wire.send(control, NotReady(f"{name} cannot be imported: {type(error).__name__}: {error}"))
            return
    gc.freeze()
    wire.send(control, Ready())
    zygote = Zygote(control)
    try:
        zygote.serve()
    finally:
        zygote.close()


def _adopt_orphans() -> None:
    """What the children's children leave behind becomes ours, and not the system's first process's."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _own_children() -> list[int]:
    """The processes whose parent this is, dead ones that nobody has waited for included."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:  # there is none, as nearly always: nothing to search for
        return []
    everyone = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return [pid for pid in everyone if _parent_of(pid) == os.getpid()]


def _parent_of(pid: int) -> int:
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:  # it has ended meanwhile
        return 0
    return int(status.rpartition(")")[2].split()[1])


def _nothing() -> None:
    """The warm-up of a runner that needs none."""


def _kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _oom_kills() -> int:
    """How often the out-of-memory killer has struck on this machine so far; 0 where the kernel does not say."""
    try:
        lines = Path("/proc/vmstat").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)


if __name__ == "__main__":
    main(int(sys.argv[1]))
