"""The advice under a failure never names the place where it just ran, and on a pipeline is a command."""

from __future__ import annotations

import pytest

from harness.cases.evidence import Evidence, Failure, StageEvidence
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
