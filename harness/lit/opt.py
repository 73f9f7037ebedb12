"""`triton-opt` out of the installed wheel: its command line, and what it does."""

from __future__ import annotations

import os
import re
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from harness.errors import UnsupportedFlag, UsageError
from harness.lit.aliases import with_local_scope, with_names_of
from harness.lit.compiler import Compiler, PassRequest
from harness.lit.diagnostics import diagnostics_of, disagreements, expectations_of
from harness.lit.spelling import KnownFlags

SPLIT_MARKER = "// -----"
_SPLIT = re.compile(r"^[ \t]*// -----[^\n]*$", re.MULTILINE)

# The phases of a run, as `Progress` is told of them.
PARSE, PASSES, DIAGNOSTICS = "parse", "passes", "diagnostics"
# Told beside them: MLIR has caught a signal, as of an assertion, and made a failure of it.
CRASH = "crash"
# What it says then depends on what ran in the process before; an assertion and a fatal error say so themselves.
_CAUGHT = re.compile(
    r"A signal was caught while processing the MLIR module|^LLVM ERROR: |: Assertion `.*' failed", re.MULTILINE
)
Progress = Callable[[str], None]


@dataclass(frozen=True)
class OptRequest:
    """What a command line of triton-opt asks for. `input` and `output` are paths, "-" for the standard streams."""

    input: str = "-"
    output: str = "-"
    passes: tuple[PassRequest, ...] = ()
    split_input_file: bool = False
    verify_diagnostics: bool = False
    only_expected: bool = False
    allow_unregistered_dialect: bool = False
    debuginfo: bool = False
    named_values: bool = False
    local_scope: bool = False


# Flags without a value: the field each one sets, or "" for one that changes nothing here.
_SWITCHES = {
    "split-input-file": "split_input_file",
    "verify-diagnostics": "verify_diagnostics",
    "allow-unregistered-dialect": "allow_unregistered_dialect",
    "mlir-print-debuginfo": "debuginfo",
    "mlir-print-local-scope": "local_scope",
    "mlir-use-nameloc-as-prefix": "named_values",
    "mlir-disable-threading": "",
    "verify-each": "",
}
_ON = {"": True, "true": True, "1": True, "all": True, "only-expected": True, "false": False, "0": False}
# What a tool of MLIR's takes beside passes, and a wheel has nothing for.
_OF_THE_TOOL = ("mlir-", "debug", "stats", "dump-pass-pipeline", "emit-bytecode", "run-reproducer", "show-dialects")
_PIPELINE_ANCHOR = re.compile(r"\s*(?:builtin\.module|any)\s*\((?P<inner>.*)\)\s*", re.DOTALL)
_BRACED = re.compile(r"(?P<flag>[^=]+?)\{(?P<options>.*)\}", re.DOTALL)


def parse_arguments(arguments: Sequence[str]) -> OptRequest:
    """Raises UsageError for what no tool of MLIR's would take, UnsupportedFlag for what this one cannot do."""
    request = OptRequest()
    inputs: list[str] = []
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        if argument == "-" or not argument.startswith("-"):
            inputs.append(argument)
            continue
        request = _with_flag(request, argument.lstrip("-"), rest)
    if len(inputs) > 1:
        raise UsageError(f"triton-opt reads one file, not {' and '.join(inputs)}")
    return replace(request, input=inputs[0]) if inputs else request


def _with_flag(request: OptRequest, flag: str, rest: list[str]) -> OptRequest:
    braced = _BRACED.fullmatch(flag)
    name, equals, value = (braced["flag"], "=", braced["options"]) if braced else flag.partition("=")
    if name == "o":
        if not equals and not rest:
            raise UsageError("-o names no file")
        return replace(request, output=value if equals else rest.pop(0))
    if name in _SWITCHES:
        is_on = _ON.get(value)
        if is_on is None:
            raise UsageError(f"--{name} takes true or false, not {value!r}")
        request = replace(request, only_expected=request.only_expected or value == "only-expected")
        return replace(request, **{_SWITCHES[name]: is_on}) if _SWITCHES[name] else request
    if name == "pass-pipeline":
        return replace(request, passes=(*request.passes, _pipeline(value if equals else (rest or [""]).pop(0))))
    if name.startswith(_OF_THE_TOOL):
        KnownFlags.of_any_release().check_flag(name)
        raise UnsupportedFlag(f"unsupported: --{name} has no counterpart in a wheel's bindings")
    return replace(request, passes=(*request.passes, PassRequest(name, value)))


def _pipeline(text: str) -> PassRequest:
    match = _PIPELINE_ANCHOR.fullmatch(text)
    if match is None:
        raise UnsupportedFlag(f"unsupported: a pipeline must begin at builtin.module or any, not {text!r}")
    return PassRequest("pass-pipeline", pipeline=match["inner"].strip())


