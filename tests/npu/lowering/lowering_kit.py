"""Runs IR as it is and as it is after each pass of the lowering: all must leave the same bytes, or the same trap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from examples import examples
from xdsl.dialects.builtin import ModuleOp

from harness.errors import Trap
from harness.executor import Allocation, ExecutorOptions, Memory, PointerArgument, compile_module, launch
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


def outcome(module: ModuleOp, arguments: Sequence[Any], programs: int, copies: str) -> list[bytes] | str:
    """The bytes of every array after a launch on copies of them, or the kind of the trap. An argument that is a tuple
    (array, first element) points into the middle of its array."""
    memory, bound, arrays = Memory(), [], []
    for argument in arguments:
        array, first = argument if isinstance(argument, tuple) else (argument, 0)
        if not isinstance(array, np.ndarray):
            bound.append(argument)
            continue
        arrays.append(array.copy())
        raw = arrays[-1].reshape(-1).view(np.uint8)
        place = memory.add(Allocation(f"b{len(arrays)}", raw, 0x100000 * len(arrays), array.itemsize))
        bound.append(PointerArgument(place, first * array.itemsize))
    options = ExecutorOptions(copies=copies)  # type: ignore[arg-type]
    try:
        launch(compile_module(module, "k", native=False), (programs, 1, 1), bound, memory, options)
    except Trap as trap:
        return type(trap).__name__
    return [array.tobytes() for array in arrays]


def check(text: str, arguments: Sequence[Any], programs: int, machine: str = "tiny") -> str:
    """Compares after every pass, with transfers that take effect early and late; the text after the last pass."""
    want = outcome(parse_module(text, "k"), arguments, programs, "earliest")
    module = parse_module(text, "k")
    printed = text

    def compare(name: str, lowered: ModuleOp) -> None:
        nonlocal printed
        printed = print_module(lowered, locations=False)
        for copies in PASSES[name]:
            again = parse_module(printed, "k")
            got = outcome(again, arguments, programs, copies)
            assert got == want, f"differs after {name} ({copies}):\n{printed}\nwhich was\n{text}"

    run_passes(module, load_machine(machine), tuple(PASSES), compare)
    return printed


def ops_of(text: str) -> list[str]:
    """Names of the ops of printed IR, in order."""
    return [op.name for op in parse_module(text, "k").walk()]
