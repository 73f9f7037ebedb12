"""`harness bisect`: exit statuses, the table, and what CASE may be."""

from __future__ import annotations

from pathlib import Path

import pytest
import triton

from harness.cli import main

ROOT = Path(__file__).parents[2]
CASES = ROOT / "tests" / "bisect" / "bisect_cases.py"
REGRESSIONS = ROOT / "coverage_kernels" / "regressions"
VERSION = tuple(map(int, triton.__version__.split(".")[:2]))


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("case", ["double", "double[100]", "double[npu-100]", "double[hip:gfx942-100]"])
def test_clean_is_0_by_any_name_of_the_case(case: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bisect", f"{CASES}::{case}", "--target", "cuda:90"]) == 0
    shown = capsys.readouterr().out
    assert "::double[cuda:90-100]" in shown and shown.rstrip().endswith("clean")
    assert len(shown.splitlines()) < 24 and "after the front end" in shown


@pytest.mark.skipif(VERSION < (3, 6), reason="earlier pipelines have another name for the pass")
def test_found_is_1_with_the_pass_the_lines_and_the_values(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bisect", f"{REGRESSIONS / 'store_then_load.py'}::store_then_load[2]"]) == 1
    shown = capsys.readouterr().out
    assert "changed by tritongpu-pipeline" in shown
    assert "differ from the golden" in shown and "differ from the stage before" in shown
    assert "store_then_load.py:23: tl.store(y + at, tl.load(o + at) + 1.0)" in shown
    assert "-2 tt.load" in shown and "= ttg.async_commit_group" in shown and "loc(" not in shown


@pytest.mark.skipif(not (3, 6) <= VERSION < (3, 9), reason="what the pass crashes on is a bug of these releases")
def test_a_pass_that_fails_is_found_and_fails_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bisect", str(REGRESSIONS / "duplicate_epilogue.py")]) == 1
    shown = capsys.readouterr().out
    assert "the compiler failed in tritongpu-fuse-nested-loops" in shown
    assert "(fails alone as well)" in shown


@pytest.mark.parametrize("case", ["wrong_reference", "assembly"])
def test_undecided_is_2(case: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bisect", f"{CASES}::{case}"]) == 2
    assert capsys.readouterr().out.rstrip().endswith("undecided")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([str(CASES), "--target", "abacus:1"], "no installed backend of Triton compiles for 'abacus:1'"),
        ([f"{CASES}::nothing"], "has no case 'nothing' (its cases: double"),
        (["absent.py"], "there is no case file absent.py"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_sentence(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bisect", *arguments]) == 2
    assert told in capsys.readouterr().err
