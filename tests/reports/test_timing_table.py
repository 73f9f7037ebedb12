"""The table of cycles at the end of a run."""

from __future__ import annotations

from dataclasses import replace

from harness.cases.evidence import LaunchEvidence, TimingEvidence
from harness.reports.timing_table import timing_lines


def _record(record, *timings: TimingEvidence | None):
    launches = [LaunchEvidence("k", (1, 1, 1), 1, simulated=True, timing=timing) for timing in timings]
    verdict = record.verdicts[0]
    return replace(record, verdicts=[replace(verdict, evidence=replace(verdict.evidence, launches=launches))])


def test_nothing_timed_is_no_table(record):
    assert timing_lines(_record(record, None)) == []


def test_the_longest_launch_comes_first_and_what_is_not_known_is_counted(record):
    busy = {"dma in": 0.5}
    short = TimingEvidence("tiny", 100, 1e-6, busy, 4000, 2000, 0, "dram", 0.25)
    long = TimingEvidence("tiny", 2000, 2e-5, busy, 8, 8, 0, "vector", 1.0)
    lines = timing_lines(_record(record, short, long, TimingEvidence("tiny", reason="k.py:3: a loop")))
    assert lines[0] == "2 launches on tiny: 2100 cycles, 21 us; without cycles: 1, for a reason that the report has"
    assert [line.split()[0] for line in lines[1:]] == ["cycles", "2000", "100"]
    assert "25%" in lines[3] and "4 kB" in lines[3] and "dram" in lines[3]
