"""A failed case in words: what pytest prints under its name, and what its folder holds."""

from __future__ import annotations

from harness import errors
from harness.cases.evidence import BufferEvidence, Finding, Verdict
from harness.reports import user_frames
from harness.reports.stage_table import stage_table
from harness.verdicts.buckets import bucket_named
from harness.verdicts.classify import LIT
from harness.verdicts.next_step import next_step

_LOG_LINES = 12
_REPORT_LINES = 60


def failure_text(verdict: Verdict, verbose: bool = False) -> str:
    """Bucket, owner, stage, what differs and where, and the next step; with `verbose` traceback and log in full."""
    bucket = bucket_named(verdict.bucket)
    evidence = verdict.evidence
    measured = [line for buffer in evidence.buffers for line in _buffer(buffer)]
    measured += [line for finding in evidence.findings for line in _finding(finding)]
    # The summary of a mismatch or a finding says again what stands here.
    head = _failure(verdict) if evidence.failure or not measured else []
    return "\n".join(
        [
            f"{verdict.bucket} at {verdict.stage} (owner: {bucket.owner})",
            *(f"  {line}" for line in head),
            *measured,
            *(f"  {line}" for line in stage_table(evidence, verbose)),
            *_trace(verdict, verbose),
            *_log(verdict, verbose),
            "",
            f"next step: {next_step(verdict)}",
        ]
    )


def _failure(verdict: Verdict) -> list[str]:
    """The summary, and below it what of the message did not fit into one line."""
    message = verdict.evidence.failure.message if verdict.evidence.failure else ""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    return [verdict.summary, *(line for line in lines if line not in verdict.summary)]


def _buffer(buffer: BufferEvidence) -> list[str]:
    mismatch = buffer.mismatch
    if mismatch is None:
        return []
    shape = "x".join(map(str, buffer.shape)) or "scalar"
    writers = ", ".join(map(str, mismatch.writers))
    lines = [
        f"  {buffer.name} ({buffer.dtype} {shape}, {buffer.role}): {mismatch.wrong} of {mismatch.total} differ"
        f" ({mismatch.error_shape}); tolerance {buffer.tolerance}",
        f"    first at {list(mismatch.first_index)}: got {mismatch.got}, want {mismatch.want}",
        f"    largest error: {mismatch.max_absolute:g} absolute, {mismatch.max_relative:g} relative,"
        f" {mismatch.max_ulp:g} ulp",
    ]
    lines += [f"    written by programs {writers}"] if writers else []
    return lines + ([f"    {buffer.reason}"] if buffer.reason else [])


def _finding(finding: Finding) -> list[str]:
    places = " and ".join(str(place) for place in (finding.where, finding.other) if place)
    return [f"  {finding.kind}: {finding.message}" + (f"\n    at {places}" if places else "")]


def _trace(verdict: Verdict, verbose: bool) -> list[str]:
    """The traceback of an error that is not the harness's own: those say all there is to say."""
    failure = verdict.evidence.failure
    if failure is None or not failure.traceback or (hasattr(errors, failure.kind) and not verbose):
        return []
    trace = failure.traceback if verbose else user_frames.of_traceback(failure.traceback)
    # Without the lines of carets under the code.
    lines = [line for line in trace.rstrip().splitlines() if line.strip("^~ ")]
    return ["", *(lines if verbose else lines[-_LOG_LINES:])]


def _log(verdict: Verdict, verbose: bool) -> list[str]:
    failure = verdict.evidence.failure
    if failure is None:
        return []
    # Where a case hangs in the harness, the harness's frames say nothing; where it dies in it, they do.
    log = failure.log if verbose else user_frames.of_dump(failure.log, others=failure.kind != "Timeout")
    lines = log.rstrip().splitlines()
    if not log.strip():
        return []
    if failure.kind == "CheckFailed":  # FileCheck's report: the nearest match, and the input around it
        return ["", *(lines if verbose else lines[:_REPORT_LINES])]
    if verdict.target == LIT:  # MLIR's first words count; what follows them is the whole module again
        return ["", "first lines of its stderr:", *(lines if verbose else lines[:_LOG_LINES])]
    return ["", "last lines of its stderr:", *(lines if verbose else lines[-_LOG_LINES:])]
