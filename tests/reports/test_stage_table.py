"""The table of stages and their count over a run."""

from __future__ import annotations

from harness.cases.evidence import Evidence, LaunchEvidence, StageEvidence
from harness.reports.stage_table import stage_counts, stage_table
from harness.verdicts import classify

LAUNCH = LaunchEvidence("kernel", (4, 1, 1), 4, simulated=True)


def row(number: int, verdict: str = "match", passes: int = 1, reason: str = "", blocker: str = "") -> StageEvidence:
    after = f"pass-{number - 1}" if number else ""
    return StageEvidence(0, "ttgir", number, after, tuple("p" * passes), verdict, reason, blocker)


def test_one_stage_is_not_several() -> None:
    assert stage_table(evidence(row(0)))[0] == "kernel on cuda:90, grid 4x1x1: 1 stage (1 match)"
    assert stage_counts([classify(evidence(row(0)))]) == ["stages: 1 executed (1 program), 0 not executed"]


def evidence(*rows: StageEvidence) -> Evidence:
    return Evidence("f.py::f[cuda:90]", "cuda:90", "compare", launches=[LAUNCH], stages=list(rows))


def test_long_runs_of_matching_rows_are_folded_and_the_rest_is_shown() -> None:
    rows = [row(number) for number in range(40)]
    rows[30] = row(30, "not executed", reason="unsupported op a.b", blocker="a.b")
    lines = stage_table(evidence(*rows))
    assert lines[0] == "kernel on cuda:90, grid 4x1x1: 40 stages (39 match, 1 not executed)"
    assert len(lines) == 12
    assert "not executed: unsupported op a.b" in "\n".join(lines)
    assert "26 more stages, all match" in lines[3]
    assert len(stage_table(evidence(*rows), every=True)) == 41


def test_what_one_row_says_the_next_does_not_repeat() -> None:
    rows = [row(0), row(1, "differs", 2, reason="y: wrong"), row(3, "differs", reason="y: wrong")]
    assert "\n".join(stage_table(evidence(*rows))).count("y: wrong") == 1


def test_the_stages_of_a_run_are_counted_by_what_was_not_executed() -> None:
    rows = [
        row(0, passes=10),
        row(10, "not executed", 3, blocker="a.b"),
        row(13, "not executed", blocker="c.d of a kind"),
    ]
    (line,) = stage_counts([classify(evidence(*rows)), classify(evidence(row(0)))])
    assert line == "stages: 11 executed (2 programs), 4 not executed (a.b 3, c.d 1)"
    assert stage_counts([classify(Evidence("f.py::f[npu]", "npu"))]) == []


def test_a_case_passes_only_by_executed_stages_of_the_last_pipeline() -> None:
    verdict = classify(evidence(row(0, "not executed", reason="unsupported op a.b", blocker="a.b")))
    assert (verdict.outcome, verdict.bucket) == ("fail", "not-simulated")
    assert "no stage of ttgir of kernel was executed: unsupported op a.b" in verdict.summary


def test_a_target_without_stages_has_no_table() -> None:
    """A launch on the simulated NPU says nothing of a pipeline."""
    assert stage_table(evidence()) == []
