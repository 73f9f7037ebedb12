"""Runs the commands of one RUN line: pipes, redirections and `&&` as lit's own shell has them.

The commands of a pipe run one after another, through files: the output of each is there to look at.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from harness.errors import ParseError
from harness.lit.shell import Command, Redirection, Step
from harness.lit.tools import Streams, ToolCall, cannot_check, tool_call

KEPT_BYTES = 256 * 1024


@dataclass(frozen=True)
class CommandResult:
    """One command that has run. `input` and `stderr` are text, cut to their last KEPT_BYTES."""

    call: ToolCall
    status: int
    input: str
    stderr: str

    @property
    def failed(self) -> bool:
        return cannot_check(self.call, self.status, self.stderr) or self.call.shell_status(self.status) != 0


@dataclass(frozen=True)
class PlannedStep:
    """A step of which it is known that every tool and flag can be run."""

    connector: str
    commands: tuple[tuple[Command, ToolCall], ...]


def plan(steps: Sequence[Step]) -> list[PlannedStep]:
    """Raises UnsupportedFlag or UsageError, before anything has run."""
    return [
        PlannedStep(step.connector, tuple((command, tool_call(command.words)) for command in step.commands))
        for step in steps
    ]


def execute(steps: Sequence[PlannedStep], folder: Path) -> list[CommandResult]:
    """Runs the steps; gives the results of the last pipeline that ran, of which the first failed one is the cause."""
    results: list[CommandResult] = []
    failed = False
    for step in steps:
        if (step.connector == "&&" and failed) or (step.connector == "||" and not failed):
            continue
        results = _pipeline(step.commands, folder)
        failed = any(one.failed for one in results)
    return results


def _pipeline(commands: Sequence[tuple[Command, ToolCall]], folder: Path) -> list[CommandResult]:
    results = []
    with ExitStack() as files:
        piped: BinaryIO | None = None
        for command, call in commands:
            result, piped = _command(command, call, piped, folder, files)
            results.append(result)
    return results


def _command(
    command: Command, call: ToolCall, piped: BinaryIO | None, folder: Path, files: ExitStack
) -> tuple[CommandResult, BinaryIO]:
    def temporary() -> BinaryIO:
        return files.enter_context(tempfile.TemporaryFile(mode="w+b", dir=folder))

    out, err = temporary(), temporary()
    streams = {0: piped or temporary(), 1: out, 2: err}
    for one in command.redirections:
        streams[one.descriptor] = _redirected(one, streams, folder, files.enter_context)
    numbers = [streams[descriptor].fileno() for descriptor in (0, 1, 2)]
    text = _text(streams[0]) if piped is not None else ""
    os.lseek(numbers[0], 0, os.SEEK_SET)
    status = call.run(Streams(*numbers), folder)
    errors = _text(streams[2])
    out.seek(0)
    return CommandResult(call, status, text, errors), out


def _redirected(
    one: Redirection, streams: dict[int, BinaryIO], folder: Path, keep: Callable[[Any], BinaryIO]
) -> BinaryIO:
    if one.operator == ">&":
        if not one.target.isdigit() or int(one.target) not in streams:
            raise ParseError(f"there is no stream {one.target!r} to write to")
        return streams[int(one.target)]
    modes = {"<": "rb", ">": "w+b", ">>": "a+b"}
    path = folder / one.target  # an absolute target stays as it is
    try:
        return keep(open(path, modes[one.operator]))
    except OSError as error:
        raise ParseError(f"cannot open {one.target}: {error.strerror}") from error


def _text(file: BinaryIO) -> str:
    size = os.fstat(file.fileno()).st_size
    start = max(0, size - KEPT_BYTES)
    return os.pread(file.fileno(), size - start, start).decode(errors="replace")
