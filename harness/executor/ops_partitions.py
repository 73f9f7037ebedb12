"""Warp specialisation: the parts of a program run at once, each until a barrier holds it up."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Operation

from harness.executor.context import Context
from harness.executor.partitions import Partitions
from harness.executor.plan import BlockPlan, Frame, Planner, Step, op


@op("ttg.warp_specialize")
def _warp_specialize(planner: Planner, operation: Operation) -> Step:
    captured, targets = planner.slots_of(operation.operands), planner.slots_of(operation.results)
    default, *others = [planner.region(region) for region in operation.regions]

    def run(context: Context, frame: Frame) -> None:
        for part in others:
            for slot, source in zip(part.arguments, captured, strict=True):
                frame[slot] = frame[source]
        # No value belongs to two parts: they share the frame.
        Partitions(context).run([_running(part, context, frame) for part in (default, *others)])
        for slot, source in zip(targets, default.yields, strict=True):
            frame[slot] = frame[source]

    return run


def _running(part: BlockPlan, context: Context, frame: Frame) -> Callable[[], None]:
    return lambda: part.run(context, frame)
