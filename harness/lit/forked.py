"""triton-opt in a process of its own: the compiler is native code, which asserts and segfaults."""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

from harness.errors import HarnessError
from harness.lit import opt
from harness.lit.compiler import installed_compiler

# The exit status of a tool that was called in a way it cannot be.
USAGE = 2


@dataclass(frozen=True)
class OptResult:
    """status  as a shell has it: below zero, the signal that ended the process
    phase   the last one it entered, of `harness.lit.opt`
    """

    status: int
    phase: str

    @property
    def signal_name(self) -> str:
        """ "" for a process that ended by itself."""
        return signal.Signals(-self.status).name if self.status < 0 else ""


def run_opt(request: opt.OptRequest, stdin: int, stdout: int, stderr: int) -> OptResult:
    """Runs a request with these open files as its standard streams."""
    installed_compiler()  # here, so that the child inherits it
    sys.stdout.flush()
    sys.stderr.flush()
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        _become_opt(request, (stdin, stdout, stderr), writer)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as phases:
        entered = phases.read().split()
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    if opt.CRASH in entered and code > 0:
        code = -signal.SIGABRT  # which is how triton-opt, that catches nothing, would have ended
    phases_only = [phase for phase in entered if phase != opt.CRASH]
    return OptResult(code, phases_only[-1] if phases_only else "")


def _become_opt(request: opt.OptRequest, streams: tuple[int, int, int], phases: int) -> NoReturn:
    status = 1
    try:
        faulthandler.disable()  # Python's stack says nothing of the compiler's
        for descriptor, stream in enumerate(streams):
            os.dup2(stream, descriptor)
        status = _opt(request, phases)
    except HarnessError as error:
        os.write(2, f"triton-opt: {error}\n".encode())
        status = USAGE
    except BaseException as error:
        os.write(2, f"triton-opt: {type(error).__name__}: {error}\n".encode())
    finally:
        os._exit(status)


def _opt(request: opt.OptRequest, phases: int) -> int:
    text = _read(request.input)
    status, output = opt.run(request, installed_compiler(), text, lambda phase: _tell(phases, phase))
    to_file = request.output not in ("-", "")
    try:
        if to_file:
            Path(request.output).write_text(output, encoding="utf-8")
        else:
            _write(1, output.encode())
    except OSError as error:
        place = request.output if to_file else "the output"
        raise HarnessError(f"cannot write {place}: {error.strerror}") from error
    return status


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _read(source: str) -> str:
    if source == "-":
        with os.fdopen(os.dup(0), encoding="utf-8") as stdin:
            return stdin.read()
    try:
        return Path(source).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise HarnessError(f"cannot read {source}: {reason}") from error


def _tell(phases: int, phase: str) -> None:
    os.write(phases, f"{phase}\n".encode())


def failing_pass(request: opt.OptRequest, status: int) -> str:
    """The flag of the first pass without which the request would not have failed; "" where none is to blame.

    The passes are run once more, one further each time, so that this costs nothing unless something failed.
    """
    with open(os.devnull, "r+b") as nothing, tempfile.TemporaryFile("w+b") as log:
        for count in range(len(request.passes) + 1):
            shorter = replace(request, passes=request.passes[:count], output="-")
            result = run_opt(shorter, nothing.fileno(), nothing.fileno(), log.fileno())
            if result.status == status:
                return request.passes[count - 1].flag if count else ""
    return ""
