"""One record of several: the shards of one run, each on its own machine."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import fields

from harness.errors import UsageError
from harness.gate.gate import GateResult
from harness.reports.record import Comparison, Record, RunInfo, unique_verdicts
from harness.verdicts import differs_across_machines


def merge(records: Sequence[Record]) -> Record:
    """The record of a run whose shards these are, in order; seconds are summed.

    A shard that is void, was interrupted or has no record makes the whole so for what it holds. Raises
    UsageError for no records, for two toolchains, for shards of two splits, and for a case that is in two shards.
    """
    if not records:
        raise UsageError("there is nothing to merge", hint="name the record of each shard")
    first = records[0]
    for record in records[1:]:
        _check_same_toolchain(first, record)
    _check_disjoint(records)
    missing = unfinished(records)
    return Record(
        run=_merged_run(records),
        before=first.before,
        after=first.after,
        seconds=sum(record.seconds for record in records),
        interrupted=bool(missing),
        void=list(dict.fromkeys(reason for record in records for reason in record.void)),
        troubles=[trouble for record in records for trouble in record.troubles],
        notes=[note for record in records for note in record.notes] + [f"{part} {what}." for part, what in missing],
        verdicts=unique_verdicts(verdict for record in records for verdict in record.verdicts),
        comparison=_merged_comparison(records),
        gate=_merged_gate(records),
    )


def unfinished(records: Sequence[Record]) -> list[tuple[str, str]]:
    """Which parts of the run are not there to their end, and why: ("Shard 3/4", "has no record").

    Raises UsageError for shards of two splits, such as 1/2 and 2/4.
    """
    splits = [(record, re.fullmatch(r"(\d+)/(\d+)", record.run.shard)) for record in records]
    shards = {int(split[1]): record for record, split in splits if split}
    counts = sorted({int(split[2]) for _, split in splits if split})
    if len(counts) > 1:
        raise UsageError(f"some are shards of {counts[0]}, some of {counts[1]}", hint="merge the shards of one run")
    whole = [("The run", "ended early") for record, split in splits if not split and record.interrupted]
    absent = [index for index in range(1, max(counts, default=0) + 1) if index not in shards]
    early = [index for index, record in shards.items() if record.interrupted]
    reasons = dict.fromkeys(absent, "has no record") | dict.fromkeys(early, "ended early")
    return whole + [(f"Shard {index}/{counts[0]}", reasons[index]) for index in sorted(reasons)]


def _check_same_toolchain(first: Record, other: Record) -> None:
    differing = differs_across_machines(first.before, other.before)
    if differing:
        names = f"shards {first.run.shard or 1} and {other.run.shard or '?'}"
        raise UsageError(f"{names} ran on two toolchains: {'; '.join(differing)}", hint="run them on one")


def _check_disjoint(records: Sequence[Record]) -> None:
    seen: set[tuple[str, str]] = set()
    for record in records:
        for verdict in record.verdicts:
            if (verdict.case, verdict.target) in seen:
                raise UsageError(f"two shards hold {verdict.case}", hint="name each shard's record once")
            seen.add((verdict.case, verdict.target))


def _merged_run(records: Sequence[Record]) -> RunInfo:
    first = records[0].run
    targets = tuple(dict.fromkeys(target for record in records for target in record.run.targets))
    return RunInfo(first.command, targets, min(record.run.started for record in records), first.rerun)


def _merged_comparison(records: Sequence[Record]) -> Comparison | None:
    parts = [record.comparison for record in records if record.comparison]
    if not parts:
        return None
    merged = Comparison()
    for name in (field.name for field in fields(Comparison)):
        getattr(merged, name).extend(item for part in parts for item in getattr(part, name))
    merged.gone = sorted(set(merged.gone))
    return merged


def _merged_gate(records: Sequence[Record]) -> GateResult | None:
    """The shards' own findings together. A line no shard could judge stays unjudged: check the merged
    record against the allowlist again to judge those too."""
    gates = [record.gate for record in records if record.gate]
    if not gates:
        return None
    if len(gates) != len(records):
        raise UsageError("some shards were gated and some were not", hint="pass --gate to the merge instead")
    return GateResult(
        allowlist=gates[0].allowlist,
        strict=any(gate.strict for gate in gates),
        problems=list(dict.fromkeys(problem for gate in gates for problem in gate.problems)),
        gated=sum(gate.gated for gate in gates),
        out_of_scope=min(gate.out_of_scope for gate in gates),
        candidates=[case for gate in gates for case in gate.candidates],
        unlisted_failures=[case for gate in gates for case in gate.unlisted_failures],
        known_failures=[case for gate in gates for case in gate.known_failures],
        absent=[case for gate in gates for case in gate.absent],
        lines=gates[0].lines,
    )
