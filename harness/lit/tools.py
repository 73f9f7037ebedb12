"""The tools that RUN lines call: which there are, and how each is run."""

from __future__ import annotations

import difflib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import metadata, util
from pathlib import Path

from harness.errors import UnsupportedFlag, UsageError
from harness.lit import executed, lowering, opt
from harness.lit.compiler import installed_compiler
from harness.lit.forked import OptResult, run_opt

OPT, FILECHECK = "triton-opt", "FileCheck"

_FILE_MARKER = re.compile(r"^(?:.|//)?--- (\S+)[^\n]*\n", re.MULTILINE)

# Tools of Triton's, MLIR's and LLVM's builds, which no wheel has.
# fmt: off
_TOOLS_ELSEWHERE = frozenset((
    "llc", "llvm-as", "llvm-dis", "llvm-mc", "llvm-objdump", "mlir-opt", "mlir-translate", "opt",
    "triton-llvm-opt", "triton-lsp", "triton-reduce", "triton-tensor-layout",
))
# fmt: on
_CLOSE_TOOL = 0.8

# FileCheck's status where it cannot even begin: its check lines or its command line are wrong. An input that is empty
# has this status too, and is the doing of the command that printed nothing.
_CANNOT_CHECK = 2
_EMPTY_INPUT = re.compile(r"'.*?' is empty\.")

_VARIABLE = re.compile(r"[A-Za-z_]\w*=")

# Tools of the system that upstream's tests use.
# fmt: off
_SYSTEM_TOOLS = frozenset((
    "cat", "cp", "diff", "echo", "false", "grep", "head", "mkdir", "mv", "rm",
    "sed", "sort", "tail", "test", "touch", "tr", "true", "uniq", "wc",
))
# fmt: on


@dataclass(frozen=True)
class Streams:
    """Open files: what a command reads and where it writes."""

    stdin: int
    stdout: int
    stderr: int


@dataclass
class ToolCall:
    """One command, ready to run: `not`, `env` and the rest of its prefix taken off.

    negated   by `not`
    crash     `not --crash`: it must end by a signal
    request   of triton-opt
    result    of triton-opt, once it has run
    """

    words: tuple[str, ...]
    negated: bool = False
    crash: bool = False
    environment: dict[str, str] = field(default_factory=dict)
    request: opt.OptRequest | None = None
    result: OptResult | None = None

    @property
    def tool(self) -> str:
        return self.words[0]

    def run(self, streams: Streams, folder: Path) -> int:
        """Exit status; below zero, the signal that ended it."""
        if self.request is None:
            return _TOOLS.get(self.tool, _run_system_tool)(self, streams, folder)
        with _variables(self.environment):
            self.result = run_opt(self.request, streams.stdin, streams.stdout, streams.stderr)
        return self.result.status

    def shell_status(self, status: int) -> int:
        """The status that counts, after `not`: 0 is good."""
        if not self.negated:
            return status
        if self.crash:
            return 0 if status < 0 else 1
        return 0 if status > 0 else (status or 1)


def tool_call(words: tuple[str, ...]) -> ToolCall:
    """Raises UnsupportedFlag for a tool or flag that cannot be run here, UsageError for a command that is none."""
    call = ToolCall(words)
    _take_variables(call)
    while call.words and (take := _PREFIXES.get(call.words[0])):
        take(call)
    if not call.words and call.environment:
        call.words = ("true",)  # variables for no command
    if not call.words:
        raise UsageError(f"there is no command in {' '.join(words)!r}")
    if call.tool == OPT:
        call.request = opt.parse_arguments(call.words[1:])
        opt.check_supported(call.request, installed_compiler())
    elif call.tool == lowering.TOOL:
        lowering.parse_arguments(call.words[1:])
    elif call.tool == executed.TOOL:
        executed.parse_arguments(call.words[1:])
    elif call.tool not in _TOOLS and call.tool not in _SYSTEM_TOOLS:
        raise _no_tool(call.tool)
    return call


def _no_tool(name: str) -> UnsupportedFlag | UsageError:
    """For one that is none here, or none at all."""
    names = {tool.lower(): tool for tool in (OPT, FILECHECK, *_TOOLS)}
    close = difflib.get_close_matches(name.lower(), names, n=1, cutoff=_CLOSE_TOOL)
    if close and name not in _TOOLS_ELSEWHERE:
        return UsageError(f"there is no tool {name}", hint=f"did you mean {names[close[0]]}?")
    is_known = name in _TOOLS_ELSEWHERE
    return UnsupportedFlag(f"unsupported: the tool {name} is not in the wheel of triton", of_a_release=is_known)


def file_check_command() -> list[str]:
    """The wheel's FileCheck, or else PyPI's. Raises UnsupportedFlag where there is neither."""
    binary = wheel_file_check()
    if binary is not None:
        return [str(binary)]
    if util.find_spec("filecheck") is not None:
        return [sys.executable, "-m", "filecheck"]
    raise UnsupportedFlag("unsupported: the wheel has no FileCheck, and the package filecheck is not installed")


