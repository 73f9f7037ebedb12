"""What every output says, worked out once: counts, failures by bucket, gate lines, changes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from harness.cases.evidence import Verdict
from harness.gate.gate import GateResult
from harness.reports.record import Comparison, Record
from harness.reports.stage_table import stage_counts
from harness.reports.words import plural
from harness.verdicts.buckets import BUCKETS, Bucket

_MOST_REASONS = 10
_UNCOUNTABLE = ("fixed", "moved", "gone")
_COUNTED = (("pass", "passed"), ("fail", "failed"), ("refused", "refused"), ("void", "void"), ("skip", "skipped"))


@dataclass(frozen=True)
class BucketGroup:
    """The verdicts of one bucket, refused and void ones too."""

    bucket: Bucket
    verdicts: tuple[Verdict, ...]


def counts(record: Record) -> list[tuple[str, int]]:
    """(word, how many): passed, failed, refused and void always, skipped where there are any."""
    found = Counter(verdict.outcome for verdict in record.verdicts)
    return [(word, found[outcome]) for outcome, word in _COUNTED if found[outcome] or outcome != "skip"]


def headline(record: Record) -> str:
    """One line: `341 passed, 3 failed, 6 refused, 0 void of 350 cases in 92.1 s`; no time of a run that died."""
    numbers = ", ".join(f"{count} {word}" for word, count in counts(record))
    took = f" in {record.seconds:.1f} s" if record.seconds else ""
    return f"{numbers} of {plural(len(record.verdicts), 'case')}{took}"


def by_bucket(record: Record) -> list[BucketGroup]:
    """Non-passing verdicts in the order of the bucket table; empty buckets are left out."""
    groups = []
    for bucket in BUCKETS:
        verdicts = tuple(v for v in record.verdicts if v.bucket == bucket.name)
        if verdicts:
            groups.append(BucketGroup(bucket, verdicts))
    return groups


def failures(record: Record) -> list[Verdict]:
    """Verdicts a person must look at, those listed as known failures left out."""
    known = set(record.gate.known_failures) if record.gate else set()
    return [verdict for verdict in record.verdicts if verdict.is_failure and verdict.case not in known]


def warnings(record: Record) -> list[str]:
    """Sentences that qualify everything below them."""
    found = [f"The run is void: {reason} while it ran." for reason in record.void]
    found += [f"Not written: {trouble}" for trouble in record.troubles]
    if record.interrupted:
        found.append("The run ended early: what is below is only what had finished.")
    return found + record.notes


def buffers_compared(record: Record) -> tuple[int, int]:
    """(compared, not compared) over all cases."""
    buffers = [buffer for verdict in record.verdicts for buffer in verdict.evidence.buffers]
    compared = sum(buffer.compared for buffer in buffers)
    return compared, len(buffers) - compared


def skips(record: Record) -> list[str]:
    """`16 skipped: Triton 3.9.0 has no tl.make_block_ptr`: every skipped case, by its reason; the most common first."""
    reasons = Counter(
        verdict.summary or "no reason is given" for verdict in record.verdicts if verdict.outcome == "skip"
    )
    lines = [f"{count} skipped: {reason}" for reason, count in reasons.most_common(_MOST_REASONS)]
    others = len(reasons) - len(lines)
    if others <= 0:
        return lines
    rest = sum(count for _, count in reasons.most_common()[_MOST_REASONS:])
    return [*lines, f"{rest} skipped for {plural(others, 'other reason')}"]


def facts(record: Record) -> list[str]:
    """What else the headline owes: skipped cases with their reason, and stages, where a target has them."""
    return skips(record) + stage_counts(record.verdicts)


def gate_headline(gate: GateResult) -> str:
    """One line: `gate green, 340 cases held to allowlist.txt, 2 known failures`."""
    colour = "green" if gate.is_green else f"RED: {plural(len(gate.problems), 'problem')}"
    facts = [f"gate {colour}", f"{plural(gate.gated, 'case')} held to {gate.allowlist}"]
    if gate.known_failures:
        facts.append(plural(len(gate.known_failures), "known failure"))
    if gate.absent:
        facts.append(f"{plural(len(gate.absent), 'skipped case')} excused")
    if gate.unlisted_failures and not gate.strict:
        facts.append(f"{plural(len(gate.unlisted_failures), 'case')} off the list failed, not gated")
    if gate.out_of_scope:
        applying = max(0, gate.lines - gate.out_of_scope)
        facts.append(f"{applying} of {gate.lines} lines apply to what was run")
    return ", ".join(facts)


def gate_lines(gate: GateResult) -> list[str]:
    """A line for each problem: place, case, what is wrong and what to do. Those of a void run are one."""
    void = [problem for problem in gate.problems if problem.kind == "void"]
    lines = [f"{len(void)} listed cases prove nothing, such as {void[0].case}"] if len(void) > 1 else []
    for problem in gate.problems:
        if problem.kind == "void" and len(void) > 1:
            continue
        place = f"{gate.allowlist}:{problem.line}: " if problem.line else ""
        lines.append(f"{place}{problem.case} {problem.message}")
    return lines


def change_lines(comparison: Comparison | None) -> list[tuple[str, list[str]]]:
    """(`2 new failures`, their lines) and so on, of what changed since the last report; no empty groups."""
    if comparison is None:
        return []
    groups = [
        ("new failure", [f"{change.case}: {change.before} -> {change.after}" for change in comparison.new_failures]),
        ("fixed", [f"{change.case}: {change.before} -> {change.after}" for change in comparison.fixed]),
        ("moved", [f"{change.case}: {change.before} -> {change.after}" for change in comparison.moved]),
        ("new case", comparison.added),
        ("gone", comparison.gone),
    ]
    return [(_titled(title, len(lines)), lines) for title, lines in groups if lines]


def _titled(title: str, count: int) -> str:
    return f"{count} {title}" if title in _UNCOUNTABLE else plural(count, title)


def capped(lines: list[str], most: int) -> list[str]:
    """The first `most` lines, and how many more there were."""
    if len(lines) <= most:
        return lines
    return [*lines[:most], f"... and {len(lines) - most} more"]
