"""One run of one case on one target: allocate, reference, launch, compare. Runs inside the case's own process."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from harness.cases.allocate import Allocated, DescribedTensor, Snapshot, allocate
from harness.cases.evidence import BufferEvidence, Evidence
from harness.cases.kernel_case import CaseInstance, KernelCase, Launch
from harness.cases.location import SourceLocation
from harness.cases.options import Checks, RunOptions
from harness.errors import CaseError
from harness.executor.api import ExecutorOptions
from harness.goldens import Comparison, Writers, compare, run_reference
from harness.goldens.compare import Program
from harness.targets.artifacts import save_artifacts
from harness.targets.failures import Context, failure_of
from harness.targets.launch_check import check_launch
from harness.targets.nothing_stored import nothing_stored
from harness.targets.op_usage import ops_used
from harness.targets.operation import operation_of
from harness.targets.registry import target_named
from harness.targets.roles import measured_roles
from harness.targets.stage_clock import StageClock
from harness.targets.stderr_log import StderrLog, stderr_log
from harness.targets.target import BoundLaunch, EnterStage, LaunchOutcome, RunContext, Target

if TYPE_CHECKING:
    import numpy as np


def run_case(
    instance: CaseInstance, node_id: str, target: str, options: RunOptions, enter_stage: EnterStage
) -> Evidence:
    """Everything a run of `instance` finds out. What goes wrong becomes `Evidence.failure`, with its stage.

    `enter_stage` hears each stage as it begins, so that the last one is known should this process die.
    Raises UsageError for a target that is unknown or cannot run here: that is no finding about the case.
    """
    return run_case_on(instance, node_id, target_named(target), options, enter_stage)


def run_case_on(
    instance: CaseInstance, node_id: str, target: Target, options: RunOptions, enter_stage: EnterStage
) -> Evidence:
    """`run_case` on a target that need not be in the registry. Raises UsageError when it cannot run here."""
    target.check()
    with stderr_log() as log:
        return _Run(instance, target, options, Evidence(node_id, target.name), enter_stage, log).run()


@dataclass
class _Run:
    """The state of one run, filled in stage by stage, so that a failure can show all there is so far."""

    instance: CaseInstance
    target: Target
    options: RunOptions
    evidence: Evidence
    tell: EnterStage
    log: StderrLog
    case: KernelCase | None = None
    allocated: Allocated | None = None
    goldens: Mapping[str, np.ndarray | None] = field(default_factory=dict)
    before: Snapshot | None = None
    kernel: Any = None  # the one being launched
    irs: dict[str, Callable[[], str]] = field(default_factory=dict)
    clock: StageClock = field(init=False)
    telling: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        self.clock = StageClock(self.evidence)

    def run(self) -> Evidence:
        self._enter("collect")
        try:
            self._stages()
        except Exception as error:
            context = Context(self.evidence.stage, self.kernel, self.log.text())
            placed = self.instance.placed(error) if isinstance(error, CaseError) else error
            self.evidence.failure = failure_of(placed.with_traceback(error.__traceback__), context)
        self.clock.stop()
        if self._went_wrong and self.options.artifacts:
            self._save()
        return self.evidence

    def _stages(self) -> None:
        with seeded_torch(self.instance):
            self.case = case = self.instance.build()
        self.allocated = allocated = allocate(case, seed_text(self.instance), self.target.device)
        for launch in case.launches:
            check_launch(launch, self._arguments(launch), self.target.option_names())
        self._enter("reference")
        self.goldens = run_reference(case, allocated, self.instance.template.where)
        self.before = allocated.snapshot()
        outcomes = self._launch_all(self.options.checks)
        self.kernel = None
        for outcome in outcomes:
            self.evidence.launches += outcome.launches
            self.evidence.findings += outcome.findings
        self.evidence.output = "\n".join(line for outcome in outcomes for line in outcome.output)
        self.evidence.operations = ops_used(text for outcome in outcomes for text in outcome.texts)
        self._enter("compare")
        comparison = self._compare(outcomes)
        if self.target.simulated and any(buffer.mismatch for buffer in comparison.buffers):
            comparison = self._with_writers(comparison, outcomes)
        self.evidence.buffers = comparison.buffers
        self.evidence.findings += comparison.findings
        if not self.evidence.findings:
            where = self.instance.template.where
            self.evidence.findings += nothing_stored(self.evidence.operations, comparison.buffers, where)

    def _launch_all(self, checks: Checks) -> list[LaunchOutcome]:
        assert self.case is not None and self.allocated is not None
        executor = ExecutorOptions(checks=checks, threads=self.options.threads, in_loop=self._in_loop)
        context = RunContext(self.allocated, executor, self._enter, self._keep_ir, self.options)
        outcomes = []
        with self.target.open(context) as launch:
            for one in self.case.launches:
                self.kernel = one.kernel
                outcomes.append(launch(BoundLaunch(one.kernel, one.grid, self._arguments(one), one.options)))
        return outcomes

    def _arguments(self, launch: Launch) -> dict[str, Any]:
        assert self.allocated is not None
        return {name: as_triton(value) for name, value in self.allocated.arguments(launch).items()}

    def _compare(self, outcomes: Sequence[LaunchOutcome], writers: Writers | None = None) -> Comparison:
        assert self.case is not None and self.allocated is not None and self.before is not None
        texts = [text for outcome in outcomes for text in outcome.texts]
        return compare(
            self.case,
            self.allocated,
            self.goldens,
            measured_roles(self.allocated, outcomes, self.goldens.keys()),
            self.before,
            writers=writers,
            operation=operation_of(texts),
        )

    def _with_writers(self, comparison: Comparison, outcomes: Sequence[LaunchOutcome]) -> Comparison:
        """The comparison with the programs that wrote what is wrong, from a second run that traces stores."""
        assert self.allocated is not None and self.before is not None
        traced = [writers for outcome in outcomes for writers in outcome.writers]
        if not traced:
            traced = self._trace()
        if not traced:
            return comparison
        named = {buffer.name: buffer for buffer in self._compare(outcomes, _together(traced)).buffers}
        buffers = [_name_writers(buffer, named[buffer.name]) for buffer in comparison.buffers]
        return Comparison(buffers, comparison.findings)

    def _trace(self) -> list[Writers]:
        """Runs the launches once more over the same inputs; leaves memory as the first run left it."""
        assert self.allocated is not None and self.before is not None
        after = self.allocated.snapshot()
        self.allocated.restore(self.before)
        try:
            with self._quiet():
                outcomes = self._launch_all("full")
        except Exception:
            # The first run got through: what this one trips over explains nothing about it.
            return []
        finally:
            self.allocated.restore(after)
        return [writers for outcome in outcomes for writers in outcome.writers]

    @contextmanager
    def _quiet(self) -> Iterator[None]:
        """The stages of a second run are nobody's news."""
        tell, stage = self.tell, self.evidence.stage
        self.tell = _ignore
        try:
            yield
        finally:
            self.tell = tell
            self._enter(stage)

    def _enter(self, stage: str) -> None:
        self.clock.begin(stage)
        self.tell(stage)

    def _in_loop(self, where: SourceLocation) -> None:
        with self.telling:  # programs may run on threads
            self.tell(self.evidence.stage, where)

    def _keep_ir(self, stage: str, text: Callable[[], str]) -> None:
        self.irs[stage] = text

    @property
    def _went_wrong(self) -> bool:
        wrong = any(buffer.mismatch for buffer in self.evidence.buffers)
        return wrong or bool(self.evidence.findings) or self.evidence.failure is not None

    def _save(self) -> None:
        folder = Path(self.options.artifacts)
        failure = save_artifacts(folder, self.evidence, self.case, self.kernel, self.irs, self._memory())
        if failure is None:
            self.evidence.artifacts = str(folder)
        elif self.evidence.failure is None:
            self.evidence.failure = failure

    def _memory(self) -> tuple[Allocated, Snapshot, Mapping[str, np.ndarray | None]] | None:
        if self.allocated is None or self.before is None:
            return None
        return self.allocated, self.before, self.goldens


