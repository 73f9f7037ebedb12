"""From evidence to verdict. The first cause wins; a pass must be earned.

In order: the typed failure; text patterns over the log of an untyped one; what the checks found;
buffers that differ; and last, whether a run in which nothing went wrong has shown anything.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from harness.cases.evidence import BufferEvidence, Evidence, Failure, Finding, Verdict
from harness.verdicts.kinds import bucket_of_kind, bucket_of_stage
from harness.verdicts.patterns import PatternTable, standard_patterns

# Where lit cases run: they compile, and launch nothing.
LIT = "lit"

# Targets whose launches real hardware or Triton's interpreter runs, so that none is simulated; and where there is none.
UNSIMULATED_TARGETS = frozenset({"gpu", "interpreter", "lit"})

# The kind of a "failure" that is none: there is nothing to run here. With its colon it is no exception's name, so
# that no case can claim it by what it raises.
ABSENT = "Absent:"

# Findings by how much they explain: a race also shows as a read of unwritten memory, and so on down.
_FINDING_ORDER = ("not-simulated", "race", "wrote-outside", "uninitialised-read", "input-changed")

_OUTCOME_OF_BUCKET = {"refused": "refused", "void": "void"}


class _Cause(NamedTuple):
    outcome: str
    stage: str
    bucket: str
    summary: str


def classify(evidence: Evidence, patterns: PatternTable | None = None) -> Verdict:
    """The verdict on one run of one case. Total: any evidence gives a verdict, and never a pass by default."""
    table = patterns or standard_patterns()
    cause = (
        _from_failure(evidence, table)
        or _from_findings(evidence)
        or _from_mismatches(evidence)
        or _unearned(evidence)
        or _Cause("pass", evidence.stage, "", _pass_summary(evidence))
    )
    return Verdict(
        evidence.case, evidence.target, cause.outcome, cause.stage, cause.bucket, _one_line(cause.summary), evidence
    )


def voided(verdict: Verdict, reasons: Sequence[str]) -> Verdict:
    """The verdict of a run whose toolchain changed under it: void, with what it would have been."""
    was = verdict.bucket or verdict.outcome
    summary = _one_line(f"void ({'; '.join(reasons)}); it would have been: {was}")
    return Verdict(verdict.case, verdict.target, "void", verdict.stage, "void", summary, verdict.evidence)


def is_absent(verdict: Verdict) -> bool:
    """Whether the case has nothing to run in this release of Triton: a skip that nobody has put there by hand."""
    failure = verdict.evidence.failure
    return verdict.outcome == "skip" and failure is not None and failure.kind == ABSENT


def is_simulated(evidence: Evidence) -> bool:
    """Whether at least one launch was simulated in this run; a replay of an earlier result is none."""
    return any(launch.simulated and not launch.replayed for launch in evidence.launches)


def owes_simulation(target: str) -> bool:
    """False for real hardware and Triton's interpreter, which run launches themselves."""
    return target not in UNSIMULATED_TARGETS


def _from_failure(evidence: Evidence, table: PatternTable) -> _Cause | None:
    failure = evidence.failure
    if failure is None:
        return None
    stage = failure.stage or evidence.stage
    if failure.kind in ("Skipped", ABSENT):
        return _Cause("skip", stage, "", failure.message)
    typed = bucket_of_kind(failure.kind, stage)
    # Wrong values are wrong values however noisy the log, and whatever broke while they were written down.
    measured = _from_findings(evidence) or _from_mismatches(evidence)
    if measured and typed in (None, "environment"):
        return measured
    if typed:
        return _Cause(_OUTCOME_OF_BUCKET.get(typed, "fail"), stage, typed, _failure_summary(failure))
    match = table.match((failure.message, failure.log))
    if match is None:
        return _Cause("fail", stage, bucket_of_stage(stage), _failure_summary(failure))
    pattern, line = match
    outcome = _OUTCOME_OF_BUCKET.get(pattern.bucket, "fail")
    return _Cause(outcome, stage, pattern.bucket, f"{_failure_summary(failure)} [log, {pattern.name}: {line}]")


def _from_findings(evidence: Evidence) -> _Cause | None:
    if not evidence.findings:
        return None
    finding = min(evidence.findings, key=_finding_rank)
    more = len(evidence.findings) - 1
    others = f" (and {more} more)" if more else ""
    stage = evidence.changed_by or evidence.stage
    return _Cause("fail", stage, finding.kind, _finding_summary(finding) + others)


def _finding_rank(finding: Finding) -> int:
    if finding.kind in _FINDING_ORDER:
        return _FINDING_ORDER.index(finding.kind)
    return len(_FINDING_ORDER)


