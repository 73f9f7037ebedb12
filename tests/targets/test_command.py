"""`python -m harness.targets`: one line for each case, and the mistakes a person makes with it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

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


def _try(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TRITON_CACHE_DIR": str(folder / "triton")}
    command = [sys.executable, "-m", "harness.targets", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder, check=False)


@pytest.mark.parametrize("target", ["interpreter", "npu"])
def test_each_case_is_one_line(case_file: Path, target: str):
    done = _try(str(case_file), "--target", target, folder=case_file.parent)
    lines = [line.split()[:2] for line in done.stdout.splitlines()]
    assert lines == [
        ["pass", "negate[20--1]"],
        ["fail", "negate[20-1]"],
        ["pass", "negate[64--1]"],
        ["fail", "negate[64-1]"],
    ], done.stderr
    assert done.stdout.count("wrong-values out: ") == 2
    assert done.returncode == 1


def test_one_case_can_be_chosen(case_file: Path):
    done = _try(f"{case_file}::negate[20--1]", "--target", "interpreter", folder=case_file.parent)
    assert done.stdout.startswith("pass negate[20--1]")
    assert len(done.stdout.splitlines()) == 1
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["negate.py", "--target", "nqu"], "error: there is no target 'nqu' (one of: npu, "),
        (["missing.py"], "error: "),
        (["negate.py::nothing"], "error: "),
    ],
)
def test_a_mistake_is_one_sentence(case_file: Path, arguments: list[str], message: str):
    done = _try(*arguments, folder=case_file.parent)
    assert done.stderr.startswith(message)
    assert "Traceback" not in done.stderr
    assert done.returncode == 2
