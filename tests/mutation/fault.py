"""What a fault is, and the ways of putting one into a run of a case."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Any

from harness.cases import CaseInstance, KernelCase
from harness.cases.evidence import Evidence
from harness.cases.options import Checks, RunOptions
from harness.targets import run_case_on
from harness.targets.npu import NPU, ExecutedTarget
from harness.targets.target import BoundLaunch, EnterStage, LaunchFunction, LaunchOutcome, RunContext, Target


class FaultNotInjected(Exception):
    """The fault found nothing to break: the table is wrong, and the harness is not on trial."""


@dataclass(frozen=True)
class CaseRun:
    """One run of a case, about to happen, in its own process."""

    instance: CaseInstance
    node_id: str
    options: RunOptions
    enter_stage: EnterStage
    target: Target = NPU

    def go(self) -> Evidence:
        return run_case_on(self.instance, self.node_id, self.target, self.options, self.enter_stage)


Injection = Callable[[CaseRun], Evidence]


def no_fault(run: CaseRun) -> Evidence:
    return run.go()


@dataclass(frozen=True)
class Fault:
    """One deliberate fault.

    breaks   what is wrong, for a person
    bucket   where its verdict must be filed
    case     `file::name[parameter id]`, from the root of the repository
    control  the same run without the fault: it must pass
    memory   bytes that the case may allocate; 0 is no limit
    timeout  seconds
    """

    name: str
    breaks: str
    bucket: str
    case: str
    injection: Injection
    control: Injection = no_fault
    checks: Checks = "fast"
    memory: int = 0
    timeout: float = 120.0


# --- in the program ------------------------------------------------------------------------------------------------

Edit = Callable[[str], str]


@dataclass(frozen=True)
class ImpatientTarget(ExecutedTarget):
    """The npu target with a watchdog that barks after a few thousand steps, so that a test need not wait."""

    @contextmanager
    def open(self, context: RunContext) -> Iterator[LaunchFunction]:
        executor = replace(context.executor, max_steps=5000, max_turns=2000)
        with ExecutedTarget.open(self, replace(context, executor=executor)) as launch:
            yield launch


def edited(edit: Edit) -> Injection:
    """The executor gets another program than the compiler made."""

    def inject(run: CaseRun) -> Evidence:
        return replace(run, target=ImpatientTarget(NPU.name, NPU.arch, transform=edit)).go()

    return inject


# --- in the launch -------------------------------------------------------------------------------------------------

# What a launch does, given the function that would do it right.
FaultyLaunch = Callable[[LaunchFunction, BoundLaunch], LaunchOutcome]


@dataclass(frozen=True)
class FaultyTarget(ExecutedTarget):
    """The npu target with something wrong between the case and the launch."""

    faulty: FaultyLaunch | None = None

    @contextmanager
    def open(self, context: RunContext) -> Iterator[LaunchFunction]:
        faulty = self.faulty
        assert faulty is not None
        with ExecutedTarget.open(self, context) as launch:
            yield lambda bound: faulty(launch, bound)


def launched(faulty: FaultyLaunch) -> Injection:
    """The target does something else than launch the kernel as bound."""

    def inject(run: CaseRun) -> Evidence:
        return replace(run, target=FaultyTarget(NPU.name, NPU.arch, faulty=faulty)).go()

    return inject


def rebound(change: Callable[[BoundLaunch], BoundLaunch]) -> Injection:
    """The kernel is launched, but with another grid or other arguments."""
    return launched(lambda launch, bound: launch(change(bound)))


# --- in the case ---------------------------------------------------------------------------------------------------


def rebuilt(change: Callable[[KernelCase], KernelCase]) -> Injection:
    """The case that runs is not the one in its file."""

    def inject(run: CaseRun) -> Evidence:
        template = run.instance.template

        def build(**chosen: Any) -> KernelCase:
            built = template.build(**chosen)
            assert isinstance(built, KernelCase)
            return change(built)

        return replace(run, instance=replace(run.instance, template=replace(template, build=build))).go()

    return inject


# --- in the harness ------------------------------------------------------------------------------------------------


def patched(patch: Callable[[], AbstractContextManager[None]], inner: Injection = no_fault) -> Injection:
    """Some function of the harness is another while the case runs, in the case's own process."""

    def inject(run: CaseRun) -> Evidence:
        with patch():
            return inner(run)

    return inject


@contextmanager
def replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    """`owner.name` is `value` inside the block. Raises AttributeError where there is none to replace."""
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)
