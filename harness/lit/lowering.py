"""The passes of the simulated NPU's lowering over a file, as triton-opt runs Triton's.

harness opt FILE.mlir --npu-analyze-pointers --machine=tiny
harness opt FILE.mlir --pass npu-analyze-pointers
// RUN: harness-opt %s --npu-analyze-pointers | FileCheck %s
"""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import HarnessError, UnsupportedFlag, UsageError
from harness.lit.opt import SPLIT_MARKER, split_input

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from harness.npu.machine import Machine

TOOL = "harness-opt"
_PREFIX = "npu-"
_ALL = "npu-lower"
ENCODE = "npu-encode"


@dataclass(frozen=True)
class LoweringRequest:
    """`input` and `output` are paths, "-" for the standard streams; `passes` in the order given.

    encode       the program, disassembled, and not the module
    print_after  the module after each pass, not only after the last
    """

    input: str = "-"
    output: str = "-"
    passes: tuple[str, ...] = ()
    machine: str = "default"
    encode: bool = False
    print_after: bool = False
    debuginfo: bool = False
    split_input_file: bool = False


_SWITCHES = {"print-after": "print_after", "mlir-print-debuginfo": "debuginfo", "split-input-file": "split_input_file"}
_VALUES = {"machine": "machine", "o": "output"}
_PASS = "pass"  # takes the name of a pass; its name as a flag means the same


def is_asked_for(arguments: Sequence[str]) -> bool:
    """Whether a command line names a pass of ours."""
    flags = [argument.lstrip("-") for argument in arguments if argument.startswith("-")]
    return any(flag.startswith(_PREFIX) or flag.partition("=")[0] == _PASS for flag in flags)


def pass_names() -> tuple[str, ...]:
    """The flags of the passes over modules, in the order of the pipeline; what they leave is encoded last."""
    from harness.npu.lowering import PASSES

    return tuple(PASSES)


def parse_arguments(arguments: Sequence[str]) -> LoweringRequest:
    """Raises UsageError for what is no argument, UnsupportedFlag for a pass of Triton's among ours."""
    request = LoweringRequest()
    inputs: list[str] = []
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        if argument == "-" or not argument.startswith("-"):
            inputs.append(argument)
            continue
        request = _with_flag(request, argument.lstrip("-"), rest)
    if len(inputs) > 1:
        raise UsageError(f"{TOOL} reads one file, not {' and '.join(inputs)}")
    return replace(request, input=inputs[0]) if inputs else request


def _with_flag(request: LoweringRequest, flag: str, rest: list[str]) -> LoweringRequest:
    name, equals, value = flag.partition("=")
    if name in _SWITCHES and not equals:
        return replace(request, **{_SWITCHES[name]: True})
    if name in _VALUES or name == _PASS:
        if not equals and not rest:
            raise UsageError(f"--{name} has no value")
        value = value if equals else rest.pop(0)
        return _with_pass(request, value) if name == _PASS else replace(request, **{_VALUES[name]: value})
    if name.startswith(_PREFIX) and not equals:
        return _with_pass(request, name)
    raise _unknown(name)


def _with_pass(request: LoweringRequest, name: str) -> LoweringRequest:
    if request.encode:
        raise UsageError(f"{name} after {ENCODE}, which is the last pass")
    if name == ENCODE:
        return replace(request, encode=True)
    if name != _ALL and name not in pass_names():
        raise _unknown(name, is_pass=True)
    return replace(request, passes=(*request.passes, *(pass_names() if name == _ALL else (name,))))


def _unknown(name: str, is_pass: bool = False) -> UnsupportedFlag | UsageError:
    if is_pass or name.startswith(_PREFIX):
        names = (*pass_names(), ENCODE, _ALL)
        close = difflib.get_close_matches(name, names, n=1) or [", ".join(names)]
        return UsageError(f"there is no pass {name}", hint=f"did you mean {close[0]}?")
    return UnsupportedFlag(
        f"unsupported: --{name} beside passes of the NPU's lowering",
        hint="run Triton's passes first, and pipe what they print into harness-opt",
    )


def run(request: LoweringRequest, text: str) -> str:
    """What the passes make of an input's text. Raises ParseError, Refusal, and UsageError for an unknown machine."""
    from harness.npu.machine import load_machine

    machine = load_machine(request.machine)
    return f"{SPLIT_MARKER}\n".join(
        _lowered(request, "\n" * (line - 1) + chunk, machine)
        for line, chunk in split_input(text, request.split_input_file)
    )


def _lowered(request: LoweringRequest, text: str, machine: Machine) -> str:
    from harness.ir import parse_module, print_module
    from harness.npu.lowering import run_passes

    printed: list[str] = []

    def keep(name: str, module: ModuleOp) -> None:
        if request.print_after:
            printed.append(f"// after {name}\n{print_module(module, request.debuginfo)}")

    module = parse_module(text, "stdin" if request.input == "-" else request.input)
    run_passes(module, machine, request.passes, keep)
    if request.encode:
        program = _encoded(request, module, machine)
        return "\n".join([*printed, f"// after {ENCODE}\n{program}"]) if request.print_after else program
    return "\n".join(printed) if printed else print_module(module, request.debuginfo)


def _encoded(request: LoweringRequest, module: ModuleOp, machine: Machine) -> str:
    from harness.npu.isa.disassembly import disassemble
    from harness.npu.lowering.encode import encode

    placed = any(name in op.attributes for op in module.walk() for name in ("npu.registers", "npu.addresses"))
    if not placed and "npu-allocate" not in request.passes:
        raise UsageError(f"{ENCODE} of a module without addresses", hint="npu-allocate, or npu-lower, comes first")
    return disassemble(encode(module, machine))


def main(arguments: Sequence[str], stdin: int = 0, stdout: int = 1, stderr: int = 2) -> int:
    """Exit status, with open files to read and write: 1 for what cannot be lowered. Raises UsageError and
    UnsupportedFlag for a command line that is wrong."""
    request = parse_arguments(arguments)
    try:
        printed = run(request, _read(request.input, stdin)).encode()
    except HarnessError as error:
        if isinstance(error, UsageError):
            raise
        _write(stderr, f"{type(error).__name__}: {error}\n".encode())
        return 1
    if request.output == "-":
        sys.stdout.flush()
        _write(stdout, printed)
    else:
        Path(request.output).write_bytes(printed)
    return 0


def _read(path: str, stdin: int) -> str:
    if path == "-":
        with os.fdopen(os.dup(stdin), "rb") as stream:
            return stream.read().decode()
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error


def _write(descriptor: int, data: bytes) -> None:
    with os.fdopen(os.dup(descriptor), "wb") as stream:
        stream.write(data)
