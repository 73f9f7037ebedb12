"""Runs IR lowered to a machine, its program encoded and decoded, on the functional simulator."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from lowering_kit import bound_to_copies

from harness.errors import Trap
from harness.executor import ExecutorOptions
from harness.ir import parse_module
from harness.npu.isa.encoding import decode
from harness.npu.isa.encoding import encode as to_bytes
from harness.npu.isa.program import Program
from harness.npu.lowering import PASSES, run_passes
from harness.npu.lowering.encode import encode
from harness.npu.machine import Machine, load_machine
from harness.npu.simulator import Executable, load_program, simulate


def roomy(name: str) -> Machine:
    """A preset with room for any tile of a test."""
    return dataclasses.replace(load_machine(name), scratchpad_bytes=1 << 22, uniform_bytes=1 << 22)


def program_of(text: str, machine: Machine, passes: Sequence[str] = tuple(PASSES)) -> Program:
    """The program of the kernel `k`, through its binary."""
    module = parse_module(text, "k")
    run_passes(module, machine, tuple(passes))
    return decode(to_bytes(encode(module, machine, "k")))


# A test that has one text run with many scalars lowers it once.
@lru_cache(maxsize=8)
def loaded(text: str, machine: Machine, passes: tuple[str, ...]) -> Executable:
    return load_program(program_of(text, machine, passes), machine)


def simulated(
    text: str,
    arguments: Sequence[Any],
    programs: int,
    machine: Machine,
    copies: str = "earliest",
    passes: tuple[str, ...] = tuple(PASSES),
) -> list[bytes] | str:
    """The bytes of every array after a launch on copies of them, or the kind of the trap. See `bound_to_copies`."""
    memory, bound, arrays = bound_to_copies(arguments)
    options = ExecutorOptions(copies=copies)  # type: ignore[arg-type]
    try:
        simulate(loaded(text, machine, passes), (programs, 1, 1), bound, memory, options)
    except Trap as trap:
        return type(trap).__name__
    return [array.tobytes() for array in arrays]
