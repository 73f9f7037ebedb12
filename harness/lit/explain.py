"""From a command that failed to the typed failure: which pass, which check line, which part of the input."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from harness.cases.evidence import Failure
from harness.cases.location import SourceLocation
from harness.lit import executed
from harness.lit.check_faults import author_fault, first_error
from harness.lit.diagnostics import first_diagnostic, is_verifier_message
from harness.lit.execution import CommandResult
from harness.lit.forked import USAGE, failing_pass
from harness.lit.opt import DIAGNOSTICS, PARSE
from harness.lit.tools import FILECHECK, OPT

# Stages of a lit case, beside the passes by their flags.
COMPILE, CHECK, VERIFY = "opt", "filecheck", "verify-diagnostics"


def explain(cause: CommandResult, where: SourceLocation, folder: Path) -> Failure:
    """The failure that a command stands for; `where` is its RUN line."""
    fault = author_fault(cause, where) if cause.call.tool == FILECHECK else None
    if fault is not None:
        return fault
    if cause.call.negated:
        return _negated(cause, where)
    if cause.call.tool == OPT:
        return _compiler_failure(cause, where, folder)
    if cause.call.tool == FILECHECK:
        return _check_failure(cause, where)
    if cause.call.tool == executed.TOOL:
        kind = "UnsupportedOp" if cause.status == executed.UNSUPPORTED else "CheckFailed"
        return Failure(executed.TOOL, kind, cause.stderr.strip(), where)
    what = f"{' '.join(cause.call.words)} ended with status {cause.status}"
    return Failure(cause.call.tool, "CheckFailed", what, where, log=cause.stderr)


def _negated(cause: CommandResult, where: SourceLocation) -> Failure:
    tool = cause.call.tool
    result = cause.call.result
    if result is not None and result.signal_name and not cause.call.crash:
        what = f"{tool} must fail, and ended by {result.signal_name}"
        return Failure(COMPILE, f"Signal:{result.signal_name}", what, where, log=cause.stderr)
    ended = f"ended with status {cause.status}" if cause.status else "succeeded"
    wanted = "crash" if cause.call.crash else "fail"
    return Failure(CHECK if tool == FILECHECK else COMPILE, "CheckFailed", f"{tool} must {wanted}, and {ended}", where)


def _compiler_failure(cause: CommandResult, where: SourceLocation, folder: Path) -> Failure:
    result, request = cause.call.result, cause.call.request
    assert result is not None and request is not None
    if result.phase == DIAGNOSTICS and not result.signal_name:
        return _wrong_diagnostics(cause, where)
    if cause.status == USAGE:
        return Failure("collect", "UsageError", _own_words(cause.stderr), where)
    diagnostic, _ = first_diagnostic(cause.stderr)
    if result.phase == PARSE and not result.signal_name:
        what = f"the input is not read: {diagnostic or 'the compiler gives no reason'}"
        # At this stage the bucket is the case author's.
        return Failure("collect", "ParseError", what, _place(cause, where), log=cause.stderr)
    if request.input == "-":
        copy = folder / "stdin.mlir"
        copy.write_text(cause.input, encoding="utf-8")
        request = replace(request, input=str(copy))
    stage = failing_pass(request, cause.status) or COMPILE
    if result.signal_name:
        what = f"the compiler ended by {result.signal_name} in {stage}{_assertion(cause.stderr)}"
        return Failure(stage, f"Signal:{result.signal_name}", what, where, log=cause.stderr)
    kind = "VerifierFailed" if is_verifier_message(diagnostic) else "PassFailed"
    what = diagnostic or f"{stage} failed and gave no reason"
    return Failure(stage, kind, what, _place(cause, where), log=cause.stderr)


def _own_words(log: str) -> str:
    """What triton-opt says of its command line or its files, rather than MLIR of the module."""
    told = [line.removeprefix("triton-opt: ") for line in log.splitlines() if line.startswith("triton-opt: ")]
    return told[-1] if told else "triton-opt cannot do what the RUN line says"


def _assertion(log: str) -> str:
    """The assertion that did not hold, where the compiler says one."""
    match = re.search(r"Assertion [`'](?P<text>.*?)' failed|LLVM ERROR: (?P<fatal>.*)", log)
    return f": {match['text'] or match['fatal']}" if match else ""


def _place(cause: CommandResult, where: SourceLocation) -> SourceLocation:
    """The line of the case that the first diagnostic is about, else the RUN line."""
    _, found = first_diagnostic(cause.stderr)
    if found is None or Path(found.file).name != Path(where.file).name:
        return where
    return SourceLocation(where.file, found.line, found.column)


def _wrong_diagnostics(cause: CommandResult, where: SourceLocation) -> Failure:
    first = cause.stderr.strip().splitlines()[0].removeprefix("error: ") if cause.stderr.strip() else ""
    written = re.match(r"line (\d+): ", first)
    if written:
        where = SourceLocation(where.file, int(written[1]))
    return Failure(VERIFY, "CheckFailed", first or "the diagnostics differ", where, log=cause.stderr)


def _check_failure(cause: CommandResult, where: SourceLocation) -> Failure:
    """FileCheck's own report has the nearest match and the input around it: it is the log."""
    error = first_error(cause.stderr)
    if error is None:
        words = " ".join(cause.stderr.split()) or f"FileCheck ended with status {cause.status}"
        return Failure(CHECK, "CheckFailed", words[:200], where, log=cause.stderr)
    line = _line_of(error.where.file, error.where.line)
    return Failure(CHECK, "CheckFailed", f"{error.text}: {line}" if line else error.text, error.where, log=cause.stderr)


def _line_of(file: str, line: int) -> str:
    try:
        return Path(file).read_text(encoding="utf-8").splitlines()[line - 1].strip()
    except (OSError, UnicodeDecodeError, IndexError):
        return ""