def _from_mismatches(evidence: Evidence) -> _Cause | None:
    wrong = [buffer for buffer in evidence.buffers if buffer.mismatch]
    if not wrong:
        return None
    others = f" (and {len(wrong) - 1} more buffers)" if len(wrong) > 1 else ""
    return _Cause("fail", evidence.changed_by or "compare", "wrong-values", _mismatch_summary(wrong[0]) + others)


def _unearned(evidence: Evidence) -> _Cause | None:
    for check in _EARNED_BY_LIT if evidence.target == LIT else _EARNED:
        cause = check(evidence)
        if cause:
            return cause
    return None


def _nothing_launched(evidence: Evidence) -> _Cause | None:
    if evidence.launches:
        return None
    return _Cause("fail", evidence.stage, "not-simulated", "no kernel was launched")


def _nothing_compiled(evidence: Evidence) -> _Cause | None:
    if evidence.commands:
        return None
    return _Cause("fail", evidence.stage, "not-simulated", "no RUN line was run")


def _ran_on_host(evidence: Evidence) -> _Cause | None:
    if not owes_simulation(evidence.target):
        return None
    for launch in evidence.launches:
        if not launch.simulated and not launch.replayed:
            return _Cause("fail", "simulate", "not-simulated", f"{launch.kernel} ran on the host, not the simulator")
    return None


def _no_stage_executed(evidence: Evidence) -> _Cause | None:
    """Of a launch whose pipeline ran to its end, that is: of any other there is a failure."""
    for number, launch in enumerate(evidence.launches):
        stages = [stage for stage in evidence.stages if stage.launch == number]
        last = [stage for stage in stages if stage.pipeline == stages[-1].pipeline]
        if last and all(stage.verdict == "not executed" for stage in last):
            what = f"no stage of {last[-1].pipeline} of {launch.kernel} was executed: {last[-1].reason}"
            return _Cause("fail", "simulate", "not-simulated", what)
    return None


def _only_replayed(evidence: Evidence) -> _Cause | None:
    for launch in evidence.launches:
        if launch.replayed:
            return _Cause("void", "simulate", "void", f"{launch.kernel} was replayed from an earlier result, not run")
    return None


def _stopped_short(evidence: Evidence) -> _Cause | None:
    if evidence.stage == "compare":
        return None
    return _Cause("fail", evidence.stage, "other", f"the run ended in stage {evidence.stage!r} and says no reason")


def _left_uncompared(evidence: Evidence) -> _Cause | None:
    for buffer in evidence.buffers:
        if buffer.role in ("out", "inout") and not (buffer.compared or buffer.waived):
            reason = buffer.reason or "the reference gave no golden for it"
            return _Cause("fail", "compare", "reference", f"{buffer.name} was written and not compared: {reason}")
    if any(buffer.compared for buffer in evidence.buffers):
        return None
    return _Cause("fail", "compare", "reference", "no buffer was compared, so the run proves nothing")


_EARNED: tuple[Callable[[Evidence], _Cause | None], ...] = (
    _nothing_launched,
    _no_stage_executed,
    _ran_on_host,
    _only_replayed,
    _stopped_short,
    _left_uncompared,
)

_EARNED_BY_LIT: tuple[Callable[[Evidence], _Cause | None], ...] = (_nothing_compiled, _stopped_short)


def _failure_summary(failure: Failure) -> str:
    place = f"{failure.where}: " if failure.where else ""
    hint = f" ({failure.hint})" if failure.hint else ""
    return f"{place}{_first_line(failure.message) or failure.kind}{hint}"


def _finding_summary(finding: Finding) -> str:
    places = " and ".join(str(place) for place in (finding.where, finding.other) if place)
    programs = ", ".join(str(program) for program in finding.programs[:2])
    suffix = f" [programs {programs}]" if programs else ""
    return f"{places + ': ' if places else ''}{finding.message}{suffix}"


def _mismatch_summary(buffer: BufferEvidence) -> str:
    mismatch = buffer.mismatch
    assert mismatch is not None
    index = ", ".join(str(i) for i in mismatch.first_index)
    return (
        f"{buffer.name}: {mismatch.wrong} of {mismatch.total} wrong ({mismatch.error_shape}), "
        f"first at [{index}]: got {mismatch.got}, want {mismatch.want}"
    )


def _pass_summary(evidence: Evidence) -> str:
    if evidence.target == LIT:
        return f"{len(evidence.commands)} RUN line(s)"
    compared = sum(buffer.compared for buffer in evidence.buffers)
    programs = sum(launch.programs for launch in evidence.launches)
    return f"{len(evidence.launches)} launch(es), {programs} programs, {compared} buffer(s) compared"


def _first_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0] if lines else ""


def _one_line(text: str, width: int = 300) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= width else flat[: width - 1] + "…"
