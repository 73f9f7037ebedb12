"""What to do about one failure: the bucket's advice, as far as it makes sense where the case ran."""

from __future__ import annotations

import shlex

from harness.cases.evidence import Verdict
from harness.verdicts.buckets import bucket_named

# Where no pass runs at all.
_WITHOUT_PASSES = "ttir"


def next_step(verdict: Verdict) -> str:
    """A sentence, or one that ends in the command to type."""
    bucket = bucket_named(verdict.bucket)
    on_pipeline = ":" in verdict.target
    if on_pipeline and _pass_to_blame(verdict):
        command = shlex.join(["harness", "bisect", verdict.case, "--target", verdict.target])
        return f"See what the pass does to it: {command}"
    # On a pipeline, what is wrong and no pass's doing was so before the first of them.
    if on_pipeline or verdict.target == _WITHOUT_PASSES:
        return bucket.without_passes or bucket.next_step
    return bucket.next_step


def _pass_to_blame(verdict: Verdict) -> str:
    """The pass that changed a buffer or that the compiler failed in; "" where none is named."""
    evidence = verdict.evidence
    if evidence.changed_by:
        return evidence.changed_by
    return verdict.stage if any(verdict.stage in stage.passes for stage in evidence.stages) else ""
