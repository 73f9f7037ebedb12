"""Runs small pieces of Triton IR every way the executor can: one program at a time and batched, on one and two
threads, with fast and with full checks. All ways must leave the same bytes."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import triton
from examples import examples

from harness.executor import Allocation, ExecutorOptions, LaunchResult, Memory, PointerArgument, compile_module, launch
from harness.ir import parse_module

# The same examples on every run, however busy the machine.
EXAMPLES = examples(100)
TRITON = tuple(map(int, triton.__version__.split(".")[:2]))
# Triton 3.9 refuses `tl.make_block_ptr`.
HAS_BLOCK_POINTERS = TRITON < (3, 9)
# From Triton 3.8 on, the front end writes them out as plain pointers.
HAS_BLOCK_POINTER_OPS = TRITON < (3, 8)
NAMES = "xyzuvwabcdefgh"
MLIR = {
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "float16": "f16",
    "float32": "f32",
    "float64": "f64",
    "bool": "i1",
}


@dataclass
class Outcome:
    """The buffers after a launch, and what it reported."""

    arrays: list[np.ndarray]
    result: LaunchResult


def module(body: str, *parameters: str) -> str:
    """A module of one kernel `k` with parameters such as "%x: !tt.ptr<f32>"."""
    return f"module {{\n tt.func public @k({', '.join(parameters)}) {{\n{body}\n tt.return\n }}\n}}\n"


def pointers(*arrays: np.ndarray) -> list[str]:
    """Parameters %x, %y, %z, ... that point to arrays."""
    return [f"%{name}: !tt.ptr<{MLIR[array.dtype.name]}>" for name, array in zip(NAMES, arrays, strict=False)]


@functools.lru_cache(maxsize=32)
def plan_of(text: str) -> Any:
    return compile_module(parse_module(text, "test.ttir"))


def run(plan: Any, arguments: Sequence[Any], grid: tuple[int, ...], options: ExecutorOptions | None = None) -> Outcome:
    """One launch on copies of the array arguments, which are called x, y, z, ... in messages. An argument that is
    a tuple (array, first element) points into the middle of its array."""
    memory, bound, copies = Memory(), [], []
    for argument in arguments:
        array, first = argument if isinstance(argument, tuple) else (argument, 0)
        if not isinstance(array, np.ndarray):
            bound.append(argument)
            continue
        copy = np.array(array, order="C")
        raw = copy.reshape(-1).view(np.uint8)
        number = len(copies)
        allocation = memory.add(Allocation(NAMES[number], raw, 0x10000 * (number + 1), copy.itemsize))
        allocation.initialised = np.ones(raw.size, np.bool_)
        bound.append(PointerArgument(allocation, first * copy.itemsize))
        copies.append(copy)
    x, y, z = (*grid, 1, 1)[:3]
    return Outcome(copies, launch(plan, (x, y, z), bound, memory, options or ExecutorOptions()))


def ways(full: bool = True) -> list[ExecutorOptions]:
    options = [ExecutorOptions(batch_elements=elements) for elements in (1 << 18, 1, 96)]
    options.append(ExecutorOptions(batch_elements=96, threads=2))
    options.append(ExecutorOptions(native_elements=0))
    options.append(ExecutorOptions(idle_elements=0))
    options.append(ExecutorOptions(native_elements=0, idle_elements=0))
    return [*options, ExecutorOptions(checks="full")] if full else options


def everywhere(
    text: str, arguments: Sequence[Any], grid: tuple[int, ...] = (1,), *, races: bool = False
) -> list[np.ndarray]:
    """The buffers after a launch, the same to the last bit every way. `races` says that programs write to one
    place: then threads, which run programs in no order, are left out."""
    plan = plan_of(text)
    first: Outcome | None = None
    for options in ways():
        if races and options.threads > 1:
            continue
        outcome = run(plan, arguments, grid, options)
        if first is None:
            first = outcome
            continue
        for index, (want, got) in enumerate(zip(first.arrays, outcome.arrays, strict=True)):
            assert want.tobytes() == got.tobytes(), (
                f"{options} differs in buffer {NAMES[index]}:\n{got}\nnot\n{want}\n{text}"
            )
    assert first is not None
    return first.arrays


def ttir(
    kernel: Any,
    signature: dict[str, str],
    constants: dict[str, Any] | None = None,
    arch: str = "simulated",
    debug: bool = False,
) -> str:
    """The IR of a `@triton.jit` function; `arch` "frontend" runs none of Triton's passes, `debug` keeps assertions."""
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    constants = constants or {}
    types = {**signature, **dict.fromkeys(constants, "constexpr")}
    ordered = {name: types[name] for name in kernel.arg_names}
    source = ASTSource(kernel, ordered, {(kernel.arg_names.index(name),): value for name, value in constants.items()})
    return triton.compile(source, target=GPUTarget("npu", arch, 32), options={"debug": debug}).asm["ttir"]
