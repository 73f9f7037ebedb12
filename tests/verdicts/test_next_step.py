"""The advice under a failure never names the place where it just ran, and on a pipeline is a command."""

from __future__ import annotations

import pytest

from harness.cases.evidence import BufferEvidence, Evidence, Failure, Mismatch, StageEvidence
from harness.reports import failure_text
from harness.verdicts import BUCKETS, classify
from harness.verdicts.next_step import next_step

STAGES = [StageEvidence(0, "ttgir", 4, "cse", ("tritongpu-pipeline", "canonicalize"), "match")]


def verdict(target: str, kind: str, stage: str, changed_by: str = ""):
    case = f"k/a.py::a[{target}-1]"
    failure = Failure(stage, kind, "what happened")
    return classify(Evidence(case, target, stage, failure=failure, stages=STAGES, changed_by=changed_by))


@pytest.mark.parametrize("bucket", BUCKETS, ids=lambda bucket: bucket.name)
@pytest.mark.parametrize("target", ["ttir", "cuda:90"])
def test_nobody_is_sent_to_ttir_from_where_no_pass_ran(target, bucket):
    assert "ttir" not in (bucket.without_passes or bucket.next_step)


def test_on_npu_the_next_place_to_look_is_ttir():
    assert "--target=ttir" in next_step(verdict("npu", "OutOfBounds", "simulate"))
    assert "--target=ttir" not in next_step(verdict("ttir", "OutOfBounds", "simulate"))


def test_the_command_without_passes_names_the_case_there():
    found = next_step(verdict("npu", "OutOfBounds", "simulate"))
    assert "--check-lowering" in found
    assert found.endswith("python -m pytest 'k/a.py::a[ttir-1]' --target=ttir")


@pytest.mark.parametrize(
    ("kind", "stage", "changed_by"),
    [("PassFailed", "tritongpu-pipeline", ""), ("OutOfBounds", "simulate", "tritongpu-pipeline")],
)
def test_a_pass_to_blame_is_looked_at_by_a_command(kind, stage, changed_by):
    found = verdict("cuda:90", kind, stage, changed_by)
    command = "harness bisect 'k/a.py::a[cuda:90-1]' --target cuda:90"
    assert next_step(found).endswith(command) and command in failure_text(found)


def test_what_no_pass_did_is_not_bisected():
    for kind, stage in (("OutOfBounds", "simulate"), ("FrontendError", "frontend")):
        assert "bisect" not in next_step(verdict("cuda:90", kind, stage))


def values_off(
    histogram: dict[str, int], shape: str, operations: dict[str, list[str]], relative: float = 2e-7
) -> Evidence:
    mismatch = Mismatch(3, 100, (4,), "1.0000002", "1.0", 2e-7, relative, 20.0, shape)
    buffer = BufferEvidence("c", "fp32", (100,), "out", True, ulp_histogram=histogram, mismatch=mismatch)
    return Evidence("k/a.py::a[npu-1]", "npu", "compare", buffers=[buffer], operations=operations)


def test_a_sum_off_by_little_may_lack_its_number_of_terms():
    evidence = values_off({"0": 60, "1": 35, "9-16": 3, "65-1024": 2}, "scattered", {"tt.dot": ["f16"]})
    assert "reduction=K" in next_step(classify(evidence))
    lost = values_off({"0": 97, "more": 3}, "scattered", {"tt.dot": ["f16"]}, relative=1.0)
    assert "reduction=K" not in next_step(classify(lost))


@pytest.mark.parametrize(
    ("histogram", "shape", "operations"),
    [
        ({"0": 97, "more": 3}, "tail of each row (from 97 of 100)", {"tt.dot": []}),
        ({"0": 10, "more": 90}, "everything", {"tt.dot": []}),
        ({"0": 99, "nan": 1}, "one element", {"tt.reduce": []}),
        ({"0": 97, "1": 3}, "scattered", {"math.exp": ["f32"]}),
        ({"0": 97, "1": 3}, "scattered", {"tt.atomic_rmw": ["add i32"]}),
        ({}, "scattered", {"tt.reduce": ["i32"]}),
    ],
)
def test_what_is_no_error_of_a_sum_has_no_such_advice(histogram, shape, operations):
    assert "reduction=K" not in next_step(classify(values_off(histogram, shape, operations)))
