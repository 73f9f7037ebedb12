"""From an exception to the typed failure: what happened, at which line of whose file."""

from __future__ import annotations

import inspect
import re
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from harness.cases.evidence import Failure
from harness.cases.location import SourceLocation
from harness.errors import (
    AssertionTrap,
    FrontendError,
    HarnessError,
    Misaligned,
    OutOfBounds,
    PassFailed,
    Refusal,
    Trap,
    VerifierFailed,
    is_out_of_memory,
)
from harness.lit.diagnostics import first_diagnostic, is_verifier_message

# CUDA reports what a kernel did wrong as text; these are the runtime's fixed messages.
HARDWARE_TRAPS: tuple[tuple[str, type[Trap]], ...] = (
    ("an illegal memory access was encountered", OutOfBounds),
    ("misaligned address", Misaligned),
    ("device-side assert triggered", AssertionTrap),
    ("an illegal instruction was encountered", Trap),
)

_IN_TRITON = re.compile(r".*[/\\](?=triton[/\\])")


@dataclass(frozen=True)
class Context:
    """Where an exception came from: the stage, the kernel that was being launched (if any), stderr's end."""

    stage: str
    kernel: Any = None
    log: str = ""


def failure_of(error: Exception, context: Context) -> Failure:
    """The failure that stands for `error`, after translation to the harness's own type where there is one."""
    trace = "".join(traceback.format_exception(error))
    if is_out_of_memory(error):
        # A MemoryError says nothing more than its name.
        message = f"an allocation failed: {_message(error)}"
        return Failure(context.stage, "OutOfMemory", message, traceback=trace, log=context.log)
    typed = translated(error, context)
    if isinstance(typed, HarnessError):
        return Failure(context.stage, type(typed).__name__, typed.what, typed.where, typed.hint, trace, context.log)
    return Failure(context.stage, type(error).__name__, _message(error), traceback=trace, log=context.log)


def translated(error: Exception, context: Context) -> Exception:
    """Triton's and CUDA's exceptions as the harness's types; any other as it is."""
    for translate in _TRANSLATIONS:
        found = translate(error, context)
        if found is not None:
            return found
    return error


def _message(error: BaseException) -> str:
    return ": ".join(filter(None, (type(error).__name__, str(error))))


def _compilation_error(error: Exception, context: Context) -> FrontendError | None:
    """The innermost CompilationError: the outer ones are the call sites above it."""
    from triton.compiler.errors import CompilationError

    chain = [one for one in _causes(error) if isinstance(one, CompilationError)]
    if not chain:
        return None
    innermost = chain[-1]
    inner_cause = innermost.__cause__ or innermost.__context__
    reason = innermost.error_message or _reason(inner_cause)
    what = reason.strip().splitlines()[0] if reason.strip() else type(innermost).__name__
    sites = [place for place in (source_location(one, context.kernel) for one in chain) if place]
    hint = f"called from {sites[0]}" if len(sites) > 1 else ""
    return FrontendError(what, sites[-1] if sites else None, hint)


def _reason(cause: BaseException | None) -> str:
    """What it says; of an assertion that says nothing, what did not hold, and where in Triton."""
    if not isinstance(cause, AssertionError) or str(cause) or cause.__traceback__ is None:
        return str(cause or "")
    frame = traceback.extract_tb(cause.__traceback__)[-1]
    return f"{frame.line} does not hold, in {frame.name} ({_IN_TRITON.sub('', frame.filename)}:{frame.lineno})"


def _pass_failure(error: Exception, context: Context) -> PassFailed | None:
    if not isinstance(error, RuntimeError) or "PassManager::run failed" not in str(error):
        return None
    diagnostic, where = first_diagnostic(context.log)
    kind = VerifierFailed if is_verifier_message(diagnostic) else PassFailed
    return kind(diagnostic or "a pass failed and gave no reason", where)


def _assembler_failure(error: Exception, context: Context) -> PassFailed | None:
    """NVIDIA's assembler refused what Triton generated: the compiler's fault, not the kernel's."""
    if type(error).__name__ != "PTXASError":
        return None
    return PassFailed(next((line.strip() for line in str(error).splitlines() if line.strip()), "ptxas failed"))


def _hardware_trap(error: Exception, context: Context) -> Trap | None:
    if not isinstance(error, RuntimeError):
        return None
    for phrase, kind in HARDWARE_TRAPS:
        if phrase in str(error):
            return kind(f"CUDA: {phrase}", hint="run the case on the npu target for the program and the line")
    return None


def _interpreter_error(error: Exception, context: Context) -> HarnessError | None:
    """Triton's interpreter wraps whatever a program raised: what matters is the innermost."""
    if type(error).__name__ != "InterpreterError":
        return None
    cause = list(_causes(error))[-1]
    if isinstance(cause, NotImplementedError):
        return Refusal(f"Triton's interpreter cannot run this kernel: {cause}")
    if isinstance(cause, AssertionError):
        return AssertionTrap(str(cause) or "an assertion of the kernel did not hold")
    return None


_TRANSLATIONS: tuple[Callable[[Exception, Context], HarnessError | None], ...] = (
    _compilation_error,
    _pass_failure,
    _assembler_failure,
    _hardware_trap,
    _interpreter_error,
)


def source_location(error: Any, kernel: Any) -> SourceLocation | None:
    """File and line of a CompilationError: it knows its function's text and a line in it, not the file."""
    line = getattr(error.node, "lineno", None)
    function = next((one for one in functions_of(kernel) if getattr(one, "src", None) == error.src), None)
    if line is None or function is None:
        return None
    first = _definition_line(function)
    return SourceLocation(function.fn.__code__.co_filename, first + line - 1, error.node.col_offset + 1)


def _definition_line(function: Any) -> int:
    """The line of `def`: a JIT function's text starts there, below its decorators."""
    lines, first = inspect.getsourcelines(function.fn)  # the JIT keeps them from 3.4 on
    return next((first + offset for offset, line in enumerate(lines) if line.lstrip().startswith("def ")), first)


def functions_of(kernel: Any) -> Iterator[Any]:
    """The JIT functions that a kernel can call: itself, then what its module and those of its helpers name."""
    pending, seen = [_undecorated(kernel)], set()
    while pending:
        function = pending.pop(0)
        if id(function) in seen or not hasattr(function, "fn"):
            continue
        seen.add(id(function))
        yield function
        names = _names_of(function.fn.__code__)
        scope = {**function.fn.__globals__, **_closure(function.fn)}
        for value in [scope[name] for name in names if name in scope]:
            pending.append(value)
            if isinstance(value, ModuleType):  # `tl.sum`, `helpers.scale`
                pending.extend(getattr(value, name) for name in names if hasattr(value, name))


def _undecorated(kernel: Any) -> Any:
    while kernel is not None and not hasattr(kernel, "src") and hasattr(kernel, "fn"):
        kernel = kernel.fn
    return kernel


def _names_of(code: Any) -> set[str]:
    return set(code.co_names) | set(code.co_freevars)


def _closure(function: Any) -> dict[str, Any]:
    cells = function.__closure__ or ()
    return {name: cell.cell_contents for name, cell in zip(function.__code__.co_freevars, cells, strict=True)}


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and, from the outside in, what it was raised from."""
    current: BaseException | None = error
    seen: set[int] = set()
    while current is not None and id(current) not in seen:  # `raise one from other`, of which `other` came, is a ring
        seen.add(id(current))
        yield current
        current = current.__cause__ or current.__context__