def cannot_check(call: ToolCall, status: int, log: str) -> bool:
    """Whether FileCheck could not check at all, whatever the compiler printed: `not` does not mean that."""
    return call.tool == FILECHECK and status == _CANNOT_CHECK and _EMPTY_INPUT.search(log) is None


def wheel_file_check() -> Path | None:
    """The FileCheck that the installed wheel brings along."""
    spec = util.find_spec("triton")
    folders = spec.submodule_search_locations if spec else None
    binaries = [Path(folder, "FileCheck") for folder in folders or ()]
    return next((path for path in binaries if os.access(path, os.X_OK)), None)


def fallback_note() -> str:
    """What a run must say about its FileCheck; "" when it is the wheel's."""
    if wheel_file_check() is not None:
        return ""
    return f"FileCheck: this triton wheel has none; filecheck {metadata.version('filecheck')} of PyPI checked instead"


def _take_not(call: ToolCall) -> None:
    is_crash = call.words[1:2] == ("--crash",)
    call.words = call.words[2 if is_crash else 1 :]
    call.negated, call.crash = not call.negated, is_crash


def _take_env(call: ToolCall) -> None:
    call.words = call.words[1:]
    _take_variables(call)


def _take_variables(call: ToolCall) -> None:
    """`NAME=value` before a command, with `env` or, as in a shell, without."""
    while call.words and _VARIABLE.match(call.words[0]):
        name, _, value = call.words[0].partition("=")
        call.environment[name] = value
        call.words = call.words[1:]


_PREFIXES: Mapping[str, Callable[[ToolCall], None]] = {"not": _take_not, "env": _take_env}


def _run_file_check(call: ToolCall, streams: Streams, folder: Path) -> int:
    return _run(file_check_command() + list(call.words[1:]), call, streams, folder)


def _run_lowering(call: ToolCall, streams: Streams, folder: Path) -> int:
    """The passes of the simulated NPU, in this process: they are Python."""
    return lowering.main(call.words[1:], streams.stdin, streams.stdout, streams.stderr)


def _run_executed(call: ToolCall, streams: Streams, folder: Path) -> int:
    """Two modules on the same inputs, in this process."""
    return executed.main(call.words[1:], streams.stderr)


def _run_count(call: ToolCall, streams: Streams, folder: Path) -> int:
    """`count N`: the input has so many lines."""
    if len(call.words) != 2 or not call.words[1].isdigit():
        raise UsageError(f"count takes a number of lines, not {' '.join(call.words[1:])!r}")
    with os.fdopen(os.dup(streams.stdin), "rb") as stdin:
        lines = len(stdin.read().splitlines())
    if lines == int(call.words[1]):
        return 0
    os.write(streams.stderr, f"count: the input has {lines} lines, not {call.words[1]}\n".encode())
    return 1


def _run_split_file(call: ToolCall, streams: Streams, folder: Path) -> int:
    """`split-file FILE FOLDER`: what follows a line `//--- NAME` is the file NAME of the folder."""
    if len(call.words) != 3:
        raise UsageError("split-file takes a file and a folder")
    parts = _FILE_MARKER.split(Path(call.words[1]).read_text(encoding="utf-8"))
    for name, text in zip(parts[1::2], parts[2::2], strict=True):
        path = folder / call.words[2] / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    if len(parts) > 1:
        return 0
    os.write(streams.stderr, b"split-file: the file has no line //--- NAME\n")
    return 1


def _run_system_tool(call: ToolCall, streams: Streams, folder: Path) -> int:
    path = shutil.which(call.tool)
    if path is None:
        raise UnsupportedFlag(f"unsupported: this machine has no {call.tool}")
    return _run([path, *call.words[1:]], call, streams, folder)


_TOOLS: Mapping[str, Callable[[ToolCall, Streams, Path], int]] = {
    FILECHECK: _run_file_check,
    lowering.TOOL: _run_lowering,
    executed.TOOL: _run_executed,
    "count": _run_count,
    "split-file": _run_split_file,
}


def _run(command: list[str], call: ToolCall, streams: Streams, folder: Path) -> int:
    done = subprocess.run(
        command,
        stdin=streams.stdin,
        stdout=streams.stdout,
        stderr=streams.stderr,
        cwd=folder,
        env={**os.environ, **call.environment},
        check=False,
    )
    return done.returncode


class _variables:
    """Environment variables for the time of a block: a forked process inherits them."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = values
        self._before: dict[str, str | None] = {}

    def __enter__(self) -> None:
        self._before = {name: os.environ.get(name) for name in self._values}
        os.environ.update(self._values)

    def __exit__(self, *error: object) -> None:
        for name, value in self._before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
