"""What one case comes to on one release and target, and the child process that finds it out.

`python -m harness.bisect.cells` reads a request from stdin and writes a line of JSON for each case as it begins, at
each of its stages, and as it ends: a compiler that takes the process with it costs one case.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from harness.errors import HarnessError
from harness.process_end import leave

if TYPE_CHECKING:
    from harness.bisect.results import Bisection, LaunchBisection

# "not executed": some stages matched, but not the last one. "refused": the release cannot compile the source, or lacks
# what the case needs. "died": the process was gone. "timeout": it took too long. "unsupported": nothing can be run.
CellVerdict = Literal["match", "wrong", "crash", "not executed", "refused", "died", "timeout", "unsupported"]

# The stage that every case begins in, as `bisect_case` tells of the others.
COLLECT = "collect"

_SAID = re.compile(r"error: (?P<error>.*)|(?P<assertion>Assertion [`'].*' failed)")


@dataclass(frozen=True)
class Cell:
    """One place of the grid.

    guilty  the pass that breaks the case; several where it is not known which, joined by " or "
    detail  one sentence: the first wrong element, the compiler's error, what could not be executed
    stage   how far a case had got that died or ran out of time
    """

    verdict: CellVerdict
    guilty: str = ""
    detail: str = ""
    stage: str = ""


@dataclass(frozen=True)
class CaseName:
    """A case by its file, its name and the id of its parameters."""

    file: str
    name: str
    parameter_id: str

    def __str__(self) -> str:
        return f"{self.file}::{self.name}[{self.parameter_id}]" if self.parameter_id else f"{self.file}::{self.name}"


@dataclass(frozen=True)
class Request:
    """What the child is to run."""

    target: str
    cases: Sequence[CaseName]

    def encode(self) -> str:
        return json.dumps({"target": self.target, "cases": [asdict(case) for case in self.cases]})

    @classmethod
    def decode(cls, text: str) -> Request:
        told = json.loads(text)
        return cls(told["target"], [CaseName(**case) for case in told["cases"]])


def cell_of(bisection: Bisection) -> Cell:
    """A pass that changed a buffer comes before a pass that failed: it ran earlier."""
    for one in bisection.launches:
        change = one.first_change()
        if change is not None:
            return Cell("wrong", " or ".join(change.suspects), change.after.reason)
    for one in bisection.launches:
        if one.capture.failure is not None:
            return Cell(
                "crash", one.capture.failure.pass_name, _said(one.capture.failure.log, one.capture.failure.what)
            )
    for one in bisection.launches:
        if not one.results or one.results[-1].verdict != "match":
            return _unfinished(one)
    return Cell("match") if bisection.launches else Cell("not executed", "", "the case launches nothing")


def _unfinished(one: LaunchBisection) -> Cell:
    """Of a launch whose last stage is not known to be right, although no pass changed a verdict."""
    first = next((result for result in one.results if result.verdict != "match"), None)
    if first is None:
        return Cell("not executed", "", "there is no stage")
    if first.verdict == "differs":
        return Cell("wrong", "", f"before any pass: {first.reason}")
    return Cell("not executed", "", f"from before {first.stage.pass_name} on: {first.reason}")


def _said(log: str, otherwise: str) -> str:
    """The compiler's first error."""
    match = _SAID.search(log)
    return (match["error"] or match["assertion"]) if match else otherwise


def find(case: CaseName, target: str, enter_stage: Callable[[str], None]) -> Cell:
    """Runs one case with the Triton of this process. Raises SystemExit where the case does."""
    from harness.bisect.run import bisect_case
    from harness.bisect.run_case import failure_in
    from harness.cases.features import lacking
    from harness.cases.loading import find_instance

    try:
        instance = find_instance(Path(case.file), case.name, case.parameter_id)
    except Exception as error:
        first = (str(error).strip().splitlines() or [""])[0]
        return Cell("refused", "", f"{type(error).__name__}: {first}")
    lacks = lacking(instance.template.needs)
    if lacks:
        return Cell("refused", "", lacks)
    try:
        return cell_of(bisect_case(instance, target, enter_stage=enter_stage))
    except Exception as error:
        failure = failure_in(error, "frontend", "", instance)
        return Cell("refused", "", f"{failure.where}: {failure.message}" if failure.where else failure.message)


def why_unsupported(target: str) -> str:
    """Why no case can be run with the Triton of this process; "" where they can."""
    try:
        from harness.bisect.architectures import check_architecture
        from harness.bisect.capture import gpu_target

        gpu_target(target)
        check_architecture(target)
        import_module("harness.bisect.run")  # last: it imports torch
    except (ImportError, AttributeError, HarnessError) as error:
        return f"{type(error).__name__}: {error}"
    return ""


def answer(request: Request, say: Callable[[dict[str, Any]], None]) -> None:
    """Says what the child has to say: as each case begins, enters a stage, and ends."""
    reason = why_unsupported(request.target)
    if reason:
        say({"unsupported": reason})
        return
    for number, case in enumerate(request.cases):
        say({"begin": number})
        cell = _found(case, request.target, say)
        say({"end": number, **asdict(_without_folder(cell))})


def _found(case: CaseName, target: str, say: Callable[[dict[str, Any]], None]) -> Cell:
    stages = [COLLECT]

    def enter_stage(stage: str) -> None:
        stages.append(stage)
        say({"stage": stage})

    try:
        return find(case, target, enter_stage)
    except SystemExit as error:
        return Cell("died", "", f"the case called sys.exit({error.code!r}) in stage {stages[-1]}", stages[-1])


def _without_folder(cell: Cell) -> Cell:
    return replace(cell, detail=cell.detail.replace(f"{Path.cwd()}{os.sep}", ""))


def main() -> int:
    # Whatever kernels and compilers print goes to stderr: stdout is ours.
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as out:
        os.dup2(2, 1)
        answer(Request.decode(sys.stdin.read()), lambda line: print(json.dumps(line), file=out, flush=True))
    return 0


if __name__ == "__main__":
    leave(main())
