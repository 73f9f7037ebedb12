"""When the gate is red, and why."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.cases.evidence import Evidence, Failure
from harness.gate import PROBLEM_KINDS, Gate, Scope
from harness.reports.summary import gate_headline
from harness.verdicts import ABSENT, classify, voided

A, B, C = "k/a.py::a[npu-1]", "k/b.py::b[npu-1]", "k/c.py::c[npu-1]"


def gate_of(tmp_path, *lines: str) -> Gate:
    path = tmp_path / "allowlist.txt"
    path.write_text("\n".join(lines) + "\n")
    return Gate.load(path)


def problems(gate: Gate, verdicts, scope: Scope | None = None, strict: bool = False) -> list[tuple[str, str, int]]:
    result = gate.check(verdicts, scope or Scope.of_verdicts(verdicts), strict=strict)
    assert {problem.kind for problem in result.problems} <= set(PROBLEM_KINDS)
    return [(problem.kind, problem.case, problem.line) for problem in result.problems]


def test_green_when_every_line_holds(tmp_path, verdict):
    gate = gate_of(tmp_path, A, f"{B} fails race: known")
    result = gate.check([verdict(A), verdict(B, "race")], Scope(frozenset({A, B})))
    assert result.is_green
    assert (result.gated, result.known_failures) == (2, [B])


@pytest.mark.parametrize(
    ("line", "made", "kind"),
    [
        (A, {"bucket": "race"}, "failed"),
        (A, {"bucket": "refused", "outcome": "refused"}, "failed"),
        (A, {"outcome": "skip"}, "failed"),
        (A, {"simulated": False}, "unearned"),
        (A, {"bucket": "void", "outcome": "void"}, "void"),
        (f"{A} fails race: x", {}, "fixed"),
        (f"{A} fails race: x", {"bucket": "wrong-values"}, "moved"),
        (f"{A} fails race: x", {"bucket": "void", "outcome": "void"}, "void"),
        (f"{A} fails race: x", {"outcome": "skip"}, "moved"),
        (f"{A} fails race at simulate: x", {"bucket": "race", "stage": "compare"}, "moved"),
    ],
)
def test_red_where_a_case_does_other_than_its_line(tmp_path, verdict, line, made, kind):
    assert problems(gate_of(tmp_path, line), [verdict(A, **made)]) == [(kind, A, 1)]


def test_red_where_a_part_of_the_run_is_missing_and_no_line_is_called_stale(tmp_path, verdict):
    scope = Scope.of_verdicts([verdict(A)], [("Shard 2/2", "has no record")])
    assert problems(gate_of(tmp_path, A, B), [verdict(A)], scope) == [("not-run", "Shard 2/2", 0)]


def test_a_failure_that_moved_to_a_later_stage_is_no_progress(tmp_path, verdict):
    gate = gate_of(tmp_path, f"{A} fails compiler-crash at tt-pass: x")
    result = gate.check([verdict(A, "wrong-values")], Scope(frozenset({A})))
    assert [problem.kind for problem in result.problems] == ["moved"]
    assert "moved from compiler-crash at tt-pass to wrong-values at compare" in result.problems[0].message


def test_a_known_refusal_is_a_known_failure(tmp_path, verdict):
    gate = gate_of(tmp_path, f"{A} fails refused: too large")
    assert problems(gate, [verdict(A, "refused", outcome="refused")]) == []


def test_real_hardware_owes_no_simulation(tmp_path, verdict):
    on_gpu = replace(verdict(A, simulated=False), target="gpu")
    assert problems(gate_of(tmp_path, A), [on_gpu]) == []


def test_a_listed_case_without_a_verdict_is_red(tmp_path, verdict):
    scope = Scope(frozenset({A, B}))
    assert problems(gate_of(tmp_path, A, B), [verdict(A)], scope) == [("not-run", B, 2)]


def test_a_line_that_matches_nothing_is_red(tmp_path, verdict):
    assert problems(gate_of(tmp_path, A, B, "k/none/*"), [verdict(A)]) == [("stale", B, 2), ("stale", "k/none/*", 3)]


@pytest.mark.parametrize(
    "scope",
    [
        Scope(frozenset({A, B}), selected=frozenset({A})),  # -k, or a shard
        Scope(frozenset({A}), whole=False),  # a path
    ],
)
def test_lines_outside_the_selection_are_not_judged(tmp_path, verdict, scope):
    result = gate_of(tmp_path, A, B).check([verdict(A)], scope)
    assert result.is_green
    assert (result.gated, result.out_of_scope) == (1, 1)


def test_deselecting_does_not_hide_a_line_that_matches_nothing(tmp_path, verdict):
    scope = Scope(frozenset({A, B}), selected=frozenset({A}))
    assert problems(gate_of(tmp_path, A, B, C), [verdict(A)], scope) == [("stale", C, 3)]


def test_lines_of_a_target_that_did_not_run_are_not_judged(tmp_path, verdict):
    scope = Scope(frozenset({A}), targets=frozenset({"npu"}))
    gate = gate_of(tmp_path, A, "k/a.py::a[gpu-1]", "k/b.py::*[cuda:80-*]")
    assert problems(gate, [verdict(A)], scope) == []


def test_a_line_written_twice_is_red(tmp_path, verdict):
    assert problems(gate_of(tmp_path, A, "# between", A), [verdict(A)]) == [("twice", A, 3)]


def test_two_lines_that_expect_different_things_are_red(tmp_path, verdict):
    gate = gate_of(tmp_path, "k/*", f"{A} fails race: x")
    assert ("conflict", A, 1) in problems(gate, [verdict(A, "race"), verdict(B)])


def test_a_pattern_and_a_line_that_agree_are_fine(tmp_path, verdict):
    assert problems(gate_of(tmp_path, "k/*", A), [verdict(A), verdict(B)]) == []


def test_cases_off_the_list_are_reported_and_not_gated(tmp_path, verdict):
    verdicts = [verdict(A), verdict(B, "race"), verdict(C)]
    result = gate_of(tmp_path, A).check(verdicts, Scope.of_verdicts(verdicts))
    assert result.is_green
    assert (result.candidates, result.unlisted_failures) == ([C], [B])
    assert problems(gate_of(tmp_path, A), verdicts, strict=True) == [("unlisted", B, 0), ("unlisted", C, 0)]


def test_a_void_run_is_never_green(tmp_path, verdict):
    assert problems(gate_of(tmp_path, A), [voided(verdict(A), ["triton changed"])]) == [("void", A, 1)]


def test_an_empty_list_proves_nothing(tmp_path, verdict):
    gate = gate_of(tmp_path, "# nothing yet")
    assert problems(gate, [verdict(A)]) == [("empty", gate.path, 0)]
    assert problems(gate, []) == []


def test_what_this_release_has_nothing_to_run_of_is_excused_and_a_skip_by_hand_is_not(tmp_path, verdict):
    gate = gate_of(tmp_path, A, f"{B} fails race: x", C)
    verdicts = [
        classify(Evidence(case, "npu", failure=Failure("collect", kind, "Triton 3.9.0 has no tl.make_block_ptr")))
        for case, kind in ((A, ABSENT), (B, ABSENT), (C, "Skipped"))
    ]
    result = gate.check(verdicts, Scope.of_verdicts(verdicts))
    assert [(problem.kind, problem.case) for problem in result.problems] == [("failed", C)]
    assert (result.absent, result.gated) == ([A, B], 1)
    assert "2 skipped cases excused" in gate_headline(result)


def test_the_headline_says_what_was_not_judged(tmp_path, verdict):
    gate = gate_of(tmp_path, A, "k/none.py::*")
    result = gate.check([verdict(B, "race"), verdict(C, "race")], Scope(frozenset({B, C}), whole=False))
    assert gate_headline(result) == (
        f"gate green, 0 cases held to {gate.path}, 2 cases off the list failed, not gated,"
        " 0 of 2 lines apply to what was run"
    )