def check_supported(request: OptRequest, compiler: Compiler) -> None:
    """Raises UnsupportedFlag for the first thing that the wheel cannot do, UsageError for one that is misspelt,
    before anything is run."""
    if request.allow_unregistered_dialect and compiler.textual.refusal:
        release = compiler.release
        raise UnsupportedFlag(f"unsupported: -allow-unregistered-dialect has no binding in triton {release}")
    manager = compiler.manager(compiler.context())
    for one in request.passes:
        compiler.add(manager, one)


def run(request: OptRequest, compiler: Compiler, text: str, tell: Progress = lambda phase: None) -> tuple[int, str]:
    """Exit status and output, of an input's text. Diagnostics go to file descriptor 2, as MLIR writes them.

    `tell` hears which phase begins, so that whoever watches knows where a crash happened. With
    `verify_diagnostics`, descriptor 2 must be a regular file open for reading.
    """
    status, printed = 0, []
    for first_line, chunk in split_input(text, request.split_input_file):
        ok, output = _process(request, compiler, chunk, first_line, tell)
        status = status if ok else 1
        printed.append(output)
    return status, f"{SPLIT_MARKER}\n".join(printed)


def split_input(text: str, split: bool) -> Iterator[tuple[int, str]]:
    """(number of its first line, text) of each module in the input."""
    if not split:
        yield 1, text
        return
    start = 0
    for match in [*_SPLIT.finditer(text), None]:
        end = match.start() if match else len(text)
        yield text.count("\n", 0, start) + 1, text[start:end]
        start = min(match.end() + 1, len(text)) if match else end


def _process(request: OptRequest, compiler: Compiler, chunk: str, first_line: int, tell: Progress) -> tuple[bool, str]:
    # Diagnostics must point at lines of the whole file.
    padded = "\n" * (first_line - 1) + chunk
    if not request.verify_diagnostics:
        return _compile(request, compiler, padded, tell)
    sys.stderr.flush()
    start = os.fstat(2).st_size
    entered: list[str] = []

    def hear(phase: str) -> None:
        entered.append(phase)
        tell(phase)

    _, output = _compile(request, compiler, padded, hear)
    tell(DIAGNOSTICS)
    log = _log_since(start)
    os.ftruncate(2, start)
    os.lseek(2, start, os.SEEK_SET)
    expected = expectations_of(chunk, first_line)
    wrong = disagreements(expected, diagnostics_of(log), PASSES in entered, request.only_expected)
    if wrong:
        os.write(2, "".join(f"error: {sentence}\n" for sentence in wrong).encode())
    return not wrong, output


def _compile(request: OptRequest, compiler: Compiler, text: str, tell: Progress) -> tuple[bool, str]:
    """Whether one module went through, and how it is printed then."""
    ir = compiler.libtriton.ir
    context = compiler.context()
    if request.allow_unregistered_dialect:
        compiler.textual.allow_unregistered_dialects(context)
    if request.verify_diagnostics:
        context.printOpOnDiagnostic(False)
        # Below errors, nothing is reported unless one asks for it.
        os.environ["MLIR_ENABLE_DIAGNOSTICS"] = "remarks"
    manager = compiler.manager(context)
    for one in request.passes:
        compiler.add(manager, one)
    start = os.fstat(2).st_size
    tell(PARSE)
    with _file_with(request, text) as path:
        try:
            module = ir.parse_mlir_module(path, context)
            tell(PASSES)
            if request.passes:
                manager.run(module, "triton-opt")
        except RuntimeError:  # what went wrong stands on stderr
            if is_crash(_log_since(start)):
                tell(CRASH)
            return False, ""
    return True, _printed(request, module)


def is_crash(log: str) -> bool:
    """Whether a failed run would have died of a signal, had MLIR not caught it."""
    return _CAUGHT.search(log) is not None


def _log_since(start: int) -> str:
    """What has been written to descriptor 2; "" where that is no file to read again."""
    if not stat.S_ISREG(os.fstat(2).st_mode):
        return ""
    return os.pread(2, os.fstat(2).st_size - start, start).decode(errors="replace")


@contextmanager
def _file_with(request: OptRequest, text: str) -> Iterator[str]:
    """The path of a file with this text: the input itself, unless the text is a part of it."""
    if request.input != "-" and not request.split_input_file:
        yield request.input
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "stdin.mlir" if request.input == "-" else Path(request.input).name)
        path.write_text(text, encoding="utf-8")
        yield str(path)


def _printed(request: OptRequest, module: object) -> str:
    # A wheel calls values after their locations where it prints these, and by numbers where it does not.
    named, plain = module.str(), module.str_nodebug()  # type: ignore[attr-defined]
    text = named if request.debuginfo else plain
    if request.debuginfo != request.named_values:
        text = with_names_of(text, named if request.named_values else plain)
    return with_local_scope(text) if request.local_scope else text
