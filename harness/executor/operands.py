"""What the steps of GPU dialects share: operands by their name in an op's definition, predicates, and the CTAs of a
program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.ir import Operation, SSAValue

from harness.executor.context import Context
from harness.executor.plan import Frame, Planner
from harness.executor.types import get
from harness.executor.values import narrowed
from harness.ir import operand
from harness.semantics.types import Array


def chosen(context: Context, frame: Frame, predicate: int | None) -> tuple[Context, Array | None] | None:
    """The context of the programs where the predicate holds, and their positions; None positions mean all of them.
    None where it holds nowhere."""
    if predicate is None or frame[predicate].all():
        return context, None
    flags = np.broadcast_to(frame[predicate], (context.programs,))
    if not flags.any():
        return None
    positions = np.flatnonzero(flags)
    return context.subset(positions), positions


def narrowed_to(value: Any, positions: Array | None) -> Any:
    return value if positions is None else narrowed(value, positions)


def value_of(operation: Operation, name: str) -> SSAValue:
    value = operand(operation, name)
    assert value is not None
    return value


def values_of(operation: Operation, name: str) -> Sequence[SSAValue]:
    """A list of operands by its name in the op's definition."""
    return getattr(operation, name)


def slot_of(planner: Planner, operation: Operation, name: str) -> int:
    return planner.slot(value_of(operation, name))


def maybe_slot(planner: Planner, operation: Operation, name: str) -> int | None:
    value = operand(operation, name)
    return None if value is None else planner.slot(value)


def ctas_of(operation: Operation) -> int:
    """How many CTAs run one program: what the module says."""
    module = operation
    while (parent := module.parent_op()) is not None:
        module = parent
    return get(module, "ttg.num-ctas", 1)
