"""Shards of one run become one record."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.errors import UsageError
from harness.gate import GateResult, Problem
from harness.reports import Change, Comparison, Record
from harness.reports.merge import merge
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
