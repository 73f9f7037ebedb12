"""What a compiler's pipeline looks like from outside: the module before each of its passes, and how it ended."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

# What MLIR's printer writes before each module. The pass's name comes with its argument in parentheses (to 3.7) or
# after a colon (from 3.8), and the op it runs on in quotes.
_HEADER = re.compile(r"^// -----// IR Dump Before ([^\n]*) //----- //$", re.MULTILINE)
_ARGUMENT = re.compile(r"\((?P<old>[\w.-]+)\)|: (?P<new>[\w.-]+)")
_ASSERTION = re.compile(r"Assertion [`'].*' failed")
FINAL = "end"


@dataclass(frozen=True)
class Stage:
    """A module of one pipeline.

    pass_name  the pass that is about to run on it, by its flag where it has one (`tritongpu-pipeline`); FINAL for
               the module after the last pass
    text       the module, with its locations
    pipeline   the backend's stage the pass belongs to: "ttir", "ttgir"
    options    what the pipeline gave the pass, as textual pipelines write it: "num-stages=3"
    """

    pass_name: str
    text: str
    pipeline: str
    options: str = ""


@dataclass(frozen=True)
class CompilerFailure:
    """How a pipeline ended that did not get through.

    pass_name  the pass that was running; "" where none had begun
    pipeline   the backend's stage
    what       one sentence: the exception, or the signal that ended the compiler's process
    log        what the compiler wrote to stdout and stderr
    signal     the name of the signal that ended its process, "" for an exception
    """

    pass_name: str
    pipeline: str
    what: str
    log: str = ""
    signal: str = ""

    @property
    def cause(self) -> str:
        """The first error, or the assertion that did not hold, in the log; "" where it tells neither."""
        lines = [line.strip() for line in self.log.splitlines()]
        return next((line for line in lines if " error: " in line or "Assertion `" in line), "")

    @property
    def assertion(self) -> str:
        """The first assertion that did not hold, without its place in the compiler; "" where none is told."""
        found = _ASSERTION.search(self.log)
        return found[0] if found else ""


@dataclass(frozen=True)
class Capture:
    """One compilation of one kernel. `stages` are in order; the last one is FINAL unless `failure` is set."""

    kernel: str
    stages: tuple[Stage, ...]
    failure: CompilerFailure | None = None


def modules_of(dump: str) -> Iterator[tuple[str, str]]:
    """The (pass, module) pairs of what `MLIR_ENABLE_DUMP` wrote, in order.

    A module ends at the first empty line: what a pass says itself may follow.
    """
    headers = list(_HEADER.finditer(dump))
    ends = [header.start() for header in headers[1:]] + [len(dump)]
    for header, end in zip(headers, ends, strict=True):
        yield _pass_name(header[1]), dump[header.end() : end].strip("\n").split("\n\n", 1)[0] + "\n"


def _pass_name(header: str) -> str:
    argument = _ARGUMENT.search(header)
    return argument["old"] or argument["new"] if argument else header.split(" (")[0]
