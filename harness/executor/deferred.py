"""A transfer that was begun and not waited for, as a value: what is left to do, and with what."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.semantics.types import Array

if TYPE_CHECKING:
    from harness.executor.context import Context

Finish = Callable[["Context", "tuple[Any, ...]"], Any]


class Deferred:
    """`complete` with the context of its programs gives the result: finish(context, operands).

    One that programs got in different ways is several, with the positions of the programs of each, ascending.
    """

    __slots__ = ("_finish", "_operands", "_parts")

    def __init__(self, finish: Finish, operands: tuple[Any, ...]) -> None:
        self._finish = finish
        self._operands = operands
        self._parts: list[tuple[Array, Deferred]] = []

    def complete(self, context: Context) -> Any:
        from harness.executor.values import merged

        if not self._parts:
            return self._finish(context, self._operands)
        results = [(at, part.complete(context.subset(at))) for at, part in self._parts]
        return None if results[0][1] is None else merged(results, context.programs)

    def narrowed(self, chosen: Array) -> Deferred:
        from harness.executor.values import narrowed

        if not self._parts:
            return Deferred(self._finish, tuple(narrowed(operand, chosen) for operand in self._operands))
        parts = []
        for at, part in self._parts:
            mine = np.flatnonzero(np.isin(chosen, at))
            if mine.size:
                parts.append((mine, part.narrowed(np.searchsorted(at, chosen[mine]))))
        return Deferred.merged(parts)

    @classmethod
    def merged(cls, parts: Sequence[tuple[Array, Deferred]]) -> Deferred:
        whole = cls(parts[0][1]._finish, ())
        whole._parts = list(parts)
        return whole
