"""A compiled program, ready to launch: its text is parsed and planned, or its instructions decoded, once."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.cases.checks import check_grid
from harness.executor.api import Argument, LaunchResult
from harness.executor.memory import Memory
from harness.npu.arguments import bind_arguments
from harness.npu.session import LaunchRecord, LaunchRequest, Session, Untimed, current_session

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from harness.npu.isa.program import Program
    from harness.npu.machine import Machine
    from harness.npu.timing import Timing


Grid = tuple[int, int, int]
Execute = Callable[..., LaunchResult]  # (grid, arguments, memory, options)


@dataclass(frozen=True)
class LoadedKernel:
    """text     the IR that it was made from
    execute  runs it over a grid
    file     the kernel's own, as the locations of the text have it, or None
    machine, program   what it was lowered to; None where the executor runs the text itself
    """

    name: str
    text: str
    execute: Execute
    file: str | None = None
    machine: Machine | None = None
    program: Program | None = None

    def launch(
        self, grid: Grid, signature: Mapping[str, Any], values: Sequence[Any], source: str | None = None
    ) -> LaunchResult:
        """Executes the kernel over a grid (x, y, z) and tells the current session, and `source`, its file, with it.

        Raises CaseError for a grid that no launch has, Trap or UsageError.
        """
        check_grid(grid)
        session = current_session()
        if session.transform is None:
            return self._launch(session, grid, signature, values, source)
        # Transformed at each launch and not when loaded, so that no cache, Triton's or ours, ever holds the result.
        transformed = load_text(self.name, session.transform(self.text), self.machine)
        return transformed._launch(session, grid, signature, values, source)

    def _launch(
        self, session: Session, grid: Grid, signature: Mapping[str, Any], values: Sequence[Any], source: str | None
    ) -> LaunchResult:
        memory = Memory()
        for allocation in session.memory.allocations:
            memory.add(allocation)
        arguments = bind_arguments(signature, values, memory)
        session.enter_stage("simulate")
        if session.keep_ir is not None:
            session.keep_ir("simulate", self._shown)
        if session.before_launch is not None:
            session.before_launch(LaunchRequest(self, grid, signature, values, arguments, memory, source))
        if session.check_lowering:
            self._check_lowering(session, grid, arguments, memory)
        started = time.perf_counter()
        branches: dict[int, tuple[int, int]] = {}
        if session.values and session.timing and self.machine is not None:
            result = self.execute(grid, arguments, memory, session.options, branches=branches)
        elif session.values:
            result = self.execute(grid, arguments, memory, session.options)
        else:
            result = LaunchResult(math.prod(grid))
        seconds = time.perf_counter() - started
        timing = self._timing(session, grid, arguments, branches)
        session.launches.append(LaunchRecord(self.name, grid, result, seconds, self.text, self.program, timing))
        session.emit(result.output)
        return result

    def _shown(self) -> str:
        """What runs, as text."""
        if self.program is None:
            return self.text
        from harness.npu.isa.disassembly import disassemble

        return disassemble(self.program)

    def _check_lowering(self, session: Session, grid: Grid, arguments: Sequence[Argument], memory: Memory) -> None:
        if self.machine is None:
            return
        from harness.npu.check_lowering import Work, check_lowering

        check_lowering(Work(self.name, self.text, self.machine, grid, arguments, memory, session.options))

    def _timing(
        self, session: Session, grid: Grid, arguments: Sequence[Argument], branches: dict[int, tuple[int, int]]
    ) -> Timing | Untimed | None:
        """How long the launch takes. Without values, a way through the kernel that depends on what it loads takes
        nobody knows how long, which is no failure of the case."""
        if not session.timing or self.program is None or self.machine is None:
            return None
        from harness.npu.timing import NeedsProfile, Profile, time_program

        session.enter_stage("timing")
        profile = Profile(branches) if session.values else None
        try:
            return time_program(self.program, self.machine, grid, arguments, profile, session.events)
        except NeedsProfile as error:
            return Untimed(self.machine.name, str(error))


def load_kernel(name: str, program: bytes, machine: Machine | None = None) -> LoadedKernel:
    """What the compiler made, ready to launch: a program of the machine, or the text of a module.

    Raises ParseError for text that is not IR, DamagedProgram for a program that is none, UnsupportedOp for an op
    without a meaning.
    """
    if machine is None:
        return load_text(name, program.decode(), None)
    return _load_program(name, program, machine)


def load_text(name: str, text: str, machine: Machine | None) -> LoadedKernel:
    """The kernel of a module's text, lowered to the machine if there is one. Raises as `load_kernel` does, and
    Refusal for what the machine cannot do."""
    session = current_session()
    if machine is not None:
        from harness.npu.compilation import compile_program

        return _load_program(name, compile_program(text, name, machine, session), machine)
    from harness.executor import compile_module, launch
    from harness.ir import parse_module

    session.enter_stage("encode")
    if session.keep_ir is not None:
        session.keep_ir("encode", lambda: text)
    module = parse_module(text, name)
    return LoadedKernel(name, text, functools.partial(launch, compile_module(module, name)), _file_of(module, name))


def _load_program(name: str, encoded: bytes, machine: Machine) -> LoadedKernel:
    from harness.npu.isa.encoding import decode
    from harness.npu.simulator import load_program, simulate

    program = decode(encoded)
    executable = load_program(program, machine)
    file = next((origin.where.file for origin in program.origins if origin.where), None)
    return LoadedKernel(name, program.source, functools.partial(simulate, executable), file, machine, program)


def _file_of(module: ModuleOp, name: str) -> str | None:
    from harness.executor.types import get
    from harness.ir.locations import source_location

    function = next(op for op in module.body.block.ops if get(op, "sym_name") == name)
    where = source_location(function)
    return where and where.file
