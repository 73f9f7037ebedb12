"""Runs IR as it is and as it is after each pass of the lowering: all must leave the same bytes, or the same trap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from examples import examples
from xdsl.dialects.builtin import ModuleOp

from harness.errors import Trap
from harness.executor import Allocation, ExecutorOptions, Memory, Plan, PointerArgument, compile_module, launch
from harness.ir import parse_module, print_module
from harness.npu.lowering import run_passes
from harness.npu.machine import load_machine

# The same examples on every run, however busy the machine.
EXAMPLES = examples(100)
# By pass, when the transfers after it may take effect.
PASSES = {
    "npu-inline": ("earliest",),
    "npu-analyze-pointers": ("earliest",),
    "npu-schedule": ("earliest", "latest"),
    "npu-double-buffer": ("earliest", "latest"),
}


@dataclass(frozen=True)
class Lowered:
    """What to run, when its transfers may take effect, and after which pass."""

    name: str
    program: Plan
    copies: tuple[str, ...]
    printed: str


def outcome(module: ModuleOp, arguments: Sequence[Any], programs: int, copies: str) -> list[bytes] | str:
    """What `launched` says of a module."""
    return launched(compile_module(module, "k", native=False), arguments, programs, copies)


def launched(program: Plan, arguments: Sequence[Any], programs: int, copies: str) -> list[bytes] | str:
    """The bytes of every array after a launch on copies of them, or the kind of the trap. See `bound_to_copies`."""
    memory, bound, arrays = bound_to_copies(arguments)
    options = ExecutorOptions(copies=copies)  # type: ignore[arg-type]
    try:
        launch(program, (programs, 1, 1), bound, memory, options)
    except Trap as trap:
        return type(trap).__name__
    return [array.tobytes() for array in arrays]


def bound_to_copies(arguments: Sequence[Any]) -> tuple[Memory, list[Any], list[np.ndarray]]:
    """What a launch is given, and the copies of the arrays. An argument that is a tuple (array, first element) points
    into the middle of its array; one array given twice is one buffer."""
    memory, bound, arrays = Memory(), [], []
    places: dict[int, Allocation] = {}
    for argument in arguments:
        array, first = argument if isinstance(argument, tuple) else (argument, 0)
        if not isinstance(array, np.ndarray):
            bound.append(argument)
            continue
        if id(array) not in places:
            arrays.append(array.copy())
            raw = arrays[-1].reshape(-1).view(np.uint8)
            allocation = Allocation(f"b{len(arrays)}", raw, 0x100000 * len(arrays), array.itemsize)
            places[id(array)] = memory.add(allocation)
        bound.append(PointerArgument(places[id(array)], first * array.itemsize))
    return memory, bound, arrays


# A test that has one text run with many scalars lowers it once.
@lru_cache(maxsize=8)
def stages(text: str, machine: str) -> tuple[Lowered, ...]:
    """The text as it is, and after every pass."""
    programs = [Lowered("nothing", compile_module(parse_module(text, "k"), "k", native=False), ("earliest",), text)]

    def add(name: str, lowered: ModuleOp) -> None:
        printed = print_module(lowered, locations=False)
        program = compile_module(parse_module(printed, "k"), "k", native=False)
        programs.append(Lowered(name, program, PASSES[name], printed))

    run_passes(parse_module(text, "k"), load_machine(machine), tuple(PASSES), add)
    return tuple(programs)


def check(text: str, arguments: Sequence[Any], programs: int, machine: str = "tiny") -> str:
    """Compares after every pass, with transfers that take effect early and late; the text after the last pass."""
    plain, *lowered = stages(text, machine)
    want = launched(plain.program, arguments, programs, "earliest")
    for stage in lowered:
        for copies in stage.copies:
            got = launched(stage.program, arguments, programs, copies)
            assert got == want, f"differs after {stage.name} ({copies}):\n{stage.printed}\nwhich was\n{text}"
    return lowered[-1].printed


def ops_of(text: str) -> list[str]:
    """Names of the ops of printed IR, in order."""
    return [op.name for op in parse_module(text, "k").walk()]
