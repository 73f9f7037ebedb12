"""From evidence to bucket: the type decides, then what was measured, then the log; a pass must be earned."""

from __future__ import annotations

import inspect

import pytest

import harness.errors as errors
from harness.cases.evidence import BufferEvidence, Failure, Finding, LaunchEvidence
from harness.cases.location import SourceLocation
from harness.verdicts import BUCKET_NAMES, bucket_named, classify, voided


def test_a_run_that_shows_everything_passes(evidence):
    verdict = classify(evidence())
    assert (verdict.outcome, verdict.bucket, verdict.is_failure) == ("pass", "", False)


@pytest.mark.parametrize(
    ("kind", "stage", "bucket"),
    [
        ("CaseError", "collect", "collect"),
        ("ReferenceFailed", "reference", "reference"),
        ("FrontendError", "frontend", "frontend"),
        ("UnsupportedOp", "simulate", "unsupported-op"),
        ("ParseError", "ttir", "unsupported-op"),
        ("PassFailed", "tritongpu-pipeline", "compiler-crash"),
        ("VerifierFailed", "tritongpu-pipeline", "verifier"),
        ("OutOfBounds", "simulate", "trap-out-of-bounds"),
        ("IllegalAccess", "simulate", "trap-out-of-bounds"),
        ("Misaligned", "simulate", "trap-other"),
        ("AssertionTrap", "simulate", "trap-other"),
        ("Deadlock", "simulate", "trap-other"),
        ("LoweringFault", "simulate", "lowering"),
        ("ScratchpadFault", "simulate", "lowering"),
        ("KeyError", "npu-place-lanes", "harness-crash"),
        ("NotSimulated", "simulate", "not-simulated"),
        ("Timeout", "frontend", "timeout"),
        ("OutOfMemory", "simulate", "out-of-memory"),
        ("UnsupportedVersion", "collect", "environment"),
        ("Signal:SIGSEGV", "frontend", "compiler-crash"),
        ("Signal:SIGABRT", "tritongpu-pipeline", "compiler-crash"),
        ("Signal:SIGSEGV", "simulate", "harness-crash"),
        ("Signal:SIGSEGV", "reference", "reference"),
        ("Signal:SIGTERM", "simulate", "environment"),
        ("Exit:3", "collect", "collect"),
        ("Exit:1", "tritongpu-pipeline", "compiler-crash"),
        ("RuntimeError", "ttir", "compiler-crash"),
        # a stage that was added: stages are known by name, and what is not the harness's own is a pass
        ("RuntimeError", "a-pass-of-next-year", "compiler-crash"),
        ("KeyError", "simulate", "harness-crash"),
        ("ZeroDivisionError", "reference", "reference"),
    ],
)
def test_type_and_stage_decide(evidence, kind, stage, bucket):
    failure = Failure(stage, kind, "it went wrong", SourceLocation("k.py", 7))
    verdict = classify(evidence(failure=failure, stage=stage))
    assert (verdict.outcome, verdict.stage, verdict.bucket) == ("fail", stage, bucket)
    assert verdict.summary == "k.py:7: it went wrong"


def test_a_refusal_is_neither_pass_nor_failure(evidence):
    verdict = classify(evidence(failure=Failure("layout", "Refusal", "needs 3 banks"), stage="layout"))
    assert (verdict.outcome, verdict.bucket, verdict.is_failure) == ("refused", "refused", False)


def test_every_error_type_of_the_harness_has_a_bucket_whatever_the_stage(evidence):
    kinds = [name for name, kind in vars(errors).items() if inspect.isclass(kind) and issubclass(kind, Exception)]
    for kind in set(kinds) - {"HarnessError"}:
        verdict = classify(evidence(failure=Failure("", kind, "x"), stage=""))
        assert verdict.bucket != "other", kind


def test_a_type_beats_any_log(evidence):
    log = "LLVM ERROR: out of memory\nPassManager::run failed"
    verdict = classify(evidence(failure=Failure("simulate", "OutOfBounds", "x[9]", log=log)))
    assert verdict.bucket == "trap-out-of-bounds"


