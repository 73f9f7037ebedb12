"""The plan for a launch that leaves lanes idle: the kernel's, less those lanes."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue

from harness.executor.api import ExecutorOptions, LaunchResult
from harness.executor.context import Context, ids_of
from harness.executor.idle_lanes import Evaluate, ended
from harness.executor.memory import Memory
from harness.executor.plan import Plan, Planner, compile_module

Grid = tuple[int, int, int]

_MOST_KEPT = 64  # launches that are remembered
_lock = threading.Lock()


def without_idle_lanes(plan: Plan, grid: Grid, values: Sequence[Any], options: ExecutorOptions) -> Plan:
    """A plan that leaves the same in memory as `plan` does in this launch, without the lanes that no program of it
    uses; `plan` itself where there are none, or too few to matter.

    values  of the kernel's parameters, as a frame holds them
    """
    if math.prod(grid) * plan.widest < options.idle_elements:
        return plan
    key = (grid, *(value.tobytes() if isinstance(value, np.ndarray) else None for value in values))
    with _lock:
        known = plan.of_launch.get(key)
        if known is None:
            if len(plan.of_launch) >= _MOST_KEPT:
                plan.of_launch.clear()
            known = plan.of_launch[key] = _plan_for(plan, grid, values)
    return known


def _plan_for(plan: Plan, grid: Grid, values: Sequence[Any]) -> Plan:
    idle = plan.idle
    ends = () if idle is None else idle.ends(grid, _evaluator(idle.function, grid, values))
    if idle is None or not ends:
        return plan
    if ends not in plan.shorter:
        plan.shorter[ends] = compile_module(ended(idle, ends), plan.entry.name, plan.native)
    return plan.shorter[ends]


def _evaluator(function: Operation, grid: Grid, arguments: Sequence[Any]) -> Evaluate:
    def evaluate(ops: Sequence[Operation], results: Sequence[SSAValue], programs: Grid) -> list[object]:
        planner = Planner({}, native=False)
        frame: list[Any] = list(arguments)
        planner.slots_of(function.regions[0].block.args)
        steps = [planner.step(operation) for operation in ops]
        slots = planner.slots_of(results)
        frame += [None] * (planner.slots - len(frame))
        total = math.prod(programs)
        context = Context(ids_of(programs, 0, total), grid, Memory(), ExecutorOptions(), LaunchResult(total))
        with np.errstate(all="ignore"):
            for step in steps:
                step(context, frame)
        return [frame[slot] for slot in slots]

    return evaluate
