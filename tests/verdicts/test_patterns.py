"""Text patterns: ordered, for telling lines only."""

from __future__ import annotations

import json

import pytest

from harness.cases.evidence import Failure
from harness.errors import UsageError
from harness.verdicts import PatternTable, classify, standard_patterns


def table(*patterns: tuple[str, str], informational: tuple[str, ...] = ()) -> PatternTable:
    entries = [{"name": text, "pattern": text, "bucket": bucket} for text, bucket in patterns]
    return PatternTable.from_json(json.dumps({"informational": informational, "patterns": entries}))


INFORMATIONAL = [
    "[INFO] TOGSim: 12 tiles issued",
    "2025-03-04 10:11:12,123 INFO TOGSim ready",
    "2025-03-04T10:11:12Z [info] TOGSim ready",
    "TOGSim [debug] queue drained",
    "I0304 10:11:12.123456 1 TOGSim.cc:12] ready",
    "k.py:3:4: note: TOGSim saw this operand",
    "k.py:3:4: remark: TOGSim vectorised",
    "INFO:TOGSim:ready",
    "DEBUG TOGSim ready",
]


@pytest.mark.parametrize("line", INFORMATIONAL)
def test_a_simulators_own_info_lines_never_match(line):
    patterns = PatternTable(standard_patterns().informational, table(("TOGSim", "trap-other")).patterns)
    assert patterns.match([line]) is None
    assert patterns.match([line + "\nTOGSim: assertion failed"]) is not None


@pytest.mark.parametrize(
    "line",
    [
        "LLVM ERROR: broken debug info",
        "python: Foo.cpp:12: void f(): Assertion `x > 0' failed.",
        "error: no INFO section: failed to verify",
        "ERROR - INFO block: op verification failed",
        "Traceback: No module named 'x'",
    ],
)
def test_a_telling_line_is_not_taken_for_information(line):
    assert standard_patterns().match([line]) is not None


def test_seven_unrelated_failures_are_not_filed_under_the_simulators_name(evidence):
    log = "[INFO] TOGSim: start\n[INFO] TOGSim: out of memory pool: 0\nwarning: slow"
    verdict = classify(evidence(failure=Failure("simulate", "KeyError", "'x'", log=log)))
    assert verdict.bucket == "harness-crash"


def test_the_tables_order_decides_and_not_the_logs():
    patterns = table(("second", "verifier"), ("first", "compiler-crash"))
    match = patterns.match(["first\nsecond"])
    assert match is not None
    assert (match[0].bucket, match[1]) == ("verifier", "second")


@pytest.mark.parametrize(
    ("line", "bucket"),
    [
        ("OSError: [Errno 28] No space left on device", "environment"),
        ("LLVM ERROR: out of memory", "out-of-memory"),
        ("RuntimeError: CUDA error: out of memory", "out-of-memory"),
        ("triton.runtime.errors.OutOfResources: out of resource: shared memory, Required: 3", "refused"),
        ("RuntimeError: CUDA error: an illegal memory access was encountered", "trap-out-of-bounds"),
        ("CUDA error: misaligned address", "trap-other"),
        ("k.py:3:4: error: operand #0 does not dominate this use", "verifier"),
        ("RuntimeError: PassManager::run failed", "compiler-crash"),
        ("opt: Foo.cpp:12: Assertion `x' failed.", "compiler-crash"),
        ("triton.compiler.errors.CompilationError: at 3:4", "frontend"),
    ],
)
def test_standard_patterns(evidence, line, bucket):
    verdict = classify(evidence(failure=Failure("external", "Exit:1", "the compiler failed", log=line)))
    assert verdict.bucket == bucket
    assert line in verdict.summary


def test_a_pattern_for_an_unknown_bucket_is_an_error():
    with pytest.raises(UsageError, match="no bucket is called 'nowhere'"):
        table(("x", "nowhere"))


def test_ir_that_the_front_end_made_and_does_not_verify_is_no_passs_fault(evidence):
    log = "k.py:3:4: error: 'tt.atomic_rmw' op failed to verify that ptr type matches value type"
    verdict = classify(
        evidence(failure=Failure("frontend", "RuntimeError", "error encountered during parsing", log=log))
    )
    assert verdict.bucket == "frontend"