def seed_text(instance: CaseInstance) -> str:
    """What a case's data depends on: the case without the target, so that every target sees the same."""
    template = instance.template
    return f"{Path(template.where.file).name}::{template.name}[{instance.parameter_id}]"


@contextmanager
def seeded_torch(instance: CaseInstance) -> Iterator[None]:
    """Inside the block what a case draws from torch's generator is the same in every run. Afterwards the generator is
    as before: a case that changes its process gets the next one another."""
    import torch

    digest = hashlib.blake2b(seed_text(instance).encode(), digest_size=8).digest()
    before = torch.get_rng_state()
    torch.default_generator.manual_seed(int.from_bytes(digest, "little") >> 1)
    try:
        yield
    finally:
        torch.set_rng_state(before)


def as_triton(value: Any) -> Any:
    """A list of buffers is a tuple argument of the kernel; a described tensor is Triton's TensorDescriptor."""
    if isinstance(value, DescribedTensor):
        from triton.tools.tensor_descriptor import TensorDescriptor

        return TensorDescriptor.from_tensor(value.tensor, list(value.block_shape), value.padding)
    if not isinstance(value, (list, tuple)):
        return value
    items = [as_triton(item) for item in value]
    # A named tuple keeps its fields.
    return type(value)(*items) if hasattr(value, "_fields") else tuple(items)


def _together(traced: Sequence[Writers]) -> Writers:
    """One question to several launches: a program that wrote the bytes in any of them is a writer."""

    def writers(storage: str, offsets: Sequence[int]) -> list[Program]:
        found = [program for one in traced for program in one(storage, offsets)]
        return list(dict.fromkeys(found))

    return writers


def _name_writers(buffer: BufferEvidence, named: BufferEvidence) -> BufferEvidence:
    if buffer.mismatch is None or named.mismatch is None:
        return buffer
    return replace(buffer, mismatch=replace(buffer.mismatch, writers=named.mismatch.writers))


def _ignore(stage: str, where: SourceLocation | None = None) -> None:
    """Nobody asked."""
