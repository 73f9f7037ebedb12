"""`harness bisect`: exit statuses, the table, and what CASE may be."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import triton

from harness.cli import main
from harness.commands.apart import apart

ROOT = Path(__file__).parents[2]
CASES = ROOT / "tests" / "bisect" / "bisect_cases.py"
REGRESSIONS = ROOT / "coverage_kernels" / "regressions"
VERSION = tuple(map(int, triton.__version__.split(".")[:2]))


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, triton_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
        ([f"{CASES}::double[npu-10]"], "has no case 'double[npu-10]' (the nearest there are: double[100])"),
        ([f"{CASES}::double[fp32]"], "has no case 'double[fp32]' ("),
        (["absent.py"], "'absent.py' is no file of kernel cases"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_sentence(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["bisect", *arguments]) == 2
    assert told in capsys.readouterr().err


CASE = """
import triton
import triton.language as tl
from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def kernel(x, out):
    tl.store(out, tl.load(x) + {added})


@case()
def one():
    {first}
    return KernelCase(kernel, grid=(1,), args=dict(x=Buffer(1), out=empty(1)), reference=lambda x: x + 1)
"""


@pytest.mark.parametrize(
    ("added", "first", "said"),
    [
        ("nobody", "pass", "frontend: "),
        ("1", "raise SystemExit(0)", "bad.py:14: the case called sys.exit(0)"),
        ("1", "import os; os.abort()", "collect: the case's process ended by SIGABRT"),
        ("1", "import os; os._exit(3)", "collect: the case ended its process with status 3"),
        ("1", "import signal; signal.pause()", "collect: still running after 1 s (--case-timeout)"),
    ],
)
def test_a_case_that_does_not_compile_is_undecided(
    tmp_path: Path, added: str, first: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """In a sentence with its line, and not taken for a clean one or for a pass that is to blame; nor does it end or
    hold up the command."""
    file = tmp_path / "bad.py"
    file.write_text(CASE.format(added=added, first=first))
    timeout = "1" if "pause" in first else "120"
    assert main(["bisect", str(file), "--report-dir", str(tmp_path / "report"), "--case-timeout", timeout]) == 2
    told = capsys.readouterr().out
    assert said in told and "Traceback" not in told


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--target", "cdua:80"], "no installed backend of Triton compiles for 'cdua:80'"),
        (["--target", "cuda:9"], "'cuda:9' is no target"),
        (["--triton", "2.1.0", "--offline"], "no case ran on any of these releases"),
        (["--cache", "/proc/nope"], "cannot use /proc/nope as the cache"),
    ],
)
def test_a_matrix_in_which_nothing_can_run_is_2(
    tmp_path: Path, arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "good.py"
    file.write_text(CASE.format(added="1", first="pass"))
    cache = [] if "--cache" in arguments else ["--cache", str(tmp_path / "cache")]
    triton_ = [] if "--triton" in arguments else ["--triton", "2.1.0"]
    assert main(["matrix", str(file), *arguments, *triton_, *cache]) == 2
    assert said in capsys.readouterr().err


def test_work_apart_does_not_wait_for_threads_that_it_has_not_got() -> None:
    def total(tell: object = None) -> float:
        return float(torch.ones(1 << 20).mul_(2).sum())

    before = torch.get_num_threads()
    torch.set_num_threads(4)
    try:
        assert total() == apart(total, 60, "collect") == 2 << 20
    finally:
        torch.set_num_threads(before)
