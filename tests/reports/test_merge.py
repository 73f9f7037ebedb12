"""Shards of one run become one record."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.errors import UsageError
from harness.gate import GateResult, Problem
from harness.reports import Change, Comparison, Record
from harness.reports.merge import merge, unfinished
from harness.verdicts import Fingerprint, Part


def shards(record: Record) -> list[Record]:
    return [
        replace(record, verdicts=record.verdicts[i::2], run=replace(record.run, shard=f"{i + 1}/2")) for i in (0, 1)
    ]


def test_nothing_is_lost_or_counted_twice(record):
    one, two = shards(record)
    two.void, two.interrupted = ["triton changed"], True
    one.comparison = Comparison(added=["x"])
    two.comparison = Comparison(fixed=[Change("y", "race", "pass")])
    merged = merge([one, two])
    assert {verdict.case for verdict in merged.verdicts} == {verdict.case for verdict in record.verdicts}
    assert (merged.seconds, merged.void, merged.interrupted, merged.run.shard) == (3.0, ["triton changed"], True, "")
    assert merged.comparison is not None
    assert (merged.comparison.added, [change.case for change in merged.comparison.fixed]) == (["x"], ["y"])


def test_gates_are_red_together(record):
    one, two = shards(record)
    stale = Problem("stale", "k/none", 3, "matches no case")
    one.gate = GateResult("allowlist.txt", problems=[stale], gated=1, candidates=["a"])
    two.gate = GateResult("allowlist.txt", problems=[stale], gated=2, candidates=["b"])
    gate = merge([one, two]).gate
    assert gate is not None
    assert (gate.problems, gate.gated, gate.candidates) == ([stale], 3, ["a", "b"])


def test_a_case_in_two_shards_is_an_error(record):
    with pytest.raises(UsageError, match=r"two shards hold k/a\.py"):
        merge([record, record])


def test_two_toolchains_do_not_merge_and_two_machines_do(record):
    one, two = shards(record)
    two.before = Fingerprint({"triton": Part("3.7.1", "abc", "inode 9"), "machine": Part("another", "other")})
    assert merge([one, two])
    two.before = Fingerprint({"triton": Part("3.8.0", "xyz"), "machine": Part("a box", "box")})
    with pytest.raises(UsageError, match=r"triton changed from 3\.7\.1 to 3\.8\.0"):
        merge([one, two])


def test_one_gated_shard_of_two_is_no_gate(record):
    one, two = shards(record)
    one.gate = GateResult("allowlist.txt")
    with pytest.raises(UsageError, match="some shards were gated"):
        merge([one, two])
    with pytest.raises(UsageError, match="nothing to merge"):
        merge([])


def test_a_shard_that_died_or_never_came_is_said(record):
    one, two, three, four = (
        replace(record, verdicts=[], run=replace(record.run, shard=f"{i}/4")) for i in (1, 2, 3, 4)
    )
    assert unfinished([one, two, three, four]) == []
    two.interrupted = True
    assert unfinished([one, two, four]) == [("Shard 2/4", "ended early"), ("Shard 3/4", "has no record")]
    merged = merge([one, four])
    assert (merged.interrupted, merged.notes) == (True, ["Shard 2/4 has no record.", "Shard 3/4 has no record."])


def test_a_run_without_shards_is_whole_unless_it_died(record):
    assert unfinished([record]) == []
    assert unfinished([replace(record, interrupted=True)]) == [("The run", "ended early")]


def test_shards_of_two_splits_do_not_merge(record):
    one, two = shards(record)
    with pytest.raises(UsageError, match="some are shards of 2, some of 3"):
        merge([one, replace(two, run=replace(two.run, shard="2/3"))])
