"""Lit cases as a pytest user meets them, beside kernels and ordinary tests."""

from __future__ import annotations

import json
from typing import Any

import pytest

# Imported here, since inner runs forget what they import, and NumPy cannot be imported twice.
from harness.targets.npu import TTIR

PASSES = "// RUN: triton-opt %s -cse | FileCheck %s\n// CHECK: tt.func @f\n"
FAILS = PASSES.replace("@f", "@g")
MODULE = "tt.func @f() {\n  tt.return\n}\n"


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, one_toolchain: None) -> pytest.Pytester:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeini("[pytest]\nlit_paths = mlir\naddopts = --strict-markers -p xdist -p harness.pytest_plugin\n")
    pytester.makeconftest(
        "import pytest\n"
        "from harness.collection.cases import EXECUTION\n"
        "@pytest.hookimpl(trylast=True)\n"
        "def pytest_configure(config):\n"
        "    config.stash[EXECUTION].preload = ()\n"
    )
    for name, text in {
        "cse/good": PASSES,
        "cse/bad": FAILS,
        "licm/skipped": "// RUN: triton-opt %s -test-print-membar\n",
    }.items():
        file = pytester.path / "mlir" / f"{name}.mlir"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + MODULE)
    (pytester.path / "mlir" / "cse" / "_helper.mlir").write_text(MODULE)
    return pytester


def verdicts(suite: pytest.Pytester) -> dict[str, tuple[str, str]]:
    record: dict[str, Any] = json.loads((suite.path / ".harness/report/record.json").read_text())
    return {one["case"]: (one["outcome"], one["bucket"]) for one in record["verdicts"]}


EVERY_VERDICT = {
    "mlir/cse/bad.mlir": ("fail", "filecheck"),
    "mlir/cse/good.mlir": ("pass", ""),
    "mlir/licm/skipped.mlir": ("skip", ""),
}


def test_files_are_cases_and_the_report_has_them(suite, zygote):
    result = suite.runpytest_inprocess("mlir", plugins=[zygote])
    result.assert_outcomes(passed=1, failed=1, skipped=1)
    assert verdicts(suite) == EVERY_VERDICT
    result.stdout.fnmatch_lines(
        ["*filecheck at filecheck (owner: compiler)", "*Input was:*", "rerun:*mlir/cse/bad.mlir"]
    )


@pytest.mark.usefixtures("quick_start")
def test_across_workers(suite):
    suite.runpytest_inprocess("mlir", "-n2").assert_outcomes(passed=1, failed=1, skipped=1)
    assert verdicts(suite) == EVERY_VERDICT


@pytest.mark.parametrize(
    ("options", "chosen"),
    [
        (("mlir", "-m", "licm"), {"mlir/licm/skipped.mlir"}),
        (("mlir", "-m", "lit and not licm"), {"mlir/cse/bad.mlir", "mlir/cse/good.mlir"}),
        (("mlir", "-k", "good"), {"mlir/cse/good.mlir"}),
        (("mlir/cse/bad.mlir",), {"mlir/cse/bad.mlir"}),
    ],
)
def test_cases_are_chosen_as_kernels_are(suite, zygote, options, chosen):
    result = suite.runpytest_inprocess("--collect-only", "-q", *options, plugins=[zygote])
    assert {line for line in result.outlines if line.startswith("mlir/")} == chosen


def test_cases_run_once_whatever_the_target(suite, zygote):
    suite.runpytest_inprocess("mlir/cse", f"--target={TTIR.name}", plugins=[zygote])
    assert set(verdicts(suite)) == {"mlir/cse/bad.mlir", "mlir/cse/good.mlir"}


def test_the_last_failed_case_runs_again(suite, zygote):
    suite.runpytest_inprocess("mlir", "-p", "cacheprovider", plugins=[zygote])
    suite.runpytest_inprocess("mlir", "-p", "cacheprovider", "--lf", plugins=[zygote])
    assert set(verdicts(suite)) == {"mlir/cse/bad.mlir"}


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        ("mlir/cse/good.mlir\nmlir/licm/*\nmlir/cse/bad.mlir  fails filecheck at filecheck: says g\n", 0),
        ("mlir/cse/*\n", 1),
        ("mlir/cse/good.mlir  fails filecheck: once\n", 1),
        ("mlir/cse/good.mlir\nmlir/gone.mlir\n", 1),
    ],
)
def test_the_gate_holds_lit_cases_to_the_allowlist(suite, zygote, lines, status):
    (suite.path / "allowlist.txt").write_text(lines)
    assert suite.runpytest_inprocess("mlir", "--gate", plugins=[zygote]).ret == status
