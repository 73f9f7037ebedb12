"""What the author of check lines got wrong is theirs, with the line and what to write; never the compiler's."""

from __future__ import annotations

import pytest

from harness.lit import tools

MODULE = "tt.func @f(%a: i32) -> i32 {\n  tt.return %a : i32\n}\n"
RUN = "// RUN: triton-opt %s -cse | FileCheck %s{}\n"

# (flags of FileCheck, check lines, line of the fault, words of the message)
FAULTS = [
    ("", "// CHEKC: tt.func\n", 2, "CHEKC: is no check, and no line of the file says CHECK: (write CHECK:)"),
    ("", "// CHEKC-LABEL: tt.func\n", 2, "(write CHECK-LABEL:)"),
    ("", "// Nothing.\n", 1, "no line of the file says CHECK:, which this RUN line checks (write // CHECK: "),
    ("", "// OPT: tt.func\n", 1, "(the file has OPT: name it with --check-prefix)"),
    (" --check-prefix=OPTT", "// OPT: tt.func\n", 1, "(line 2 says OPT: write --check-prefix=OPT, or OPTT: there)"),
    (" --check-prefix=NEVER", "// CHECK: tt.func\n", 1, "no line of the file says NEVER:, which this RUN line checks"),
    ("", "// CHECK: tt.return [[ARG]]\n", 2, "the variable ARG is used, and no check line has defined it there"),
    ("", "// CHECK: @f([[AR:%.+]]:\n// CHECK: tt.return [[ARG]]\n", 3, "(did you mean AR?)"),
    ("", "// CHECK: tt.func {{(}}\n", 2, "the check line cannot be read: "),
]


@pytest.fixture(params=["the wheel's", "PyPI's"])
def filecheck(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "PyPI's":
        monkeypatch.setattr(tools, "wheel_file_check", lambda: None)


@pytest.mark.usefixtures("filecheck")
@pytest.mark.parametrize(("flags", "checks", "line", "words"), FAULTS)
def test_a_fault_of_the_check_lines_is_its_authors(judge, flags, checks, line, words):
    verdict = judge(RUN.format(flags) + checks + MODULE)
    assert (verdict.outcome, verdict.bucket) == ("fail", "collect")
    assert f"case.mlir:{line}:" in verdict.summary
    assert words in verdict.summary


@pytest.mark.usefixtures("filecheck")
def test_a_line_that_does_not_match_is_still_the_compilers(judge):
    verdict = judge(RUN.format("") + "// CHECK: tt.return [[ARG:%.+]] :\n// CHECK: no such text [[ARG]]\n" + MODULE)
    assert (verdict.bucket, verdict.stage) == ("filecheck", "filecheck")
    assert "case.mlir:3" in verdict.summary


def test_a_check_that_must_fail_does_not_excuse_one_that_is_none(judge):
    verdict = judge("// RUN: triton-opt %s | not FileCheck %s --check-prefix=NEVER\n// CHECK: f\n" + MODULE)
    assert (verdict.bucket, verdict.outcome) == ("collect", "fail")


def test_nothing_to_check_is_the_doing_of_what_printed_nothing(judge):
    assert judge("// RUN: true | FileCheck %s\n// CHECK: f\n" + MODULE).bucket == "filecheck"
    assert judge("// RUN: true | not FileCheck %s\n// CHECK: f\n" + MODULE).outcome == "pass"


def test_xfail_does_not_mean_check_lines_that_are_none(judge):
    assert judge("// XFAIL: *\n" + RUN.format("") + "// CHEKC: f\n" + MODULE).bucket == "collect"
