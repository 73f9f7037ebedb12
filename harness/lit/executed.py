"""What a pass made of a module must compute what the module computes: both are executed, on the same inputs.

// RUN: triton-opt %s -tritongpu-remove-layout-conversions -o %t.mlir
// RUN: harness-exec %s %t.mlir --arguments=4096,3,0
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from harness.errors import HarnessError, ParseError, Trap, UnsupportedOp, UsageError

if TYPE_CHECKING:
    from xdsl.ir import Attribute

    from harness.executor import Argument, Memory, Plan

TOOL = "harness-exec"
DIFFERS, UNSUPPORTED = 1, 3  # exit status
_FIRST_ADDRESS, _APART = 1 << 20, 1 << 32
_FLAGS = ("arguments", "grid")


@dataclass(frozen=True)
class ExecRequest:
    """The two modules, and what their function is called with, once for each of `arguments`: the number of elements
    of a buffer for a pointer, else the value."""

    before: str
    after: str
    arguments: tuple[tuple[str, ...], ...] = ()
    grid: int = 1


@dataclass(frozen=True)
class _Left:
    """What an execution left: buffers by name, the values that the function returned, and sentences on races."""

    buffers: dict[str, np.ndarray]
    returned: list[np.ndarray] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)


def parse_arguments(words: Sequence[str]) -> ExecRequest:
    """Raises UsageError for what is no command."""
    files = [word for word in words if not word.startswith("--")]
    if len(files) != 2:
        raise UsageError(f"{TOOL} takes two files, BEFORE and AFTER, not {len(files)}")
    request = ExecRequest(files[0], files[1])
    for word in words:
        if word.startswith("--"):
            request = _with_flag(request, *word[2:].partition("=")[::2])
    return request if request.arguments else replace(request, arguments=((),))


def _with_flag(request: ExecRequest, name: str, value: str) -> ExecRequest:
    if name not in _FLAGS or not value:
        raise UsageError(f"{TOOL} has no --{name}", hint="--arguments=VALUE,VALUE,... or --grid=PROGRAMS")
    if name == "arguments":
        return replace(request, arguments=(*request.arguments, tuple(value.split(","))))
    if not value.isdecimal() or not int(value):
        raise UsageError(f"--grid={value} is no number of programs")
    return replace(request, grid=int(value))


def main(words: Sequence[str], stderr: int = 2) -> int:
    """Exit status. Raises UsageError where the command, or the first module, cannot be executed as it stands."""
    request = parse_arguments(words)
    try:
        before = _plan(request.before)
    except ParseError as error:
        raise UsageError(f"{request.before} cannot be read: {error.what}", error.where, error.hint) from error
    except UnsupportedOp as error:
        return _say(stderr, UNSUPPORTED, str(error))
    for arguments in request.arguments:
        try:
            expected = _run(before, request.grid, arguments, "earliest")
        except Trap as error:
            raise UsageError(f"{request.before} itself is stopped: {error}") from error
        status = _check(request, arguments, expected, stderr)
        if status:
            return status
    return 0


def _check(request: ExecRequest, arguments: Sequence[str], expected: _Left, stderr: int) -> int:
    """The second module, its asynchronous work as early and as late as can be."""
    given = f"with {','.join(arguments)}" if arguments else "without arguments"
    timings: tuple[Literal["earliest", "latest"], ...] = ("earliest", "latest")
    for timing in timings:
        try:
            left = _run(_plan(request.after), request.grid, arguments, timing)
        except UnsupportedOp as error:
            return _say(stderr, UNSUPPORTED, str(error))
        except HarnessError as error:
            return _say(stderr, DIFFERS, f"{given} the module after is stopped: {type(error).__name__}: {error}")
        wrong = [*left.findings, *_differences(expected, left)]
        if wrong:
            return _say(stderr, DIFFERS, f"{given} {wrong[0]}")
    return 0


def _say(stderr: int, status: int, sentence: str) -> int:
    with os.fdopen(os.dup(stderr), "wb") as stream:
        stream.write(f"{sentence}\n".encode())
    return status


# --- executing -----------------------------------------------------------------------------------------------------


def _plan(path: str) -> Plan:
    from harness.executor import compile_module
    from harness.ir import parse_module

    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    return compile_module(parse_module(text, path), native=False)


def _run(plan: Plan, grid: int, values: Sequence[str], timing: Literal["earliest", "latest"]) -> _Left:
    from harness.executor import ExecutorOptions, Memory, launch
    from harness.executor.values import dense

    types = plan.entry.parameters
    if len(values) != len(types):
        raise UsageError(f"{plan.entry.name} takes {len(types)} arguments, --arguments has {len(values)}")
    memory = Memory()
    buffers: dict[str, np.ndarray] = {}
    arguments = [_argument(number, *one, memory, buffers) for number, one in enumerate(zip(types, values, strict=True))]
    options = ExecutorOptions(copies=timing, native=False)
    result = launch(plan, (grid, 1, 1), arguments, memory, options)
    returned = [dense(value) for batch in result.returned for value in batch]
    return _Left(buffers, returned, [one.message for one in result.findings])


def _argument(number: int, type_: Attribute, value: str, memory: Memory, buffers: dict[str, np.ndarray]) -> Argument:
    from harness.executor import Allocation, PointerArgument
    from harness.executor.types import element, pointee
    from harness.semantics import numpy_dtype

    kind = element(type_)
    try:
        if kind != "ptr":
            return float(value) if numpy_dtype(kind).kind == "f" else int(value)
        dtype = numpy_dtype(element(pointee(type_)))
        content = _content(int(value), dtype, number)
    except ValueError as error:
        raise UsageError(f"argument {number} is no number: {value!r}") from error
    name = f"argument {number}"
    address = _FIRST_ADDRESS + number * _APART
    buffers[name] = content
    return PointerArgument(memory.add(Allocation(name, content.view(np.uint8), address, dtype.itemsize)))


def _content(size: int, dtype: np.dtype, seed: int) -> np.ndarray:
    """Small numbers that tell elements apart, the same in every run."""
    random = np.random.default_rng(seed)
    values = random.standard_normal(size) if dtype.kind == "f" else random.integers(-100, 100, size)
    return values.astype(dtype)


def _differences(expected: _Left, left: _Left) -> list[str]:
    sentences = [_difference(name, was, left.buffers[name]) for name, was in expected.buffers.items()]
    if len(expected.returned) != len(left.returned):
        return [f"the function returns {len(left.returned)} values, not {len(expected.returned)}"]
    for number, (was, now) in enumerate(zip(expected.returned, left.returned, strict=True)):
        sentences.append(_difference(f"returned value {number}", was, now))
    return [sentence for sentence in sentences if sentence]


def _difference(what: str, was: np.ndarray, now: np.ndarray) -> str:
    """Bit by bit: a NaN is itself."""
    was, now = (np.ascontiguousarray(one) for one in np.broadcast_arrays(was, now))
    if was.dtype != now.dtype:
        return f"{what} holds {now.dtype}, not {was.dtype}"
    bits = np.dtype(f"u{was.itemsize}")
    wrong = np.flatnonzero(was.view(bits).reshape(-1) != now.view(bits).reshape(-1))
    if not wrong.size:
        return ""
    first = int(wrong[0])
    values = f"{was.reshape(-1)[first]} became {now.reshape(-1)[first]}"
    return f"{what}: {wrong.size} of {was.size} elements differ, first element {first}: {values}"
