from __future__ import annotations

from collections.abc import Callable

import pytest

from harness.cases.evidence import (
    BufferEvidence,
    Evidence,
    Failure,
    Finding,
    LaunchEvidence,
    Mismatch,
    Verdict,
)
from harness.cases.location import SourceLocation
from harness.reports import Record, RunInfo
from harness.verdicts import Fingerprint, Part


@pytest.fixture
def verdict() -> Callable[..., Verdict]:
    """A pass, or a failure in `bucket` with evidence of every kind, awkward values included."""

    def make(case: str, bucket: str = "", outcome: str = "", summary: str = "what happened") -> Verdict:
        evidence = Evidence(
            case,
            "npu",
            stage="compare",
            launches=[LaunchEvidence("k", (4, 1, 1), 4, simulated=True)],
            buffers=[BufferEvidence("out", "fp32", (8,), "out", compared=True, ulp_histogram={"0": 8})],
            seconds={"simulate": 0.25},
        )
        if bucket:
            evidence.buffers.append(BufferEvidence("x", "int1", (), "in", compared=False, reason="only read"))
            mismatch = Mismatch(1, 8, (3,), "nan", "-0.0", float("nan"), float("inf"), 1.0, "a | tile", ((0, 0, 1),))
            evidence.buffers.append(BufferEvidence("y", "fp32", (8,), "out", compared=True, mismatch=mismatch))
            evidence.findings.append(Finding(bucket, "y", "said <twice>", SourceLocation("k.py", 3)))
            evidence.failure = Failure("compare", "Odd", "bad \x00 byte \ud800", traceback="Trace", log="`log` ]]>")
            evidence.output = "printed \x1b[1m & <b>"
        return Verdict(case, "npu", outcome or ("fail" if bucket else "pass"), "compare", bucket, summary, evidence)

    return make


@pytest.fixture
def fingerprint() -> Fingerprint:
    return Fingerprint({"triton": Part("3.7.1", "abc", "inode 1"), "machine": Part("a box", "box")})


@pytest.fixture
def record(verdict, fingerprint) -> Record:
    run = RunInfo(("pytest", "-n", "2"), ("npu",), "2025-01-02T03:04:05+00:00", ("--checks=full",))
    verdicts = [
        verdict("k/a.py::a[npu-1]"),
        verdict("k/b.py::b[npu-1]", "wrong-values", summary="out: 1 of 8 wrong <script> | `x`"),
        verdict("k/c.py::c[npu-1]", "refused", "refused"),
        verdict("k/d.py::d[npu-1]", "race"),
    ]
    return Record(run, fingerprint, fingerprint, seconds=1.5, verdicts=verdicts)
