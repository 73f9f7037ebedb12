"""Measures one benchmark: every side in a process of its own, one sample of each in turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from benchmarks.benchmark import Located
from benchmarks.processes import Worker
from benchmarks.results import InterpreterTime, Row
from benchmarks.sides import Sample
from harness.errors import HarnessError

MOST_INTERPRETER_SAMPLES = 3  # each takes from a third of a second to many

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    """repeat   samples of each side
    threads  of the executor, of torch and of BLAS
    interpreter, scaling  whether to measure those too
    machine  to lower to and simulate as well; "" for none
    """

    repeat: int = 5
    threads: int = 1
    interpreter: bool = True
    scaling: bool = False
    machine: str = ""


def measure(located: Located, plan: Plan, tell: Tell) -> Row:
    """One row of the table. What goes wrong becomes the row's `error`; `tell` hears of progress."""
    benchmark = located.benchmark
    row = Row(benchmark.name, benchmark.size, why=benchmark.why)
    try:
        return _measured(row, located, plan, tell)
    except HarnessError as error:
        tell(f"{benchmark.name}: {error}")
        return replace(row, error=str(error))


def _measured(row: Row, located: Located, plan: Plan, tell: Tell) -> Row:
    tell(f"{row.kernel} {row.size}: memory")
    with Worker(located, "memory", plan.threads) as worker:
        row = replace(row, grid=tuple(worker.ready()["grid"]))
        memory = worker.sample()
    row = replace(row, buffer_bytes=memory["buffers"], peak_bytes=memory["peak"])
    if plan.machine:
        with Worker(located, "memory", plan.threads, machine=plan.machine) as worker:
            worker.ready()
            row = replace(row, machine_peak_bytes=worker.sample()["peak"])
    tell(f"{row.kernel} {row.size}: checking results")
    with ExitStack() as stack:
        workers = _start(located, plan, stack)
        for worker in workers.values():
            worker.ready()
        tell(f"{row.kernel} {row.size}: timing")
        samples = _take_turns(workers, plan.repeat)
    return _with_times(row, samples)


def _start(located: Located, plan: Plan, stack: ExitStack) -> dict[str, Worker]:
    wanted = {"npu": ("npu", 1, ""), "torch": ("torch", 1, "")}
    if plan.interpreter:
        wanted["interpreter"] = ("interpreter", 1, "")
    if plan.scaling:
        wanted["doubled"] = ("npu", 2, "")
    if plan.machine:
        wanted["machine"] = ("npu", 1, plan.machine)
    return {
        name: stack.enter_context(Worker(located, side, plan.threads, scale, machine))
        for name, (side, scale, machine) in wanted.items()
    }


def _take_turns(workers: Mapping[str, Worker], repeat: int) -> dict[str, list[Sample]]:
    samples: dict[str, list[Sample]] = {name: [] for name in workers}
    for turn in range(repeat):
        for name, worker in workers.items():
            if name != "interpreter" or turn < MOST_INTERPRETER_SAMPLES:
                samples[name].append(worker.sample())
    return samples


def _with_times(row: Row, samples: Mapping[str, Sequence[Sample]]) -> Row:
    return replace(
        row,
        npu_seconds=_least(samples["npu"], "seconds"),
        executor_seconds=_least(samples["npu"], "executor"),
        torch_seconds=_least(samples["torch"], "seconds"),
        interpreter=_interpreted(samples.get("interpreter", ())),
        doubled_seconds=_least(samples["doubled"], "seconds") if "doubled" in samples else None,
        machine_seconds=_least(samples["machine"], "seconds") if "machine" in samples else None,
        compile_seconds=_least(samples["machine"], "compile") if "machine" in samples else None,
    )


def _least(samples: Sequence[Sample], key: str) -> float:
    return min(second for sample in samples for second in sample[key])


def _interpreted(samples: Sequence[Sample]) -> InterpreterTime | None:
    if not samples:
        return None
    first = min(sample["first"] for sample in samples)
    several = min(sample["several"] for sample in samples)
    return InterpreterTime(first, several, samples[0]["count"], samples[0]["programs"])
