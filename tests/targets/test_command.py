"""`python -m harness.targets`: one line for each case, and the mistakes a person makes with it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from harness.targets.__main__ import main

CASE_FILE = '''
"""Negation."""

import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.autotune([triton.Config({"BLOCK": 16}), triton.Config({"BLOCK": 32})], key=["n"])
@triton.jit
def negate_kernel(out, x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, -tl.load(x + at, at < n), at < n)


@case(n=[20, 64], sign=[-1, 1])
def negate(n, sign):
    return KernelCase(
        negate_kernel,
        grid=(4,),
        args=dict(out=empty(n), x=Buffer(n), n=n),
        reference=lambda x: x * sign,
    )
'''


@pytest.fixture
def case_file(tmp_path: Path) -> Path:
    path = tmp_path / "negate.py"
    path.write_text(CASE_FILE)
    return path


EXPECTED = [
    ["pass", "negate[20--1]"],
    ["fail", "negate[20-1]"],
    ["pass", "negate[64--1]"],
    ["fail", "negate[64-1]"],
]


def _verdicts(output: str) -> list[list[str]]:
    return [line.split()[:2] for line in output.splitlines()]


def test_each_case_is_one_line(case_file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(case_file.parent / "triton"))
    assert main([str(case_file)]) == 1
    output = capsys.readouterr().out
    assert _verdicts(output) == EXPECTED
    assert output.count("wrong-values out: ") == 2


@pytest.mark.usefixtures("quick_start")
def test_the_interpreter_agrees_in_a_process_of_its_own(case_file: Path):
    command = [sys.executable, "-m", "harness.targets", str(case_file), "--target", "interpreter"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=case_file.parent, check=False)
    assert _verdicts(done.stdout) == EXPECTED, done.stderr
    assert done.returncode == 1


def test_one_case_can_be_chosen(case_file: Path, capsys: pytest.CaptureFixture[str]):
    assert main([f"{case_file}::negate[20--1]"]) == 0
    assert _verdicts(capsys.readouterr().out) == [["pass", "negate[20--1]"]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["negate.py", "--target", "nqu"], "error: there is no target 'nqu' (one of: npu, "),
        (["negate.py", "--target", "interpreter"], "error: the interpreter target needs TRITON_INTERPRET=1"),
        (["missing.py"], "error: "),
        (["negate.py::nothing"], "error: negate.py declares no case 'nothing'"),
    ],
)
def test_a_mistake_is_one_sentence(
    case_file: Path,
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.chdir(case_file.parent)
    monkeypatch.delenv("TRITON_INTERPRET", raising=False)
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith(message)
    assert error.count("\n") == 1
