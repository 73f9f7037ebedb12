"""A Python that has imported torch before it starts, for tests whose subject is a process of its own: each would
import it anew, which takes longer than all else they do.

A server with the imports done forks for every start. What the tests call is a small script in the interpreter's
place: it hands over its arguments, variables, folder and open files, and ends as the forked process does.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import gc
import importlib
import os
import pickle
import runpy
import select
import signal
import socket
import struct
import sys
import threading
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

_PRELOAD = ("numpy", "torch", "pytest")
_SOCKET, _LOCK, _LOG = "socket", "lock", "log"
_LISTENER = 3
_SIZE = struct.Struct("<Q")
_STATUS = struct.Struct("<i")
_MOST_FILES = 64
_ABOVE_ALL_FILES = 512

# Isolated and without `site`: it needs nothing, and is to start in no time.
_CLIENT = """#!{python} -IS
import os, pickle, signal, socket, struct, sys

def inherited(number):
    try:
        return os.get_inheritable(number)
    except OSError:  # what listed them
        return False

files = [int(name) for name in os.listdir("/proc/self/fd")]
files = sorted({{0, 1, 2}} | {{number for number in files if inherited(number)}})
request = pickle.dumps((sys.argv[1:], files, dict(os.environ), os.getcwd()))
os.chdir({folder!r})
with socket.socket(socket.AF_UNIX) as server:
    server.connect({socket!r})
    socket.send_fds(server, [struct.pack("<Q", len(request))], files)
    server.sendall(request)
    answer = server.recv(4)
if len(answer) != 4:
    sys.exit("the server of the started Python has died")
(status,) = struct.unpack("<i", answer)
if status < 0:
    if -status != signal.SIGKILL:
        signal.signal(-status, signal.SIG_DFL)
    os.kill(os.getpid(), -status)
os._exit(status)
"""


@contextlib.contextmanager
def warm_python(folder: Path) -> Iterator[Path]:
    """What to start in the place of the interpreter, inside the block; the server of `folder` ends after the last."""
    folder.mkdir(exist_ok=True)
    client = folder / f"python-{os.getpid()}"
    client.write_text(_CLIENT.format(python=sys.executable, folder=str(folder), socket=_SOCKET), encoding="utf-8")
    client.chmod(0o700)
    with _lease(folder):
        yield client


def _lease(folder: Path) -> socket.socket:
    """A connection to the server, which is there as long as there is one; it is started where there is none."""
    with _inside(folder), _locked(Path(_LOCK)):
        lease = socket.socket(socket.AF_UNIX)
        try:
            lease.connect(_SOCKET)
        except (FileNotFoundError, ConnectionRefusedError):
            with _listening() as listener:
                lease.connect(_SOCKET)
                _start(listener)
        return lease


@contextlib.contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _listening() -> socket.socket:
    """By a short name: a socket's may not have more than a hundred characters."""
    Path(_SOCKET).unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(_SOCKET)
    listener.listen()
    return listener


