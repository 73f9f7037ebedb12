"""What a run leaves behind. Plain data: picklable, and JSON through `dataclasses.asdict`.

The chain is Evidence (facts, made where the case ran) -> Verdict (made by `harness.verdicts`)
-> Record (everything about one run of the suite, made by `harness.reports`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from harness.cases.location import SourceLocation

# Stages every target has, in order. A target adds its own (each pass by its name) between
# "ttir" and "simulate". Stages are always referred to by name.
COMMON_STAGES = ("collect", "reference", "frontend", "ttir", "simulate", "compare")


@dataclass(frozen=True)
class TimingEvidence:
    """How long a launch takes on a machine, where that was asked for.

    seconds   at the machine's clock
    busy      by engine, the share of the cycles in which it worked
    bound     what limits the launch on the roofline, of which it achieves the share `achieved`
    reason    why there are no cycles; then everything else is zero
    """

    machine: str
    cycles: int = 0
    seconds: float = 0.0
    busy: dict[str, float] = field(default_factory=dict)
    bytes_in: int = 0
    bytes_out: int = 0
    operations: int = 0
    bound: str = ""
    achieved: float = 0.0
    reason: str = ""


@dataclass(frozen=True)
class LaunchEvidence:
    """One kernel launch. `simulated` is False where the host or real hardware ran it."""

    kernel: str
    grid: tuple[int, int, int]
    programs: int
    simulated: bool
    compile_seconds: float = 0.0
    simulate_seconds: float = 0.0
    replayed: bool = False
    timing: TimingEvidence | None = None


@dataclass(frozen=True)
class Mismatch:
    """How one buffer differs from its golden.

    Values are text (repr of the element), so that int64 and fp8 alike survive JSON.
    `error_shape` is one phrase: "one element", "tail of each row", "every 7th column",
    "a tile", "everything", "still poison", "shifted by 7".
    `writers` are program ids (x, y, z) that wrote mismatching elements: a few, from the first to the last.
    """

    wrong: int
    total: int
    first_index: tuple[int, ...]
    got: str
    want: str
    max_absolute: float
    max_relative: float
    max_ulp: float
    error_shape: str
    writers: tuple[tuple[int, int, int], ...] = ()


@dataclass(frozen=True)
class BufferEvidence:
    """One buffer of the case after the run. `role` is measured: "in", "out", "inout" or "unused".

    `waived`: the reference itself says that the buffer is written but cannot be compared.
    `largest_error`: the largest absolute difference from the golden, allowed ones included; infinities and NaNs aside.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    role: str
    compared: bool
    reason: str = ""  # why it was not compared; of a model's that differs, which launch made it
    tolerance: str = "exact"
    ulp_histogram: dict[str, int] = field(default_factory=dict)
    mismatch: Mismatch | None = None
    waived: bool = False
    largest_error: float = 0.0


@dataclass(frozen=True)
class Finding:
    """Something a check found that is not a trap.

    `kind` is a bucket name: "race", "uninitialised-read", "wrote-outside", "input-changed",
    "not-simulated", "reference" (an output was written that has no golden).
    """

    kind: str
    buffer: str
    message: str
    where: SourceLocation | None = None
    other: SourceLocation | None = None  # the other access of a race
    programs: tuple[tuple[int, int, int], ...] = ()

    @property
    def key(self) -> tuple[str, str, frozenset[SourceLocation | None]]:
        """The same for findings of one kind about one buffer and two lines, whichever of them came first."""
        return self.kind, self.buffer, frozenset({self.where, self.other})


@dataclass(frozen=True)
class Failure:
    """The first thing that went wrong. `kind` is the exception's class name, or one of
    "Signal:SIGSEGV", "Exit:3", "Timeout", "OutOfMemory" when the process did not survive."""

    stage: str
    kind: str
    message: str
    where: SourceLocation | None = None
    hint: str = ""
    traceback: str = ""
    log: str = ""  # tail of stderr: evidence for the text patterns, never parsed first


@dataclass(frozen=True)
class CommandEvidence:
    """One RUN line of a lit case that was run to its end: as it is written, and the tools it called."""

    line: int
    command: str
    tools: tuple[str, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True)
class StageEvidence:
    """Modules of a GPU backend's pipeline, one after another, that are the same program to the executor.

    launch    index of the launch in `Evidence.launches`
    pipeline  the backend's stage they belong to: "ttir", "ttgir"
    number    of the first of them in the launch's compilation
    after     the pass that left the first of them behind; "" where none had run
    passes    those that were about to run on each, in order: all but the last left the program as it was
    verdict   "match", "differs", "not executed"
    reason    one sentence where the verdict is not "match"
    blocker   the op, type or attribute that kept it from being executed
    """

    launch: int
    pipeline: str
    number: int
    after: str
    passes: tuple[str, ...]
    verdict: str
    reason: str = ""
    blocker: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class ModelEvidence:
    """What the run of a model case came to, beyond its launches and buffers.

    kernels        distinct ones
    compared       buffers compared with a golden of the graph, and `by_executor` with what the IR executor makes of the
                   same launch
    without        buffers that were compared with nothing, "graph/buffer: why"
    externs        what stayed on the host: "op: why"
    worst_error    the largest error of a buffer against float64, relative to the largest magnitude of its golden, and
                   `worst_buffer` which one
    compile_seconds, simulate_seconds, compare_seconds   of torch and Triton; of launches; of goldens and comparing
    """

    kernels: int = 0
    compared: int = 0
    by_executor: int = 0
    without: list[str] = field(default_factory=list)
    externs: list[str] = field(default_factory=list)
    worst_error: float = 0.0
    worst_buffer: str = ""
    compile_seconds: float = 0.0
    simulate_seconds: float = 0.0
    compare_seconds: float = 0.0


@dataclass
class Evidence:
    """Everything one run of one case on one target found out."""

    case: str  # node id
    target: str
    stage: str = "collect"  # the last stage entered
    launches: list[LaunchEvidence] = field(default_factory=list)
    buffers: list[BufferEvidence] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    failure: Failure | None = None
    seconds: dict[str, float] = field(default_factory=dict)  # by stage
    output: str = ""  # what the kernel printed (tl.device_print)
    artifacts: str = ""  # folder holding kernel, IR and buffers; only for failures
    operations: dict[str, list[str]] = field(default_factory=dict)  # of the IR that ran; see harness.targets.op_usage
    commands: list[CommandEvidence] = field(default_factory=list)  # of a lit case
    stages: list[StageEvidence] = field(default_factory=list)  # of a target that runs every stage of a pipeline
    model: ModelEvidence | None = None  # of a model case
    changed_by: str = ""  # the pass after which buffers, or what the checks find, were wrong first

    @property
    def is_clean(self) -> bool:
        """Nothing in it is anything but a pass."""
        wrong = any(buffer.mismatch for buffer in self.buffers) or any(one.verdict == "differs" for one in self.stages)
        return not (wrong or self.findings or self.failure or self.changed_by)


@dataclass(frozen=True)
class Verdict:
    """`outcome` is "pass", "fail", "refused", "skip" or "void"; `bucket` is "" for a pass."""

    case: str
    target: str
    outcome: str
    stage: str
    bucket: str
    summary: str  # one line for a person
    evidence: Evidence

    @property
    def is_failure(self) -> bool:
        """True where a person must look: as lit's result codes carry isFailure."""
        return self.outcome in ("fail", "void")
