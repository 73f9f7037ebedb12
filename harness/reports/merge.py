"""One record of several: the shards of one run, each on its own machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from harness.errors import UsageError
from harness.gate.gate import GateResult
from harness.reports.record import Comparison, Record, RunInfo, unique_verdicts
from harness.verdicts import differs_across_machines


def merge(records: Sequence[Record]) -> Record:
    """The record of a run whose shards these are, in order; seconds are summed.

    A shard that is void or was interrupted makes the whole so for what it holds. Raises UsageError for
    no records, for two toolchains, and for a case that is in two shards.
    """
    if not records:
        raise UsageError("there is nothing to merge", hint="name the record of each shard")
    first = records[0]
    for record in records[1:]:
        _check_same_toolchain(first, record)
    _check_disjoint(records)
    return Record(
        run=_merged_run(records),
        before=first.before,
        after=first.after,
        seconds=sum(record.seconds for record in records),
        interrupted=any(record.interrupted for record in records),
        void=list(dict.fromkeys(reason for record in records for reason in record.void)),
        troubles=[trouble for record in records for trouble in record.troubles],
        notes=[note for record in records for note in record.notes],
        verdicts=unique_verdicts(verdict for record in records for verdict in record.verdicts),
        comparison=_merged_comparison(records),
        gate=_merged_gate(records),
    )


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
