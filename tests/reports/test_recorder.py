"""The report folder over several runs: failures, changes, the gate, and what is kept of a run that died."""

from __future__ import annotations

import json

import pytest

from harness.errors import UsageError
from harness.gate import Gate, Scope
from harness.reports import Record, Recorder, RunInfo, load_report
from harness.reports.summary import headline
from harness.verdicts import Fingerprint

A, B, C = "k/a.py::a[npu-1]", "k/b.py::b[npu-1]", "k/c.py::c[npu-1]"


@pytest.fixture
def run(tmp_path, verdict, fingerprint):
    """Records a run of the cases given, each with its bucket or ""; returns its record."""

    def record(buckets: dict[str, str], finish: bool = True, after: Fingerprint = fingerprint, **options) -> Record:
        taken = iter((fingerprint, after))
        recorder = Recorder.start(tmp_path / "report", RunInfo(("pytest",), ("npu",)), lambda: next(taken))
        for case, bucket in buckets.items():
            recorder.add(verdict(case, bucket))
        return recorder.finish(**options) if finish else load_report(tmp_path / "report")

    return record


def test_every_output_is_written_and_the_record_reads_back(run, tmp_path):
    record = run({A: "", B: "race"})
    folder = tmp_path / "report"
    outputs = {"record.json", "journal.jsonl", "summary.md", "junit.xml", "index.html", "failures", "baseline.json"}
    assert {path.name for path in folder.iterdir()} == {*outputs, ".gitignore"}
    assert load_report(folder).to_json() == record.to_json()
    assert record.comparison is None


def test_changes_are_per_case_and_survive_a_run_of_a_few(run):
    run({A: "", B: "race", C: ""})
    run({A: ""})
    comparison = run({A: "race", B: "", C: ""}).comparison
    assert comparison is not None
    assert [change.case for change in comparison.new_failures] == [A]
    assert [change.case for change in comparison.fixed] == [B]
    assert (comparison.moved, comparison.added, comparison.gone) == ([], [], [])


def test_a_failure_in_another_bucket_is_moved_and_not_fixed(run):
    run({A: "compiler-crash"})
    comparison = run({A: "wrong-values"}).comparison
    assert comparison is not None
    change = comparison.moved[0]
    assert (change.before, change.after) == ("compiler-crash at compare", "wrong-values at compare")
    assert not comparison.fixed and not comparison.new_failures


def test_only_a_whole_run_can_say_that_a_case_is_gone(run):
    run({A: "", B: ""})
    few = run({A: ""}, scope=Scope(frozenset({A}), whole=False)).comparison
    assert few is not None and few.gone == []
    without_models = run({A: ""}, scope=Scope(frozenset({A}), left_out=(B.partition("::")[0],))).comparison
    assert without_models is not None and without_models.gone == []
    whole = run({A: ""}, scope=Scope(frozenset({A}))).comparison
    assert whole is not None and whole.gone == [B]
    again = run({A: "", C: "race"}, scope=Scope(frozenset({A, C}))).comparison
    assert again is not None
    assert (again.gone, again.added, [change.before for change in again.new_failures]) == ([], [C], ["new"])


def test_a_void_run_is_not_compared_with(run):
    run({A: ""})
    void = run({A: "race"}, after=Fingerprint())
    assert void.void == ["triton changed from 3.7.1 to missing", "machine changed from a box to missing"]
    assert [one.outcome for one in void.verdicts] == ["void"]
    assert void.comparison is not None and void.comparison.is_empty
    after = run({A: ""}).comparison
    assert after is not None and after.is_empty


def test_a_run_that_died_is_reported_and_compared_with(run):
    dead = run({A: "", B: "race"}, finish=False)
    assert (len(dead.verdicts), dead.interrupted) == (2, True)
    comparison = run({A: "race", B: "race"}).comparison
    assert comparison is not None
    assert [change.case for change in comparison.new_failures] == [A]


def test_a_run_that_died_leaves_nothing_of_the_one_before_to_be_taken_for_it(run, tmp_path):
    run({A: "", B: "race"})
    dead = run({A: "race"}, finish=False)
    assert {path.name for path in (tmp_path / "report").iterdir()} == {
        *("journal.jsonl", "baseline.json", "failures", ".gitignore")
    }
    assert headline(dead) == "0 passed, 1 failed, 0 refused, 0 void of 1 case"


def test_the_gate_is_part_of_the_record(run, tmp_path):
    (tmp_path / "allowlist.txt").write_text(f"{A}\n")
    gate = Gate.load(tmp_path / "allowlist.txt")
    record = run({A: "race", B: ""}, gate=gate)
    assert record.gate is not None
    assert [problem.kind for problem in record.gate.problems] == ["failed"]
    assert record.gate.candidates == [B]


def test_failure_folders_are_this_runs_and_nothing_else_is_removed(run, tmp_path):
    run({A: "race", B: "race"})
    mine = tmp_path / "report" / "failures" / "mine"
    mine.mkdir()
    (mine / "notes.txt").write_text("keep")
    record = run({A: "race", B: ""})
    folder = record.verdicts[0].evidence.artifacts
    assert {f"failures/{path.name}" for path in (tmp_path / "report" / "failures").iterdir()} == {
        folder,
        "failures/mine",
    }


def test_a_failure_folder_holds_what_a_person_needs(tmp_path, verdict):
    from_case = tmp_path / "from-case"
    from_case.mkdir()
    (from_case / "kernel.py").write_text("the kernel")
    failed = verdict(A, "race")
    failed.evidence.artifacts = str(from_case)
    recorder = Recorder.start(tmp_path / "report", RunInfo(("pytest",), ("npu",), rerun=("--checks=full",)))
    recorded = recorder.add(failed)
    folder = tmp_path / "report" / recorded.evidence.artifacts
    assert (folder / "kernel.py").read_text() == "the kernel"
    error = (folder / "error.txt").read_text()
    assert all(text in error for text in ("said <twice>", "at k.py:3", "next step: ", "--checks=full", "Trace"))
    assert (folder / "rerun.sh").read_text().endswith(f"\npython -m pytest --checks=full '{A}'\n")
    assert json.loads((folder / "verdict.json").read_text())["bucket"] == "race"
    assert json.loads((folder / "versions.json").read_text())["triton"]
    assert not from_case.exists()


def test_a_folder_it_makes_is_hidden_from_git_and_one_that_was_there_is_not(tmp_path):
    for folder in (tmp_path / ".harness/report", tmp_path):
        Recorder.start(folder, RunInfo())
    assert (tmp_path / ".harness/.gitignore").read_text().splitlines()[-1] == "*"
    assert not (tmp_path / ".harness/report/.gitignore").exists() and not (tmp_path / ".gitignore").exists()


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot write the report folder"):
        Recorder.start(tmp_path / "file" / "report", RunInfo())


def test_what_cannot_be_written_is_said_and_costs_nothing_else(tmp_path, verdict, fingerprint):
    recorder = Recorder.start(tmp_path, RunInfo(), lambda: fingerprint)
    (tmp_path / "failures").write_text("in the way")
    (tmp_path / "index.html").mkdir()
    recorder.add(verdict(A, "race"))
    recorder.add(verdict(B))
    record = recorder.finish()
    assert [one.case for one in load_report(tmp_path).verdicts] == [A, B]
    assert "failures" in record.troubles[0] and "index.html" in record.troubles[1]


def test_a_record_of_another_version_does_not_stop_a_run(run, tmp_path):
    run({A: ""})
    (tmp_path / "report" / "record.json").write_text('{"schema": 99}')
    assert run({A: ""}).comparison is not None
