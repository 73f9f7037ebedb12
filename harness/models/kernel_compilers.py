"""Processes that compile kernels while Inductor writes the next ones.

They are copies of the process that Inductor runs in, and leave what they make in Triton's cache, whose keys are the
content of all that a kernel depends on. This process asks Triton for each kernel as it would without them: what a copy
could not compile is compiled, and fails, here.
"""

from __future__ import annotations

import ast
import functools
import mmap
import os
import select
import socket
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from harness.models.beside import can_fork, end, fork

# The state of each kernel, in memory that all copies share: from _BEGUN on the number of the copy that compiles it.
# Two that begin at the same moment do the same work, and no harm.
_WAITING, _ENDED, _BEGUN = 0, 1, 2
_MOST_KERNELS = 1 << 16
_MOST_COPIES = 32
_LONGEST = 1 << 24  # bytes of a message

Compile = Callable[[str, str], None]  # (name, source)


@dataclass
class KernelCompilers:
    """copies    by number, the id of each and a handle that is readable once it has ended
    requests  to them: a kernel's number, name and source in each message, which one of them gets
    ended     from them: a byte for each kernel that is done
    """

    copies: list[tuple[int, int]]
    requests: socket.socket
    ended: int
    states: mmap.mmap
    _numbers: dict[tuple[str, str], int] = field(default_factory=dict)
    _unsent: deque[bytes] = field(default_factory=deque)

    def submit(self, name: str, source: str) -> None:
        """A kernel whose source is known, and which will be asked for."""
        number = len(self._numbers)
        if (name, source) in self._numbers or number >= _MOST_KERNELS:
            return
        self._numbers[name, source] = number
        self._unsent.append(f"{number}\0{name}\0{source}".encode())
        self._send()

    def wait_for(self, name: str, source: str) -> None:
        """Until nobody is compiling the kernel. One that nobody has begun is left to the caller."""
        self._send()
        number = self._numbers.get((name, source))
        if number is None:
            return
        if self.states[number] == _WAITING:
            self.states[number] = _ENDED
        while self.states[number] != _ENDED and self._is_at_work(self.states[number] - _BEGUN):
            """Something has ended, this one perhaps."""

    def close(self) -> None:
        for pid, handle in self.copies:
            end(pid)
            os.close(handle)
        self.requests.close()
        os.close(self.ended)
        self.states.close()

    def _send(self) -> None:
        """As much as they take now."""
        with suppress(OSError):  # they are gone, or have enough to do
            while self._unsent:
                self.requests.send(self._unsent[0])
                self._unsent.popleft()

    def _is_at_work(self, copy: int) -> bool:
        """Waits until a kernel is done or the copy has ended; False for the latter."""
        handle = self.copies[copy][1]
        readable, _, _ = select.select([self.ended, handle], [], [])
        if self.ended in readable:
            os.read(self.ended, 1)
        return handle not in readable


@contextmanager
def kernel_compilers(processes: int, compile_kernel: Compile) -> Iterator[KernelCompilers | None]:
    """So many copies of this process as it is now; None where there can be none.

    compile_kernel  what they do with each kernel: leaves it in Triton's cache. What it raises is of no interest
    """
    if processes < 1 or not can_fork() or not hasattr(socket, "SOCK_SEQPACKET"):
        yield None
        return
    compilers = _start(processes, compile_kernel)
    try:
        yield compilers
    finally:
        compilers.close()


def _start(processes: int, compile_kernel: Compile) -> KernelCompilers:
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ended, ending = os.pipe()
    states = mmap.mmap(-1, _MOST_KERNELS)

    def serve(number: int) -> None:
        here.close()
        _serve(there, ending, states, number, compile_kernel)

    pids = [fork(functools.partial(serve, number)) for number in range(min(processes, _MOST_COPIES))]
    there.close()
    os.close(ending)
    here.setblocking(False)
    return KernelCompilers([(pid, os.pidfd_open(pid)) for pid in pids], here, ended, states)


def _serve(requests: socket.socket, ending: int, states: mmap.mmap, own: int, compile_kernel: Compile) -> None:
    """Until the process that asks is gone."""
    while message := requests.recv(_LONGEST):
        number, name, source = message.decode().split("\0", 2)
        if states[int(number)] != _WAITING:
            continue
        states[int(number)] = _BEGUN + own
        # What goes wrong here goes wrong again where the kernel is asked for, and is told there.
        with suppress(Exception):
            compile_kernel(name, source)
        states[int(number)] = _ENDED
        os.write(ending, b".")


def name_and_source(body: str) -> tuple[str, str]:
    """Of the call that defines a kernel in generated code, as that call will be evaluated."""
    call = ast.parse(body, mode="eval").body
    assert isinstance(call, ast.Call)
    return ast.literal_eval(call.args[0]), ast.literal_eval(call.args[1])


def fill_cache(name: str, source: str) -> None:
    """Compiles a kernel as Inductor does, up to what Triton keeps of it."""
    from torch._inductor.codecache import PyCodeCache

    from harness.npu.session import Session, use_session

    # The run's own session would be told of stages, in a copy of the process.
    with use_session(Session()):
        getattr(PyCodeCache.load(source), name).precompile(warm_cache_only=True)
