"""A compiled program, ready to launch: its text is parsed and planned once."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.executor.api import LaunchResult
from harness.executor.memory import Memory
from harness.npu.arguments import bind_arguments
from harness.npu.session import LaunchRecord, Session, current_session

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp


@dataclass(frozen=True)
class LoadedKernel:
    """`plan` is the executor's and opaque here; `text` is the program it was made from; `file` the kernel's own,
    as the program's locations have it, or None."""

    name: str
    text: str
    plan: Any
    file: str | None = None

    def launch(self, grid: tuple[int, int, int], signature: Mapping[str, Any], values: Sequence[Any]) -> LaunchResult:
        """Executes the kernel over a grid (x, y, z) and tells the current session. Raises Trap or UsageError."""
        session = current_session()
        if session.transform is None:
            return self._launch(session, grid, signature, values)
        # Transformed at each launch and not when loaded, so that no cache, Triton's or ours, ever holds the result.
        transformed = load_kernel(self.name, session.transform(self.text).encode())
        return transformed._launch(session, grid, signature, values)

    def _launch(
        self, session: Session, grid: tuple[int, int, int], signature: Mapping[str, Any], values: Sequence[Any]
    ) -> LaunchResult:
        from harness.executor import launch

        memory = Memory()
        for allocation in session.memory.allocations:
            memory.add(allocation)
        arguments = bind_arguments(signature, values, memory)
        session.enter_stage("simulate")
        if session.keep_ir is not None:
            session.keep_ir("simulate", self.text)
        started = time.perf_counter()
        result = launch(self.plan, grid, arguments, memory, session.options)
        seconds = time.perf_counter() - started
        session.launches.append(LaunchRecord(self.name, grid, result, seconds, self.text))
        session.emit(result.output)
        return result


def load_kernel(name: str, program: bytes) -> LoadedKernel:
    """Parses and plans a program. Raises ParseError for text that is not IR, UnsupportedOp for an op
    without a meaning."""
    from harness.executor import compile_module
    from harness.ir import parse_module

    session = current_session()
    session.enter_stage("encode")
    text = program.decode()
    if session.keep_ir is not None:
        session.keep_ir("encode", text)
    module = parse_module(text, name)
    return LoadedKernel(name, text, compile_module(module, name), _file_of(module, name))


def _file_of(module: ModuleOp, name: str) -> str | None:
    from harness.executor.types import get
    from harness.ir.locations import source_location

    function = next(op for op in module.body.block.ops if get(op, "sym_name") == name)
    where = source_location(function)
    return where and where.file
