"""How a harness run watches the launches inside it.

Triton's JIT calls our driver with nothing but arguments, so what a run wants to add (named memory,
checks, a stage callback) and to learn (roles, findings, output) travels in a context variable. A plain
script has no session and gets the defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from harness.executor.api import Argument, ExecutorOptions, LaunchResult
from harness.executor.memory import Memory

if TYPE_CHECKING:
    from harness.npu.isa.program import Program
    from harness.npu.loader import LoadedKernel
    from harness.npu.timing import Timing


@dataclass(frozen=True)
class Untimed:
    """A launch whose cycles cannot be told, and why."""

    machine: str
    reason: str


@dataclass(frozen=True)
class LaunchRecord:
    """One launch that ran: its positional grid (x, y, z), what the executor found, and the IR it executed; on a
    machine also its program and, where the session asks for it, how long it takes there."""

    kernel: str
    grid: tuple[int, int, int]
    result: LaunchResult
    seconds: float
    text: str
    program: Program | None = None
    timing: Timing | Untimed | None = None


@dataclass(frozen=True)
class LaunchRequest:
    """One launch that is about to run.

    signature, values  types and values of the kernel's Python parameters by name and in order, constexprs included
    arguments, memory  what the compiled function is given
    source   the file that has the kernel's Python source, or None. Locations may name another of the same text, which
             Triton's cache was filled from
    """

    kernel: LoadedKernel
    grid: tuple[int, int, int]
    signature: Mapping[str, Any]
    values: Sequence[Any]
    arguments: Sequence[Argument]
    memory: Memory
    source: str | None = None


def _ignore(stage: str) -> None:
    """Nobody asked to hear about stages."""


def _print_lines(lines: list[str]) -> None:
    for line in lines:
        print(line)


@dataclass
class Session:
    """memory    named allocations every launch sees; tensors outside it are registered per launch
    options   how to execute
    enter_stage   called with "ttir", "encode", "simulate" as a launch gets there
    keep_ir   called with a stage and what gives the text of what it is given; None where nobody wants it
    transform called with the text of a program that is about to run; what it returns runs instead. For
              questions about the harness ("would this miscompile be seen?"); None runs what was compiled
    before_launch  called with a launch that is about to run
    emit      receives the lines of `tl.device_print` of one launch
    values    whether launches compute anything; False leaves memory as it is
    timing    whether launches on a machine are timed; `events` keeps what a trace shows
    check_lowering   compare each program with the IR it was lowered from before it runs
    benchmark_runs   timed runs of each configuration of an autotuned kernel
    launches  every launch so far, in order
    """

    memory: Memory = field(default_factory=Memory)
    options: ExecutorOptions = field(default_factory=ExecutorOptions)
    enter_stage: Callable[[str], None] = _ignore
    keep_ir: Callable[[str, Callable[[], str]], None] | None = None
    transform: Callable[[str], str] | None = None
    before_launch: Callable[[LaunchRequest], None] | None = None
    emit: Callable[[list[str]], None] = _print_lines
    values: bool = True
    timing: bool = False
    events: bool = False
    check_lowering: bool = False
    benchmark_runs: int = 3
    launches: list[LaunchRecord] = field(default_factory=list)


_session: ContextVar[Session | None] = ContextVar("harness_npu_session", default=None)


def current_session() -> Session:
    """The session of this context; for a plain script a fresh one, on as many threads as torch uses."""
    session = _session.get()
    return Session(options=ExecutorOptions(threads=torch.get_num_threads())) if session is None else session


@contextmanager
def use_session(session: Session) -> Iterator[Session]:
    """Launches inside the block belong to `session`."""
    token = _session.set(session)
    try:
        yield session
    finally:
        _session.reset(token)
