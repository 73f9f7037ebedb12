"""What executing the stages of a compilation found out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from harness.bisect.stages import Capture, Stage
from harness.cases.evidence import BufferEvidence, Finding
from harness.reports.artifacts import BufferArtifact

Timing = Literal["earliest", "latest"]
Verdict = Literal["match", "differs", "not executed"]


@dataclass(frozen=True)
class StageResult:
    """One module, executed over the whole grid.

    number    of the stage in its capture
    reason    one sentence where the verdict is not "match": the first wrong buffer, the trap, the op without a meaning
    blocker   the op (or type, or attribute) that kept it from being executed
    buffers   compared with the goldens; empty where it was not executed, or stopped
    findings  races and the like, of asynchronous copies too
    trap      the type of the trap that stopped it, such as "OutOfBounds"
    copied    which timing of asynchronous copies the verdict is about: "earliest", "latest"
    same_as   the number of an earlier stage that is the same program (see `program_key`), of which this is the verdict
    """

    number: int
    stage: Stage
    verdict: Verdict
    reason: str = ""
    blocker: str = ""
    buffers: tuple[BufferEvidence, ...] = ()
    findings: tuple[Finding, ...] = ()
    trap: str = ""
    copied: Timing = "earliest"
    same_as: int | None = None
    seconds: float = 0.0


@dataclass(frozen=True)
class Change:
    """The first pass that changed a verdict: it ran on stage `before` and left stage `after` behind. Stages in
    between, if any, were not executed: `suspects` are the passes that may have done it."""

    before: StageResult
    after: StageResult
    suspects: tuple[str, ...]


@dataclass
class LaunchBisection:
    """One launch of the case: its compilation, and a result for each stage."""

    capture: Capture
    grid: tuple[int, int, int]
    results: list[StageResult] = field(default_factory=list)

    def first_change(self) -> Change | None:
        """From the last stage that matched to the first that differs after it; None where there is no such pair."""
        good: StageResult | None = None
        for result in self.results:
            if result.verdict == "match":
                good = result
            elif result.verdict == "differs" and good is not None:
                between = self.capture.stages[good.number : result.number]
                return Change(good, result, tuple(stage.pass_name for stage in between))
        return None

    def count(self, verdict: Verdict) -> int:
        return sum(result.verdict == verdict for result in self.results)


@dataclass
class Bisection:
    """A case on a target. `outcome`: "clean" (every stage executed matches), "found" (a pass changed a buffer, or
    the compiler failed), "undecided" (nothing was executed, or the first stage that was differs already).

    buffers  executes a stage of a launch (by its number) once more, and gives what every buffer held before the
             first launch, holds then, and should hold; without a stage, what it held and should hold
    """

    target: str
    launches: Sequence[LaunchBisection]
    buffers: Callable[[int, StageResult | None], list[BufferArtifact]] = lambda launch, result: []

    @property
    def outcome(self) -> Literal["clean", "found", "undecided"]:
        if any(one.first_change() or one.capture.failure for one in self.launches):
            return "found"
        matched = all(one.count("match") and not one.count("differs") for one in self.launches)
        return "clean" if self.launches and matched else "undecided"
