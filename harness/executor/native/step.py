"""A group in a plan: native code where the launch is large enough and every value has a form for it, else its ops
one by one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.executor.context import Context
from harness.executor.native import engine
from harness.executor.native.emitter import Layout, compile_group, layout_of
from harness.executor.native.groups import Group
from harness.executor.native.leaves import Held, NoForm, held
from harness.executor.native.schedule import NoSchedule, Schedule, accessed, pointer_root, scheduled
from harness.executor.products import Shared
from harness.executor.types import element, extents
from harness.executor.values import merged, narrowed
from harness.semantics import numpy_dtype
from harness.semantics.types import Array

Frame = list[Any]
Run = Callable[[Context, Frame], None]

_CALL_ELEMENTS = 1 << 13  # fewer in one call: NumPy's own overhead is less than that of the call


@dataclass(frozen=True)
class _Code:
    function: engine.Function
    schedule: Schedule
    layout: Layout


class GroupStep:
    """`plain` runs the ops one by one. `leaves`, `results` are slots of the group's, in its order."""

    def __init__(self, group: Group, leaves: Sequence[int], results: Sequence[int], plain: Run) -> None:
        self._group, self._leaves, self._results, self._plain = group, tuple(leaves), tuple(results), plain
        self._code: dict[Any, _Code | None] = {}
        self._lock = threading.Lock()
        self._elements = max(_elements(value) for operation in group.members for value in (*operation.operands,))
        self._accesses = [operation for operation in group.members if operation.name in ("tt.load", "tt.store")]

    @property
    def compiled(self) -> bool:
        """Whether there is machine code for some form of the leaves."""
        return any(code is not None for code in self._code.values())

    def __call__(self, context: Context, frame: Frame) -> None:
        if not self._is_worth(context) or not self._run(context, frame):
            self._plain(context, frame)

    def _is_worth(self, context: Context) -> bool:
        if context.shadow is not None or context.pause is not None or not context.options.native:
            return False
        width, height, depth = context.grid
        launch = width * height * depth * self._elements
        return launch >= context.options.native_elements and (
            context.programs * self._elements >= min(_CALL_ELEMENTS, context.options.native_elements)
        )

    def _run(self, context: Context, frame: Frame) -> bool:
        current = [frame[slot] for slot in self._leaves]
        if any(isinstance(value, Shared) for value in current):
            return False  # one tile for many programs: NumPy computes it once
        try:
            leaves = [held(value, now) for value, now in zip(self._group.leaves, current, strict=True)]
        except NoForm:
            return False
        code = self._compiled(leaves)
        if code is None:
            return False
        results = [self._fresh(context, value) for value in code.schedule.results]
        parameters, alive = self._parameters(code, leaves, results, context)
        done = code.function(0, context.programs, parameters.ctypes.data)
        del alive
        self._note_accesses(context, leaves)
        values: list[Any] = results
        if done < context.programs:
            values = self._finished_plainly(context, frame, results, done)
        for slot, value in zip(self._results, values, strict=True):
            frame[slot] = value
        return True

    def _compiled(self, leaves: Sequence[Held]) -> _Code | None:
        """The code for these forms, made at their first sight; None where there is none."""
        names = {id(leaf.allocation): None for leaf in leaves if leaf.allocation is not None}
        number = {name: position for position, name in enumerate(names)}
        aliases = {leaf.leaf.value: number[id(leaf.allocation)] for leaf in leaves if leaf.allocation is not None}
        key = (tuple(leaf.leaf.key for leaf in leaves), tuple(aliases.values()))
        with self._lock:
            if key not in self._code:
                self._code[key] = self._made(leaves, aliases)
            return self._code[key]

    def _made(self, leaves: Sequence[Held], aliases: dict[Any, int]) -> _Code | None:
        try:
            schedule = scheduled(self._group.members, self._group.results, aliases)
        except NoSchedule:
            return None
        forms = [leaf.leaf for leaf in leaves]
        layout = layout_of(forms, schedule)
        return _Code(compile_group(self._group.members, forms, schedule, layout), schedule, layout)

    def _fresh(self, context: Context, value: Any) -> Array:
        return context.pool.empty((context.programs, *extents(value.type)), numpy_dtype(element(value.type)))

    def _parameters(
        self, code: _Code, leaves: Sequence[Held], results: Sequence[Array], context: Context
    ) -> tuple[Array, list[Any]]:
        """The parameter block, and what it points to."""
        block = np.zeros(code.layout.count, np.int64)
        for leaf in leaves:
            position = code.layout.leaves[leaf.leaf.value]
            block[position : position + len(leaf.parameters)] = leaf.parameters
            if leaf.allocation is not None:
                position = code.layout.allocations[leaf.leaf.value]
                block[position : position + 2] = leaf.allocation.bytes.ctypes.data, leaf.allocation.bytes.size
        for value, result in zip(code.schedule.results, results, strict=True):
            block[code.layout.results[value]] = result.ctypes.data
        scratch = np.empty(code.schedule.scratch_bytes + 64, np.uint8)
        block[code.layout.scratch] = -(-scratch.ctypes.data // 64) * 64
        return block, [leaves, results, scratch]

    def _note_accesses(self, context: Context, leaves: Sequence[Held]) -> None:
        allocations = {leaf.leaf.value: leaf.allocation for leaf in leaves}
        inside = set(self._group.members)
        for operation in self._accesses:
            allocation = allocations[pointer_root(accessed(operation), inside)]
            assert allocation is not None
            names = context.result.loads if operation.name == "tt.load" else context.result.stores
            names.add(allocation.name)
            context.changed |= operation.name == "tt.store"

    def _finished_plainly(self, context: Context, frame: Frame, results: Sequence[Array], done: int) -> list[Any]:
        """NumPy runs the programs from `done` on: it raises what has to be raised, or knows better."""
        rest, before = np.arange(done, context.programs), np.arange(done)
        inner = list(frame)
        for slot in self._leaves:
            inner[slot] = narrowed(frame[slot], rest)
        self._plain(context.subset(rest), inner)
        values = []
        for slot, result in zip(self._results, results, strict=True):
            parts = [(rest, inner[slot])] if done == 0 else [(before, result[:done]), (rest, inner[slot])]
            values.append(merged(parts, context.programs))
        return values


def _elements(value: Any) -> int:
    count = 1
    for extent in extents(value.type):
        count *= extent
    return count
