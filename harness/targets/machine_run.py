"""A case's launches on a machine, for their programs and their cycles: nothing is compared."""

from __future__ import annotations

from dataclasses import dataclass

from harness.cases.allocate import allocate
from harness.cases.kernel_case import CaseInstance
from harness.npu.activation import npu_driver_active
from harness.npu.session import LaunchRecord, Session, use_session
from harness.targets.launch_check import check_launch
from harness.targets.npu import memory_of, npu_option_names
from harness.targets.run_case import as_triton, seed_text


@dataclass(frozen=True)
class Wanted:
    """values   compute them, as a loop whose trips depend on memory needs
    timing   time each launch
    events   with what a trace shows
    """

    values: bool = False
    timing: bool = False
    events: bool = False


def run_on_machine(instance: CaseInstance, machine: str, wanted: Wanted) -> list[LaunchRecord]:
    """Compiles the case for the machine and launches it. Raises whatever compiling it does: Refusal, UnsupportedOp,
    Triton's own errors."""
    case = instance.build()
    allocated = allocate(case, seed_text(instance))
    session = Session(
        memory=memory_of(allocated),
        values=wanted.values,
        timing=wanted.timing,
        events=wanted.events,
        benchmark_runs=1,
    )
    with npu_driver_active(machine), use_session(session):
        for launch in case.launches:
            arguments = {name: as_triton(value) for name, value in allocated.arguments(launch).items()}
            check_launch(launch, arguments, npu_option_names())
            launch.kernel[launch.grid](**arguments, **launch.options)
    return session.launches
