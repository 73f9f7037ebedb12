"""`harness disasm` and `harness time` over a file some of whose cases the machine refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.cli import main

CASES = """
import triton
import triton.language as tl

from harness.cases import Buffer, KernelCase, case, empty


@triton.jit
def doubled_kernel(x, out, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at) * 2)


@case(n=[65536, 64])
def doubled(n):
    args = dict(x=Buffer(n), out=empty(n), BLOCK=n)
    return KernelCase(doubled_kernel, grid=(1,), args=args, reference=lambda x: x * 2)


@triton.jit
def counted_kernel(trips, out):
    total = 0
    for step in range(tl.load(trips)):
        total += step
    tl.store(out, total)


@case()
def counted():
    args = dict(trips=Buffer(1, "int32"), out=empty(1, "int32"))
    return KernelCase(counted_kernel, grid=(1,), args=args, reference=lambda trips: trips * 0)
"""


@pytest.fixture
def file(tmp_path: Path, triton_cache: Path) -> Path:
    path = tmp_path / "cases.py"
    path.write_text(CASES)
    return path


def test_cases_without_a_time_are_named_and_the_others_are_timed(file: Path, capfd: pytest.CaptureFixture[str]):
    trace = file.with_suffix(".json")
    assert main(["time", str(file), "--machine", "tiny", "--trace", str(trace)]) == 1
    out, err = capfd.readouterr()
    assert [line.split()[0] for line in out.splitlines()] == ["kernel", "doubled_kernel", "trace:"]
    refused, untimed = err.splitlines()
    assert refused.startswith(f"harness: {file}::doubled[65536]: ")
    assert "scratchpad" in refused
    assert untimed.startswith(f"harness: {file}::counted: the cycles depend on values")
    assert untimed.endswith("(give --values)")
    assert json.loads(trace.read_text())["traceEvents"]


def test_cases_without_a_program_are_named_and_the_others_are_shown(file: Path, capfd: pytest.CaptureFixture[str]):
    assert main(["disasm", f"{file}::doubled", "--machine", "tiny"]) == 1
    out, err = capfd.readouterr()
    assert out.startswith("program doubled_kernel for tiny: 8 lanes")
    assert err.startswith(f"harness: {file}::doubled[65536]: ")


def test_all_well(file: Path, capfd: pytest.CaptureFixture[str]):
    assert main(["time", f"{file}::doubled[64]", "--machine", "tiny"]) == 0
    assert main(["time", f"{file}::counted", "--machine", "tiny", "--values"]) == 0
    assert capfd.readouterr().err == ""


def test_what_names_no_case_is_said_at_once(file: Path, capfd: pytest.CaptureFixture[str]):
    assert main(["time", f"{file}::missing"]) == 2
    assert "missing" in capfd.readouterr().err
