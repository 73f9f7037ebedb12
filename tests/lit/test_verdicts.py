"""Lit cases and the verdicts on them: every way to fail has its bucket, its stage and its line."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from harness.cases.lit_case import LitCase
from harness.cases.options import RunOptions
from harness.lit import forked, run_case, tools
from harness.lit.compiler import installed_compiler
from harness.verdicts import is_absent

LOOP = """
tt.func @squares(%a: i32, %n: i32, %p: !tt.ptr<i32>) {
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  scf.for %i = %c0 to %n step %c1 : i32 {
    %square = arith.muli %a, %a : i32
    tt.store %p, %square : !tt.ptr<i32>
  }
  tt.return
}
"""
MOVES = "// CHECK: arith.muli\n// CHECK: scf.for\n"
STAYS = "// CHECK: scf.for\n// CHECK: arith.muli\n"
RUN = "// RUN: triton-opt %s -triton-licm | FileCheck %s\n"
# The inner bound is the outer variable, and the attribute skips the check that forbids to fuse that.
NEST = """
module attributes {"ttg.num-warps" = 4 : i32} {
tt.func @nest(%n: i64, %p: !tt.ptr<i64>) {
  %c0 = arith.constant 0 : i64
  %c1 = arith.constant 1 : i64
  scf.for %i = %c0 to %n step %c1 : i64 {
    scf.for %j = %c0 to %i step %c1 : i64 {
      tt.store %p, %j : !tt.ptr<i64>
    }
  } {"ttg.always-fuse"}
  tt.return
}
}
"""
# tt.load asks for a number of warps, which nobody gave: the compiler aborts.
NO_WARPS = """
tt.func @load(%p: tensor<32x!tt.ptr<f32>>) -> tensor<32xf32> {
  %x = tt.load %p : tensor<32x!tt.ptr<f32>>
  tt.return %x : tensor<32xf32>
}
"""


def test_a_case_that_holds_passes_and_says_what_it_ran(judge):
    verdict = judge(RUN + MOVES + LOOP)
    assert (verdict.outcome, verdict.target, verdict.summary) == ("pass", "lit", "1 RUN line(s)")
    (command,) = verdict.evidence.commands
    assert (command.line, command.tools) == (1, ("triton-opt", "FileCheck"))
    assert command.command == "triton-opt %s -triton-licm | FileCheck %s"
    assert list(verdict.evidence.seconds) == ["opt"]


def test_a_check_that_fails_names_its_line_and_shows_the_nearest_match(judge):
    verdict = judge(RUN + STAYS + LOOP)
    assert (verdict.outcome, verdict.bucket, verdict.stage) == ("fail", "filecheck", "filecheck")
    failure = verdict.evidence.failure
    assert failure is not None and failure.where is not None and failure.where.line == 3
    assert failure.message == "CHECK: expected string not found in input: // CHECK: arith.muli"
    assert "possible intended match" in failure.log or "Input was" in failure.log
    assert "scf.for" in failure.log


def test_what_filecheck_was_given_is_kept_for_a_failure(judge, tmp_path):
    verdict = judge(RUN + STAYS + LOOP, artifacts=str(tmp_path / "kept"))
    folder = Path(verdict.evidence.artifacts)
    assert (folder / "case.mlir").read_text() == RUN + STAYS + LOOP
    assert "scf.for" in (folder / "input-of-0-FileCheck.txt").read_text()
    assert judge(RUN + MOVES + LOOP, artifacts=str(tmp_path / "none")).evidence.artifacts == ""
    assert not (tmp_path / "none").exists()


def test_every_run_line_counts(judge):
    verdict = judge(
        RUN + "// RUN: triton-opt %s | FileCheck %s --check-prefix=PLAIN\n" + MOVES + "// PLAIN: nope\n" + LOOP
    )
    assert verdict.bucket == "filecheck"
    assert len(verdict.evidence.commands) == 2


def test_several_prefixes_and_definitions(judge):
    head = (
        "// DEFINE: %{opt} = triton-opt %s\n"
        "// RUN: %{opt} -triton-licm \\\n"
        "// RUN:   | FileCheck %s --check-prefixes=CHECK,MOVED\n"
        "// RUN: %{opt} > %t && FileCheck %s --check-prefixes=CHECK,PLAIN < %t\n"
        "// CHECK: tt.func\n// MOVED: arith.muli\n// PLAIN: scf.for\n// MOVED: scf.for\n// PLAIN: arith.muli\n"
    )
    assert judge(head + LOOP).outcome == "pass"


def test_ir_that_does_not_verify_names_the_pass_and_the_line(judge):
    flags = "-cse -tritongpu-fuse-nested-loops -canonicalize"
    verdict = judge(f"// RUN: triton-opt %s {flags} | FileCheck %s\n{NEST}")
    assert (verdict.bucket, verdict.stage) == ("verifier", "tritongpu-fuse-nested-loops")
    assert verdict.summary.endswith("case.mlir:7:3: operand #0 does not dominate this use")


def test_a_compiler_that_aborts_names_the_pass_and_the_reason(judge):
    verdict = judge("// RUN: triton-opt %s -cse -tritongpu-coalesce -canonicalize | FileCheck %s\n" + NO_WARPS)
    assert (verdict.bucket, verdict.stage) == ("compiler-crash", "tritongpu-coalesce")
    assert "ended by SIGABRT in tritongpu-coalesce: failed to lookup the number of warps" in verdict.summary


def test_a_compiler_that_segfaults_costs_its_case_alone(judge, monkeypatch):
    monkeypatch.setattr(forked, "_opt", lambda request, phases: os.kill(os.getpid(), signal.SIGSEGV))
    verdict = judge(RUN + MOVES + LOOP)
    assert (verdict.outcome, verdict.bucket, verdict.stage) == ("fail", "compiler-crash", "opt")
    assert "the compiler ended by SIGSEGV in opt" in verdict.summary


@pytest.mark.parametrize(
    ("command", "ends"),
    [
        ("not triton-opt %s -tritongpu-fuse-nested-loops", "pass"),
        ("not triton-opt %s", "filecheck"),
        ("not triton-opt %s -tritongpu-coalesce", "compiler-crash"),
        ("not --crash triton-opt %s -tritongpu-coalesce", "pass"),
        ("not --crash triton-opt %s -tritongpu-fuse-nested-loops", "filecheck"),
        ("not --crash triton-opt %s", "filecheck"),
        ("not triton-opt %s -tritongpu-fuse-nested-loops 2>&1 | FileCheck %s", "pass"),
        ("triton-opt %s | not FileCheck %s --check-prefix=NEVER", "pass"),
        ("triton-opt %s | not FileCheck %s --check-prefix=STORE", "filecheck"),
        ("triton-opt %s | grep tt.store | count 1", "pass"),
        ("triton-opt %s | count 1", "filecheck"),
        ("false || triton-opt %s", "pass"),
        ("false && triton-opt %s", "filecheck"),
        ("env A=b not triton-opt %s -tritongpu-fuse-nested-loops", "pass"),
        ("A=b triton-opt %s", "pass"),
        ("env A=b", "pass"),
        ("triton-opt %s -o %t && FileCheck %s --check-prefix=STORE --input-file=%t", "pass"),
    ],
)
def test_commands(judge, command, ends):
    checks = "// CHECK: does not dominate\n// STORE: tt.store\n// NEVER: no such text\n"
    text = NEST if "coalesce" not in command else NO_WARPS
    verdict = judge(f"// RUN: {command}\n{checks}{text}")
    assert (verdict.bucket or verdict.outcome) == ends


def test_a_file_of_several_files(judge):
    head = "// RUN: split-file %s %t\n// RUN: triton-opt %t/loop.mlir | FileCheck %t/loop.mlir\n//--- loop.mlir\n"
    assert judge(f"{head}// CHECK: scf.for\n{LOOP}//--- other.mlir\nnonsense\n").outcome == "pass"
    verdict = judge(f"// RUN: split-file %s %t\n{LOOP}")
    assert (verdict.bucket, verdict.stage) == ("filecheck", "split-file")


def test_an_input_that_cannot_be_read_is_its_authors(judge):
    verdict = judge(RUN + MOVES + "tt.func @f( {\n")
    assert (verdict.bucket, verdict.stage) == ("collect", "collect")
    assert "case.mlir:4:12: the input is not read: " in verdict.summary


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("triton-opt %S/none.mlir -cse", "cannot read"),
        ("triton-opt %s -cse -o %t/none/out.mlir", "cannot write"),
        ("triton-opt %s -cse > %t/none/out.mlir", "cannot open"),
        ("triton-opt %s | count many", "count takes a number of lines"),
    ],
)
def test_a_file_or_word_that_a_run_line_has_wrong_is_its_authors(judge, command, words):
    verdict = judge(f"// RUN: true\n// RUN: {command}\n{LOOP}")
    assert (verdict.bucket, verdict.outcome) == ("collect", "fail")
    assert verdict.summary.partition("case.mlir:")[2].startswith(f"2: {words}")


def test_whoever_watches_hears_which_run_line_is_running(tmp_path):
    path = tmp_path / "case.mlir"
    path.write_text("// RUN: true\n\n// RUN: true\n")
    told: list[tuple[str, int]] = []

    def hear(stage, where=None, /):
        told.append((stage, where.line if where else 0))

    run_case.run_case(LitCase.load(path), "case.mlir", "lit", RunOptions(), hear)
    assert told == [("opt", 1), ("opt", 3), ("compare", 0)]


@pytest.mark.parametrize("line", ["// RUN: triton-opt %s |\n", "// RUN: triton-opt %{nope}\n", "// RUN: not\n"])
def test_a_run_line_that_is_none_is_its_authors(judge, line):
    verdict = judge("\n" + line + LOOP)
    assert (verdict.bucket, verdict.outcome) == ("collect", "fail")
    assert "case.mlir:2: " in verdict.summary


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("triton-opt %s -test-print-membar", "unsupported: test-print-membar has no binding in triton {release}"),
        ("triton-opt %s -mlir-print-ir-after-all", "unsupported: --mlir-print-ir-after-all has no counterpart"),
        ("mlir-translate %s", "unsupported: the tool mlir-translate is not in the wheel of triton"),
    ],
)
def test_what_the_wheel_cannot_do_is_skipped_with_the_reason_and_never_passes(judge, command, reason):
    # Nothing of a line is run, not even what would succeed.
    verdict = judge(f"// RUN: true || {command}\n" + LOOP)
    assert verdict.outcome == "skip" and is_absent(verdict)
    assert verdict.summary.startswith(reason.format(release=installed_compiler().release))


RELEASE = ".".join(installed_compiler().release.split(".")[:2])


@pytest.mark.parametrize(
    ("directive", "outcome", "excused"),
    [
        (f"REQUIRES: triton-{RELEASE}", "fail", False),
        (f"REQUIRES: !triton-{RELEASE}", "skip", True),
        (f"UNSUPPORTED: triton-{RELEASE}", "skip", True),
        (f"UNSUPPORTED: triton-before-{RELEASE}", "fail", False),
        ("REQUIRES: triton-before-1.0", "skip", True),
        ("REQUIRES: a-machine-of-mine", "skip", False),
        (f"REQUIRES: triton-{RELEASE}, a-machine-of-mine", "skip", False),
        ("UNSUPPORTED: a-machine-of-mine", "fail", False),
    ],
)
def test_requires_and_unsupported(judge, directive, outcome, excused):
    """Only what the release is excuses a listed case: a name that nobody knows would excuse any."""
    verdict = judge(f"{RUN}// {directive}\n{STAYS}{LOOP}")
    assert (verdict.outcome, is_absent(verdict)) == (outcome, excused)


@pytest.mark.parametrize(
    ("directive", "checks", "outcome", "bucket"),
    [
        ("XFAIL: *", STAYS, "pass", ""),
        ("XFAIL: *", MOVES, "fail", "unexpected-pass"),
        (f"XFAIL: triton-{RELEASE}", MOVES, "fail", "unexpected-pass"),
        (f"XFAIL: !triton-{RELEASE}", MOVES, "pass", ""),
        (f"XFAIL: !triton-{RELEASE}", STAYS, "fail", "filecheck"),
    ],
)
def test_xfail(judge, directive, checks, outcome, bucket):
    verdict = judge(f"{RUN}// {directive}\n{checks}{LOOP}")
    assert (verdict.outcome, verdict.bucket) == (outcome, bucket)


def test_a_failure_that_xfail_expects_is_told(judge):
    verdict = judge(f"{RUN}// XFAIL: *\n{STAYS}{LOOP}")
    assert verdict.evidence.output.startswith("fails as XFAIL: * says, in filecheck: CHECK: expected string")


@pytest.mark.parametrize(
    "text",
    [
        RUN + "// XFAIL: *\n" + MOVES + "tt.func @f( {\n",
        "// XFAIL: *\n// RUN: triton-opt %s |\n" + LOOP,
    ],
)
def test_xfail_does_not_mean_a_case_that_cannot_be_run(judge, text):
    assert judge(text).bucket == "collect"


def test_xfail_does_not_mean_what_the_wheel_cannot_do(judge):
    assert judge("// XFAIL: *\n// RUN: triton-opt %s -no-such-pass\n" + LOOP).outcome == "skip"


def test_a_pass_must_be_earned_by_a_run_line(judge, monkeypatch):
    monkeypatch.setattr(run_case._Run, "_run_lines", lambda self, folder: self._enter("compare"))
    verdict = judge(RUN + MOVES + LOOP)
    assert (verdict.outcome, verdict.bucket, verdict.summary) == ("fail", "not-simulated", "no RUN line was run")


def test_a_wheel_without_filecheck_uses_another_and_says_so(judge, monkeypatch):
    monkeypatch.setattr(tools, "wheel_file_check", lambda: None)
    assert judge(RUN + STAYS + LOOP).bucket == "filecheck"
    verdict = judge(RUN + MOVES + LOOP)
    assert verdict.outcome == "pass"
    assert verdict.evidence.output.startswith("FileCheck: this triton wheel has none; filecheck ")


def test_variables_reach_the_tool_and_nobody_else(judge, monkeypatch):
    monkeypatch.setattr(forked, "_opt", lambda request, phases: os.write(1, os.environ["LIT_WORD"].encode()) - 3)
    assert judge("// RUN: LIT_WORD=yes triton-opt %s | FileCheck %s\n// CHECK: yes\n").outcome == "pass"
    assert "LIT_WORD" not in os.environ
