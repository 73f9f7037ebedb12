"""From a bisection to the evidence of a case: its table of stages, the guilty pass, and what is wrong after it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from harness.bisect.results import Bisection, LaunchBisection, StageResult
from harness.bisect.stages import CompilerFailure
from harness.cases.evidence import Evidence, Failure, LaunchEvidence, StageEvidence
from harness.lit.diagnostics import REPRODUCER_PHRASES, first_diagnostic, is_verifier_message

_LOG_KEPT = 16 * 1024  # characters of the compiler's log, from its end


@dataclass(frozen=True)
class Culprit:
    """What a launch's bisection found first.

    launch   its number
    suspects the passes that may have done it: one, unless stages between were not executed; () where the first stage
             that was executed is wrong already, so that no pass of the pipeline is to blame
    before   the last good stage; None where there is none
    after    the first bad one
    """

    launch: int
    suspects: tuple[str, ...]
    before: StageResult | None
    after: StageResult

    @property
    def changed_by(self) -> str:
        """The suspects in short: `licm`, or `licm..cse` for a run of passes."""
        if len(self.suspects) < 2:
            return "".join(self.suspects)
        return f"{self.suspects[0]}..{self.suspects[-1]}"


def first_culprit(bisection: Bisection) -> Culprit | None:
    """Of the first launch in which a stage is wrong: a buffer differs, the program is stopped, or copies race."""
    for number, one in enumerate(bisection.launches):
        found = _culprit(number, one)
        if found is not None:
            return found
    return None


def _culprit(number: int, one: LaunchBisection) -> Culprit | None:
    good: StageResult | None = None
    for result in one.results:
        if result.verdict == "differs" or result.findings:
            passes = one.capture.stages[good.number : result.number] if good is not None else ()
            return Culprit(number, tuple(stage.pass_name for stage in passes), good, result)
        if result.verdict == "match":
            good = result
    return None


def fill(evidence: Evidence, bisection: Bisection) -> None:
    """Writes into the evidence what was executed, what was compared, and what is wrong."""
    evidence.stage = "compare"
    evidence.launches = [_launch(one) for one in bisection.launches]
    evidence.stages = list(stages_of(bisection))
    culprit = first_culprit(bisection)
    broken = next((one.capture.failure for one in bisection.launches if one.capture.failure), None)
    if culprit is not None:
        evidence.changed_by = culprit.changed_by
        evidence.buffers = list(culprit.after.buffers)
        evidence.findings = list(culprit.after.findings)
    else:
        evidence.buffers = list(_last_compared(bisection))
    if culprit is not None and culprit.after.trap:
        stage = culprit.changed_by or "simulate"
        message = culprit.after.reason.removeprefix(f"{culprit.after.trap}: ")
        evidence.failure = Failure(stage, culprit.after.trap, message)
    elif culprit is None and broken is not None:
        evidence.failure = failure_of(broken)


def failure_of(broken: CompilerFailure) -> Failure:
    """The failure that a pipeline's end stands for, at the pass that was running."""
    stage = broken.pass_name or broken.pipeline
    log = broken.log[-_LOG_KEPT:]
    if broken.signal:
        return Failure(stage, f"Signal:{broken.signal}", broken.what, log=log)
    diagnostic, where = first_diagnostic(broken.log)
    if diagnostic.startswith(REPRODUCER_PHRASES):
        diagnostic = broken.assertion or diagnostic  # MLIR caught a crash, and says no more than that
    kind = "VerifierFailed" if is_verifier_message(diagnostic) else "PassFailed"
    return Failure(stage, kind, diagnostic or broken.what, where, log=log)


def stages_of(bisection: Bisection) -> Iterator[StageEvidence]:
    """The table: modules one after another that are the same program, in the same part of the pipeline, are one row."""
    for launch, one in enumerate(bisection.launches):
        for _, group in groupby(one.results, key=_program):
            yield _row(launch, one, list(group))


def _program(result: StageResult) -> tuple[str, int]:
    return result.stage.pipeline, result.number if result.same_as is None else result.same_as


def _row(launch: int, one: LaunchBisection, results: Sequence[StageResult]) -> StageEvidence:
    first = results[0]
    return StageEvidence(
        launch,
        first.stage.pipeline,
        first.number,
        one.capture.stages[first.number - 1].pass_name if first.number else "",
        tuple(result.stage.pass_name for result in results),
        first.verdict,
        first.reason,
        first.blocker.removeprefix("op "),
        sum(result.seconds for result in results),
    )


def _launch(one: LaunchBisection) -> LaunchEvidence:
    x, y, z = one.grid
    return LaunchEvidence(
        one.capture.kernel,
        one.grid,
        x * y * z,
        simulated=any(result.verdict != "not executed" for result in one.results),
        simulate_seconds=sum(result.seconds for result in one.results),
    )


def _last_compared(bisection: Bisection) -> Iterable:
    for one in reversed(bisection.launches):
        for result in reversed(one.results):
            if result.buffers:
                return result.buffers
    return ()
