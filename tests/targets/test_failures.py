"""An exception becomes a typed failure at a line of the user's file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import triton
import triton.language as tl
from triton.runtime.errors import InterpreterError, PTXASError

from harness.cases.location import SourceLocation
from harness.errors import AssertionTrap, Misaligned, OutOfBounds, PassFailed, Refusal, Trap
from harness.npu.activation import npu_driver_active
from harness.targets.failures import Context, failure_of, first_diagnostic, translated


@triton.jit
def not_a_power_of_two(x):
    return x + tl.arange(0, 3)  # line A


@triton.jit
def calls_a_bad_helper(out):
    value = not_a_power_of_two(1)  # line B
    tl.store(out + tl.arange(0, 4), value)


@triton.jit
def unknown_name(out):
    tl.store(out, missing)  # noqa: F821 # pyright: ignore[reportUndefinedVariable] # line C


@triton.jit
def false_static_assert(out, N: tl.constexpr):
    tl.static_assert(N > 4, "N is too small")  # line D
    tl.store(out, N)


tuned = triton.autotune([triton.Config({"N": 2})], key=[])(false_static_assert)


def _line(mark: str) -> int:
    lines = Path(__file__).read_text().splitlines()
    return 1 + next(number for number, line in enumerate(lines) if line.endswith(f"# line {mark}"))


@pytest.mark.parametrize(
    ("kernel", "arguments", "mark", "phrase"),
    [
        (calls_a_bad_helper, {}, "A", "power of 2"),
        (unknown_name, {}, "C", "missing is not defined"),
        (false_static_assert, {"N": 2}, "D", "N is too small"),
        (tuned, {}, "D", "N is too small"),
    ],
)
def test_a_compilation_error_names_the_innermost_line(kernel: Any, arguments: dict[str, int], mark: str, phrase: str):
    with npu_driver_active(), pytest.raises(Exception) as raised:
        kernel[(1,)](torch.zeros(4), **arguments)
    failure = failure_of(raised.value, Context("frontend", kernel))
    assert failure.kind == "FrontendError"
    assert phrase in failure.message
    assert failure.where is not None
    assert (failure.where.file, failure.where.line) == (__file__, _line(mark))
    if mark == "A":
        assert f"{__file__}:{_line('B')}" in failure.hint


VERIFIER_LOG = """\
noise
"/kernels/moe.py":41:8: error: operand #0 does not dominate this use
"/kernels/moe.py":40:8: note: operand defined here
"""
EDGE = (
    "'scf.if' op along control flow edge from Operation scf.yield to parent: "
    "region branch point has 2 operands, but region successor needs 1 inputs"
)


@pytest.mark.parametrize(
    ("log", "kind", "message", "where"),
    [
        (
            VERIFIER_LOG,
            "VerifierFailed",
            "operand #0 does not dominate this use",
            SourceLocation("/kernels/moe.py", 41, 8),
        ),
        (f"/k.py:17:25: error: {EDGE}\n", "VerifierFailed", EDGE, SourceLocation("/k.py", 17, 25)),
        (
            "/k.py:3:1: error: cannot pipeline this\n",
            "PassFailed",
            "cannot pipeline this",
            SourceLocation("/k.py", 3, 1),
        ),
        ("loc(unknown): error: gave up\n", "PassFailed", "gave up", None),
        ("", "PassFailed", "a pass failed and gave no reason", None),
    ],
)
def test_a_failed_pass_takes_its_reason_from_stderr(log: str, kind: str, message: str, where: SourceLocation | None):
    failure = failure_of(RuntimeError("PassManager::run failed"), Context("ttir", None, log))
    assert (failure.kind, failure.message, failure.where, failure.stage) == (kind, message, where, "ttir")
    assert failure.log == log


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("CUDA error: an illegal memory access was encountered", OutOfBounds),
        ("CUDA error: misaligned address", Misaligned),
        ("CUDA error: device-side assert triggered", AssertionTrap),
        ("CUDA error: an illegal instruction was encountered", Trap),
    ],
)
def test_what_hardware_reports_as_text_is_a_trap(text: str, kind: type):
    assert isinstance(translated(RuntimeError(text), Context("simulate")), kind)


@pytest.mark.parametrize(
    ("cause", "kind"),
    [
        (NotImplementedError("no libdevice"), Refusal),
        (AssertionError("n > 0"), AssertionTrap),
        (KeyError("x"), InterpreterError),
    ],
)
def test_what_the_interpreter_wraps_is_unwrapped(cause: Exception, kind: type):
    try:
        raise InterpreterError(repr(cause)) from cause
    except InterpreterError as error:
        assert isinstance(translated(error, Context("simulate")), kind)


def test_what_the_assembler_refuses_is_the_compilers_failure():
    assert isinstance(translated(PTXASError("bad PTX"), Context("frontend")), PassFailed)


def test_out_of_memory_has_its_own_kind_and_anything_else_keeps_its_name():
    assert failure_of(MemoryError(), Context("simulate")).kind == "OutOfMemory"
    assert failure_of(ZeroDivisionError("x"), Context("simulate")).kind == "ZeroDivisionError"


def test_a_line_that_is_no_diagnostic_is_not_taken_for_one():
    assert first_diagnostic("INFO the simulator is ready\nwarning: slow\n") == ("", None)


def test_an_error_raised_from_what_came_of_it_is_told():
    inner, outer = ValueError("inner"), RuntimeError("outer")
    inner.__cause__, outer.__cause__ = outer, inner
    assert failure_of(inner, Context("compile")).kind == "ValueError"
