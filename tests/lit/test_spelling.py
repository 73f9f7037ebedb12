"""A misspelt flag is its author's mistake; one that this wheel alone lacks is a skip."""

from __future__ import annotations

import json
from importlib import resources

import pytest

from harness.cli import main
from harness.errors import UsageError
from harness.lit.compiler import PassRequest, installed_compiler
from harness.lit.spelling import KnownFlags, edit_distance
from harness.verdicts import is_absent

MODULE = "tt.func @f() {\n  tt.return\n}\n"


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (
            "triton-opt %s -triton-combin",
            "has a pass or option --triton-combin (did you mean --triton-combine?)",
        ),
        ("triton-opt %s --split-input-files", "(did you mean --split-input-file?)"),
        ("triton-opt %s --mlir-print-local-scop", "(did you mean --mlir-print-local-scope?)"),
        ("triton-opt %s -test-print-alignmnt", "(did you mean --test-print-alignment?)"),
        (
            'triton-opt %s -tritongpu-pipeline="num-stage=3"',
            "has no option 'num-stage' (did you mean num-stages?)",
        ),
        ("triton-op %s -cse", "there is no tool triton-op (did you mean triton-opt?)"),
        ("triton-opt %s | filecheck %s", "there is no tool filecheck (did you mean FileCheck?)"),
    ],
)
def test_a_misspelt_name_is_its_authors_with_the_right_one(judge, command, words):
    verdict = judge(f"\n// RUN: {command}\n" + MODULE)
    assert (verdict.outcome, verdict.bucket) == ("fail", "collect")
    assert "case.mlir:2: " in verdict.summary and words in verdict.summary


@pytest.mark.parametrize(
    "command",
    [
        "triton-opt %s -test-print-alignment",  # of triton-opt, and no wheel's
        "triton-opt %s -convert-math-to-libm",  # of MLIR, and nearly a wheel's
        "triton-opt %s -tritonamdgpu-stream-pipeline",  # of an older release, and nearly a newer one's
        "triton-opt %s --mlir-print-ir-after-all",
        "mlir-opt %s",
    ],
)
def test_a_name_that_only_this_wheel_lacks_is_a_skip(judge, command):
    verdict = judge(f"// RUN: {command}\n" + MODULE)
    assert verdict.outcome == "skip" and is_absent(verdict)


@pytest.mark.parametrize("command", ["triton-opt %s -a-pass-of-the-future", "a-tool-of-mine %s"])
def test_a_name_that_nobody_knows_is_a_skip_that_excuses_nothing(judge, command):
    verdict = judge(f"// RUN: {command}\n" + MODULE)
    assert verdict.outcome == "skip" and not is_absent(verdict)


@pytest.mark.parametrize(
    ("one", "other", "edits"),
    [("cse", "cse", 0), ("cse", "csee", 1), ("combine", "combien", 1), ("libm", "llvm", 2), ("", "ab", 2)],
)
def test_edits_between_names(one, other, edits):
    assert edit_distance(one, other) == edit_distance(other, one) == edits


def test_names_in_a_pipeline_are_looked_at_and_the_ops_they_are_nested_in_are_not():
    known = KnownFlags({"cse": frozenset(), "canonicalize": frozenset({"top-down"})}, frozenset())
    known.check(PassRequest("pass-pipeline", pipeline="tt.func(cse,canonicalize{top-down=true})"))
    for wrong, right in (("tt.func(canonicalise)", "--canonicalize"), ("canonicalize{topdown=true}", "top-down")):
        with pytest.raises(UsageError, match=f"did you mean {right}"):
            known.check(PassRequest("pass-pipeline", pipeline=wrong))


def test_the_table_knows_every_pass_and_option_of_the_installed_release():
    compiler = installed_compiler()
    data = json.loads(resources.files("harness.lit").joinpath("flags.json").read_text(encoding="utf-8"))
    found = {flag: set(options) for flag, options in compiler.defaults.items()}
    for flag, bindings in compiler.bindings.items():
        found.setdefault(flag, set()).update(name for name in bindings[0].options if name)
    missing = {flag: options - set(data["passes"].get(flag, ())) for flag, options in found.items()}
    assert not [flag for flag in found if flag not in data["passes"]]
    assert not {flag: options for flag, options in missing.items() if options}


def test_the_command_line_says_so_too(tmp_path, capfd):
    (tmp_path / "f.mlir").write_text(MODULE)
    assert main(["opt", str(tmp_path / "f.mlir"), "-triton-combin"]) == 2
    assert "did you mean --triton-combine?" in capfd.readouterr().err
