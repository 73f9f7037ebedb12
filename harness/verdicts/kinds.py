"""From the type of an exception, and the stage it was raised in, to a bucket.

Three tables, looked at in this order: the type alone (with a few that depend on the stage), the way a
process ended, and the stage alone for what has no type of its own.
"""

from __future__ import annotations

import harness.errors as errors

# Exceptions that mean one thing wherever they are raised. Those of harness.errors and of Triton are
# named by class, since only the name survives the journey out of the case's process.
_BY_KIND: dict[str, str] = {
    "CaseError": "collect",
    "CollectError": "collect",
    "ReferenceFailed": "reference",
    "FrontendError": "frontend",
    "CompilationError": "frontend",
    "CompileTimeAssertionFailure": "frontend",
    "UnsupportedLanguageConstruct": "frontend",
    "UnsupportedOp": "unsupported-op",
    "ParseError": "unsupported-op",
    "Refusal": "refused",
    "OutOfResources": "refused",
    "VerifierFailed": "verifier",
    "PassFailed": "compiler-crash",
    "CheckFailed": "filecheck",
    "UnexpectedPass": "unexpected-pass",
    "OutOfBounds": "trap-out-of-bounds",
    "IllegalAccess": "trap-out-of-bounds",
    "Trap": "trap-other",
    "LoweringFault": "lowering",
    "IllegalInstruction": "lowering",
    "ScratchpadFault": "lowering",
    "NotSimulated": "not-simulated",
    "Diverged": "wrong-values",
    "Timeout": "timeout",
    "OutOfMemory": "out-of-memory",
    "OutOfMemoryError": "out-of-memory",
    "MemoryError": "out-of-memory",
    "UnsupportedVersion": "environment",
    "UnsupportedFlag": "environment",
    "UsageError": "environment",
    "DamagedProgram": "environment",
    "EnvironmentFailed": "environment",
    "ModuleNotFoundError": "environment",
    "PermissionError": "environment",
    # The system's out-of-memory kill arrives as "OutOfMemory"; these come from a person or a scheduler.
    "Signal:SIGKILL": "environment",
    "Signal:SIGTERM": "environment",
    "Signal:SIGINT": "environment",
    "Signal:SIGHUP": "environment",
    "Signal:SIGXCPU": "timeout",
}

_BY_KIND_AND_STAGE: dict[tuple[str, str], str] = {
    # What a case file or a reference imports is its author's business, not the machine's.
    ("ModuleNotFoundError", "collect"): "collect",
    ("ModuleNotFoundError", "reference"): "reference",
    ("UsageError", "collect"): "collect",
    ("ParseError", "collect"): "collect",
}

# Who runs in a stage: the bucket of a failure that has no type of its own. Every stage that is not in
# the table is a pass or a lowering, because a target adds its own between "ttir" and "simulate".
_BY_STAGE: dict[str, str] = {
    "collect": "collect",
    "reference": "reference",
    "frontend": "frontend",
    "encode": "harness-crash",
    "simulate": "harness-crash",
    "compare": "harness-crash",
}
_COMPILER = "compiler-crash"
# Passes of our own lowering.
_OWN_PASSES = "npu-"

# A native death in the front end is libtriton's, not the kernel author's.
_NATIVE_BY_STAGE = {"frontend": _COMPILER}


def bucket_of_kind(kind: str, stage: str) -> str | None:
    """The bucket that the type decides, or None where the type says nothing."""
    if (kind, stage) in _BY_KIND_AND_STAGE:
        return _BY_KIND_AND_STAGE[kind, stage]
    for name in (kind, *_bases_of(kind)):
        if name in _BY_KIND:
            return _BY_KIND[name]
    if kind.startswith("Signal:"):
        return _NATIVE_BY_STAGE.get(stage) or bucket_of_stage(stage)
    return None


def bucket_of_stage(stage: str) -> str:
    """The bucket of a failure with no type of its own; "other" where there is no stage either."""
    if not stage:
        return "other"
    if stage.startswith(_OWN_PASSES):
        return "harness-crash"
    return _BY_STAGE.get(stage, _COMPILER)


def _bases_of(kind: str) -> list[str]:
    """Names of the harness's own base classes of `kind`, nearest first."""
    found = getattr(errors, kind, None)
    if not isinstance(found, type) or not issubclass(found, errors.HarnessError):
        return []
    return [base.__name__ for base in found.__mro__[1:]]
