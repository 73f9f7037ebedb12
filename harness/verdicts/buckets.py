"""The buckets: the label a failure is counted under, the layer that owns it, and what to do next."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

from harness.errors import UsageError


@dataclass(frozen=True)
class Bucket:
    """`owner` is the layer a person of which should look; `meaning` and `next_step` are one sentence each.

    `without_passes` is the next step where no pass had run, `of_models` that of a model case, if it is another one.
    """

    name: str
    owner: str
    meaning: str
    next_step: str
    without_passes: str = ""
    of_models: str = ""


# In the order in which a run meets them: tables and reports keep it.
BUCKETS: tuple[Bucket, ...] = (
    Bucket(
        "collect",
        "case author",
        "The case file does not describe a case: it does not import, or a grid, dtype or buffer is wrong.",
        "Mend the case file at the line named in the message.",
    ),
    Bucket(
        "reference",
        "case author",
        "The reference is missing, failed, gave no golden for what the kernel wrote, or the kernel writes nothing.",
        "Mend the reference: it must return one tensor for every buffer the kernel writes, of one or more.",
        of_models="Read the message: torch alone must be able to run the module, and every buffer needs a golden.",
    ),
    Bucket(
        "frontend",
        "Triton front end",
        "Triton's front end refused the kernel's Python.",
        "Read the compilation error; if the kernel is legal Triton, report it to Triton with kernel.py.",
    ),
    Bucket(
        "unsupported-op",
        "harness semantics",
        "The executor has no meaning for an op, type or attribute, or cannot read the IR that holds it.",
        "Add the op to harness/ir and harness/semantics (docs/adding-an-op.md).",
    ),
    Bucket(
        "refused",
        "target lowering",
        "The lowering said, with a reason, that it cannot place this kernel on the machine.",
        "Read the reason; list the case as a known failure, or teach the lowering.",
    ),
    Bucket(
        "compiler-crash",
        "compiler",
        "A pass returned failure, or the compiler asserted, aborted or segfaulted.",
        "Rerun the last IR of the failure folder through the pass that the stage names.",
    ),
    Bucket(
        "lowering",
        "simulated NPU",
        "The machine's program does something else than the IR it was lowered from, or breaks a rule of the machine.",
        "Rerun with --check-lowering, which names the pass, the instruction and the first value that differs.",
    ),
    Bucket(
        "verifier",
        "compiler",
        "A pass left IR behind that does not verify.",
        "Compare the IR before and after the pass that the stage names.",
    ),
    Bucket(
        "filecheck",
        "compiler",
        "What the compiler printed, or how it ended, is not what the check lines of a lit case say.",
        "Compare the check line with the input around it; if the new output is right, `harness opt --update` the case.",
    ),
    Bucket(
        "unexpected-pass",
        "case author",
        "A lit case passes that its XFAIL line says must fail.",
        "Take the XFAIL off, or narrow it to the releases that fail.",
    ),
    Bucket(
        "trap-out-of-bounds",
        "kernel or compiler",
        "A program touched memory outside every buffer its pointer may point into.",
        "Look at the mask and the bounds at the kernel line named; then rerun with --check-lowering (npu) and with"
        " --target=ttir, which runs no pass.",
        "Look at the mask and the bounds at the kernel line named: no pass has had a part in it.",
    ),
    Bucket(
        "trap-other",
        "kernel or compiler",
        "The simulator stopped a program: a misaligned access, a device assertion, a deadlock or the watchdog.",
        "Look at the kernel line and the program id in the message.",
    ),
    Bucket(
        "race",
        "kernel or compiler",
        "Two programs touched the same element, at least one wrote it, and nothing orders them.",
        "Look at both kernel lines named; order them by a release and an acquire, or make both atomic.",
    ),
    Bucket(
        "uninitialised-read",
        "kernel or compiler",
        "A program read memory that nobody had written.",
        "Look at the mask of the load at the kernel line named.",
    ),
    Bucket(
        "wrote-outside",
        "kernel or compiler",
        "A program wrote inside the allocation but outside the view, such as a hole between strided rows.",
        "Look at the strides of the store at the kernel line named.",
    ),
    Bucket(
        "input-changed",
        "kernel or compiler",
        "A buffer that the kernel only reads does not hold what it held before the launch.",
        "Find what else writes to that storage: an alias, or a store through the wrong pointer.",
    ),
    Bucket(
        "wrong-values",
        "kernel or compiler",
        "The run finished and a buffer differs from its golden.",
        "Read the shape of the error in the report, then rerun with --check-lowering (npu) and with --target=ttir,"
        " which runs no pass.",
        "Read the shape of the error in the report, then the kernel and its reference: no pass has had a part in it.",
    ),
    Bucket(
        "not-simulated",
        "target",
        "No launch was simulated, or part of the case ran on the host, so the values prove nothing.",
        "Find why the launch went elsewhere; the evidence lists every launch and who ran it.",
        of_models="Take out of the module what cannot become a Triton kernel, or make a case of each part around it.",
    ),
    Bucket(
        "timeout",
        "kernel or target",
        "The case ran past --case-timeout and was stopped.",
        "Rerun it alone with a longer --case-timeout; the stage says what it was doing.",
    ),
    Bucket(
        "out-of-memory",
        "kernel or target",
        "The case asked for more memory than it may have, or the system stopped it for its use of memory.",
        "Make the case smaller, or run it alone to see whether it needs that much.",
    ),
    Bucket(
        "environment",
        "machine",
        "The machine, not the code: an unsupported version, a missing package, a full disk, a signal from outside.",
        "Put the machine right and run again; no case is to blame.",
    ),
    Bucket(
        "harness-crash",
        "harness",
        "The harness itself broke while it simulated or compared: an untyped error or a native crash of its own.",
        "Report it to this project with the failure folder.",
    ),
    Bucket(
        "void",
        "machine",
        "The run proves nothing: the toolchain changed under it, or an old result was replayed.",
        "Run again while nothing rebuilds or reinstalls the toolchain.",
    ),
    Bucket(
        "other",
        "harness",
        "Nothing typed, no stage and no pattern says what this is.",
        "Give the failure a typed exception, or add a pattern to harness/verdicts/patterns.json.",
    ),
)

_BY_NAME = {bucket.name: bucket for bucket in BUCKETS}
BUCKET_NAMES: tuple[str, ...] = tuple(_BY_NAME)

# What people say for some of them.
_COMMONLY = {
    **dict.fromkeys(("hang", "hung", "deadline"), "timeout"),
    **dict.fromkeys(("mismatch", "miscompile", "values"), "wrong-values"),
    **dict.fromkeys(("crash", "segfault", "assertion"), "compiler-crash"),
    **dict.fromkeys(("oom", "memory"), "out-of-memory"),
    **dict.fromkeys(("bounds", "out-of-bounds"), "trap-out-of-bounds"),
    **dict.fromkeys(("trap", "deadlock", "misaligned"), "trap-other"),
}


def bucket_named(name: str) -> Bucket:
    """The bucket called `name`. Raises UsageError, with the nearest known name, else all of them."""
    if name in _BY_NAME:
        return _BY_NAME[name]
    near = difflib.get_close_matches(name, (*BUCKET_NAMES, *_COMMONLY), n=1)
    meant = [_COMMONLY.get(one, one) for one in near]
    hint = f"did you mean {meant[0]!r}?" if meant else f"one of: {', '.join(BUCKET_NAMES)}"
    raise UsageError(f"no bucket is called {name!r}", hint=hint)