@pytest.mark.parametrize("kind", ["RuntimeError", "EnvironmentFailed"])
def test_wrong_values_are_wrong_values_however_noisy_the_log(evidence, wrong, kind):
    failure = Failure("compare", kind, "PassManager::run failed", log="LLVM ERROR: Assertion `x' failed")
    verdict = classify(evidence(buffers=[wrong], failure=failure))
    assert verdict.bucket == "wrong-values"
    assert verdict.summary == "out: 2 of 8 wrong (tail of each row), first at [6]: got nan, want 1.0"


def test_a_finding_explains_the_wrong_values_it_caused(evidence, wrong):
    race = Finding("race", "out", "out[3] written twice", SourceLocation("k.py", 3), SourceLocation("k.py", 4))
    unwritten = Finding("uninitialised-read", "out", "out[3] read before it was written")
    verdict = classify(evidence(buffers=[wrong], findings=[unwritten, race]))
    assert verdict.bucket == "race"
    assert verdict.summary == "k.py:3 and k.py:4: out[3] written twice (and 1 more)"


def test_a_grid_of_zero_programs_is_still_a_launch(evidence):
    empty_grid = [LaunchEvidence("k", (0, 1, 1), 0, simulated=True)]
    assert classify(evidence(launches=empty_grid)).outcome == "pass"


@pytest.mark.parametrize(
    ("changes", "outcome", "bucket"),
    [
        ({"launches": []}, "fail", "not-simulated"),
        # a matmul that went to the eager library beside a kernel that was simulated
        (
            {
                "launches": [
                    LaunchEvidence("k", (1, 1, 1), 1, simulated=True),
                    LaunchEvidence("mm", (1, 1, 1), 1, simulated=False),
                ]
            },
            "fail",
            "not-simulated",
        ),
        ({"launches": [LaunchEvidence("k", (1, 1, 1), 1, simulated=True, replayed=True)]}, "void", "void"),
        ({"buffers": []}, "fail", "reference"),
        ({"buffers": [BufferEvidence("x", "fp32", (8,), "in", compared=False)]}, "fail", "reference"),
        (
            {
                "buffers": [
                    BufferEvidence("a", "fp32", (8,), "out", compared=True),
                    BufferEvidence("b", "fp32", (8,), "inout", compared=False, reason="no golden"),
                ]
            },
            "fail",
            "reference",
        ),
        ({"stage": "simulate"}, "fail", "other"),
    ],
)
def test_a_pass_must_be_earned(evidence, changes, outcome, bucket):
    verdict = classify(evidence(**changes))
    assert (verdict.outcome, verdict.bucket) == (outcome, bucket)


def test_a_buffer_the_reference_waives_need_not_be_compared(evidence):
    compared = BufferEvidence("out", "fp32", (8,), "out", compared=True)
    lock = BufferEvidence("lock", "int32", (1,), "inout", compared=False, waived=True)
    assert classify(evidence(buffers=[compared, lock])).outcome == "pass"


@pytest.mark.parametrize("target", ["gpu", "interpreter"])
def test_hardware_and_interpreter_owe_no_simulation(evidence, target):
    launches = [LaunchEvidence("k", (1, 1, 1), 1, simulated=False)]
    assert classify(evidence(target=target, launches=launches)).outcome == "pass"
    assert classify(evidence(target=target, launches=[])).bucket == "not-simulated"


def test_nothing_at_all_is_not_a_pass(evidence):
    assert classify(evidence(stage="", launches=[], buffers=[])).outcome == "fail"
    assert classify(evidence(failure=Failure("", "Strange", ""), stage="")).bucket == "other"


def test_a_summary_is_one_line_of_bounded_length(evidence):
    message = "\n\n  first line\nsecond" + "x" * 10_000
    assert classify(evidence(failure=Failure("ttir", "PassFailed", message))).summary == "first line"
    assert len(classify(evidence(failure=Failure("ttir", "PassFailed", "y" * 10_000))).summary) == 300


def test_a_voided_verdict_keeps_what_it_would_have_been(evidence):
    verdict = voided(classify(evidence()), ["triton changed"])
    assert (verdict.outcome, verdict.bucket, verdict.is_failure) == ("void", "void", True)
    assert verdict.summary == "void (triton changed); it would have been: pass"


def test_every_bucket_says_who_and_what_next():
    for name in BUCKET_NAMES:
        bucket = bucket_named(name)
        assert bucket.owner and bucket.meaning.endswith(".") and bucket.next_step.endswith(".")
    with pytest.raises(errors.UsageError, match="no bucket is called 'wrong'"):
        bucket_named("wrong")