def _start(listener: socket.socket) -> None:
    """Not as a subprocess.Popen: nobody waits for it, since other workers may need it for longer."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    log = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    os.posix_spawn(
        sys.executable,
        [sys.executable, __file__],
        {**environment, "OMP_NUM_THREADS": "1"},
        file_actions=[
            (os.POSIX_SPAWN_DUP2, listener.fileno(), _LISTENER),
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, _LOG, log, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
    )


@dataclass
class _Server:
    listener: socket.socket
    search_path: list[str]
    connections: dict[int, socket.socket] = field(default_factory=dict)
    children: dict[int, tuple[int, int]] = field(default_factory=dict)  # by pidfd: the process, its connection

    def serve(self) -> None:
        """Returns when nobody is connected any more."""
        while True:
            waiting = [self.listener.fileno(), *self.connections, *self.children]
            readable = select.select(waiting, [], [])[0]
            for handle in [one for one in readable if one in self.children]:
                self._bury(handle)
            for number in [one for one in readable if one in self.connections]:
                self._hear(number)
            if self.listener.fileno() in readable:
                connection = self.listener.accept()[0]
                self.connections[connection.fileno()] = connection
            elif not self.connections and self._closed():
                return

    def _closed(self) -> bool:
        """Not while somebody is about to connect, who holds the lock until it has."""
        with _locked(Path(_LOCK)):
            if select.select([self.listener], [], [], 0)[0]:
                return False
            Path(_SOCKET).unlink()
            self.listener.close()
            return True

    def _hear(self, number: int) -> None:
        connection = self.connections[number]
        size, files, _, _ = socket.recv_fds(connection, _SIZE.size, _MOST_FILES)
        if len(size) < _SIZE.size:
            self._hung_up(number)
            return
        with connection.makefile("rb") as stream:
            request = stream.read(_SIZE.unpack(size)[0])
        pid = os.fork()
        if pid == 0:
            self._become(pickle.loads(request), files)
        for file in files:
            os.close(file)
        self.children[os.pidfd_open(pid)] = pid, number

    def _hung_up(self, number: int) -> None:
        """What was started is killed in the place of the one that hung up."""
        self.connections.pop(number).close()
        for pid in [pid for pid, connection in self.children.values() if connection == number]:
            os.kill(pid, signal.SIGKILL)

    def _bury(self, handle: int) -> None:
        pid, number = self.children.pop(handle)
        os.close(handle)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if number in self.connections:
            with contextlib.suppress(OSError):
                self.connections[number].send(_STATUS.pack(status))

    def _become(self, request: tuple[list[str], list[int], dict[str, str], str], files: list[int]) -> NoReturn:
        arguments, numbers, environment, folder = request
        status = 1
        try:
            self._close()
            _take_files(files, numbers)
            os.chdir(folder)
            os.environ.clear()
            os.environ.update(environment)
            before = os.environ.get("PYTHONPATH", "")
            sys.path[:] = [*filter(None, before.split(os.pathsep)), *self.search_path]
            importlib.invalidate_caches()
            status = _status_of(arguments)
        finally:
            os._exit(status)

    def _close(self) -> None:
        self.listener.close()
        for connection in self.connections.values():
            connection.close()
        for handle in self.children:
            os.close(handle)


def _take_files(files: list[int], numbers: list[int]) -> None:
    """Each under the number that it had."""
    aside = [fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, _ABOVE_ALL_FILES) for file in files]
    for file in files:
        os.close(file)
    for file, number in zip(aside, numbers, strict=True):
        os.dup2(file, number)
        os.close(file)


def _status_of(arguments: list[str]) -> int:
    """As the interpreter ends: exit handlers run, and the rest is left to the system."""
    status = 1
    try:
        _run(arguments)
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:
        sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return status & 0xFF


def _run(arguments: list[str]) -> None:
    how, *rest = arguments
    if how == "-u":
        sys.stdout.reconfigure(write_through=True)  # type: ignore[union-attr]
        _run(rest)
    elif how == "-c":
        sys.argv, main = ["-c", *rest[1:]], types.ModuleType("__main__")
        sys.modules["__main__"] = main
        sys.path.insert(0, "")
        exec(compile(rest[0], "<string>", "exec"), main.__dict__)
    elif how == "-m":
        sys.argv = rest
        sys.path.insert(0, os.getcwd())
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    elif how.startswith("-m"):  # -mpytest
        _run(["-m", how[2:], *rest])
    elif how.startswith("-"):
        raise SystemExit(f"the started Python knows no option {how}")
    else:
        sys.argv = arguments
        sys.path.insert(0, os.path.dirname(how))
        runpy.run_path(how, run_name="__main__")


def main() -> None:
    listener = socket.socket(fileno=_LISTENER)
    listener.set_inheritable(False)
    search_path = sys.path[1:]  # without this folder
    # What is imported stays: to look for garbage in it would copy its pages in every process that is started.
    gc.disable()
    for name in _PRELOAD:
        importlib.import_module(name)
    gc.freeze()
    gc.enable()
    _Server(listener, search_path).serve()


if __name__ == "__main__":
    main()
    os._exit(0)  # torch is not to be taken down module by module
