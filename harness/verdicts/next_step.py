"""What to do about one failure: the bucket's advice, as far as it makes sense where the case ran."""

from __future__ import annotations

import re
import shlex

from harness.cases.evidence import BufferEvidence, Evidence, Verdict
from harness.verdicts.buckets import bucket_named

# Ops that add up terms, whose number a case states; an atomic where it adds floats.
_SUMS = re.compile(r"tt\.(dot|dot_scaled|reduce|scan)|tt\.atomic_rmw fadd .*")
# Errors of up to so many ulp in so many of the elements, at places that nothing but chance chose.
_SMALL = ("0", "1", "2", "3-4", "5-8", "9-16", "17-64")
_MOST = 0.9
_HALF_OF_IT = 0.5
_BY_CHANCE = ("one element", "scattered", "everything")
_STATE_THE_SUM = (
    "The errors are as small as those of the order in which a sum is made: if an element adds up K terms, give"
    " KernelCase reduction=K (docs/goldens.md). If not: "
)

# Where no pass runs at all.
_WITHOUT_PASSES = "ttir"
_OPTION_WITHOUT_PASSES = f"--target={_WITHOUT_PASSES}"
_TARGET_IN_ID = re.compile(r"(?<=\[)[a-z]+(?=[-\]])")


def next_step(verdict: Verdict) -> str:
    """A sentence, or one that ends in the command to type."""
    bucket = bucket_named(verdict.bucket)
    on_pipeline = ":" in verdict.target
    if on_pipeline and _pass_to_blame(verdict):
        command = shlex.join(["harness", "bisect", verdict.case, "--target", verdict.target])
        return f"See what the pass does to it: {command}"
    if verdict.evidence.model is not None and bucket.of_models:
        return bucket.of_models
    hint = _STATE_THE_SUM if bucket.name == "wrong-values" and _differs_as_sums_do(verdict.evidence) else ""
    # On a pipeline, what is wrong and no pass's doing was so before the first of them.
    if on_pipeline or verdict.target == _WITHOUT_PASSES:
        return hint + (bucket.without_passes or bucket.next_step)
    return hint + _with_command(bucket.next_step, verdict.case)


def _with_command(advice: str, case: str) -> str:
    """Where no pass runs the case has another id than the one at hand, which names the target it failed on."""
    if _OPTION_WITHOUT_PASSES not in advice:
        return advice
    file, separator, name = case.partition("::")
    node = f"{file}{separator}{_TARGET_IN_ID.sub(_WITHOUT_PASSES, name, count=1)}"
    command = shlex.join(["python", "-m", "pytest", node, _OPTION_WITHOUT_PASSES])
    return f"{advice.removesuffix('.')}: {command}"


def _differs_as_sums_do(evidence: Evidence) -> bool:
    """Whether the kernel adds up terms, and every wrong buffer is off by little, here and there."""
    ops = [*evidence.operations, *(f"tt.atomic_rmw {one}" for one in evidence.operations.get("tt.atomic_rmw", ()))]
    wrong = [buffer for buffer in evidence.buffers if buffer.mismatch]
    return any(_SUMS.fullmatch(op) for op in ops) and all(_is_off_by_little(buffer) for buffer in wrong)


def _is_off_by_little(buffer: BufferEvidence) -> bool:
    counts = buffer.ulp_histogram  # none of integers, whose sums are exact
    small = sum(counts.get(label, 0) for label in _SMALL)
    mismatch = buffer.mismatch
    if mismatch is None or mismatch.error_shape not in _BY_CHANCE or "nan" in counts:
        return False
    return small > _MOST * sum(counts.values()) and mismatch.max_relative < _HALF_OF_IT


def _pass_to_blame(verdict: Verdict) -> str:
    """The pass that changed a buffer or that the compiler failed in; "" where none is named."""
    evidence = verdict.evidence
    if evidence.changed_by:
        return evidence.changed_by
    return verdict.stage if any(verdict.stage in stage.passes for stage in evidence.stages) else ""
