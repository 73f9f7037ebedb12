"""Results of products that were begun and not waited for: nobody may read them yet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import IntAttr, TensorType
from xdsl.ir import Operation, SSAValue

from harness.cases.evidence import Finding
from harness.ir.dialects.ttg_types import NvidiaMmaLayout
from harness.semantics.types import Array

if TYPE_CHECKING:
    from harness.cases.location import SourceLocation
    from harness.executor.context import Context

# What passes such a result on without reading it.
_PASS_ON = frozenset(
    {"ttng.warp_group_dot", "ttng.warp_group_dot_wait", "scf.for", "scf.if", "scf.while", "tt.call"},
)
_WARP_GROUP = 3  # versionMajor of the layout that products of warp groups give


class AsyncProduct:
    """One op's product for the programs that the context had when it was begun.

    compute  called with a context of some of them and their positions; their tiles, (P, *shape)
    """

    def __init__(
        self,
        context: Context,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        compute: Callable[[Context, Array], Array],
        where: SourceLocation | None,
    ) -> None:
        self.rows = context.local.numbers(context)
        self.where = where
        self._context = context
        self._compute: Callable[[Context, Array], Array] | None = compute
        self._result = np.empty((self.rows.size, *shape), dtype)
        self._done, self._waited = (np.zeros(self.rows.size, np.bool_) for _ in range(2))

    def carry_out(self, rows: Array) -> None:
        """Computes what these rows of the batch have not got yet."""
        at = self._positions(rows)
        at = at[~self._done[at]]
        if not at.size:
            return
        assert self._compute is not None
        self._result[at] = self._compute(self._context.of_rows(self.rows[at]), at)
        self._done[at] = True
        if self._done.all():
            self._compute = None  # it holds the product before this one

    def end(self, rows: Array) -> None:
        """These rows were waited for."""
        self.carry_out(rows)
        self._waited[self._positions(rows)] = True

    def read(self, rows: Array) -> Array:
        self.carry_out(rows)
        return self._result[self._positions(rows)]

    def has_ended(self, rows: Array) -> bool:
        return bool(self._waited[self._positions(rows)].all())

    def _positions(self, rows: Array) -> Array:
        return np.searchsorted(self.rows, rows)


class Pending:
    """The result as a value: program p of the running context has that of row `rows[p]` of the batch."""

    __slots__ = ("product", "rows")

    def __init__(self, product: AsyncProduct, rows: Array) -> None:
        self.product = product
        self.rows = rows

    def array(self) -> Array:
        """(P, *shape); it is carried out now, if it was not yet."""
        return self.product.read(self.rows)

    def narrowed(self, chosen: Array) -> Pending:
        return Pending(self.product, self.rows[chosen])

    def settled(self) -> Pending | Array:
        """The array, once all of it was waited for."""
        return self.array() if self.product.has_ended(self.rows) else self

    @staticmethod
    def merged(parts: Sequence[tuple[Array, Any]], programs: int) -> Pending | None:
        """One value out of parts of one product; None where there are several."""
        product = parts[0][1].product
        if any(not isinstance(part, Pending) or part.product is not product for _, part in parts):
            return None
        rows = np.empty(programs, np.int64)
        for at, part in parts:
            rows[at] = part.rows
        return Pending(product, rows)

    def report(self, context: Context, where: SourceLocation | None) -> None:
        """An op reads it, and nothing waits for it in between."""
        if self.product.has_ended(self.rows):
            return
        program = context.program_of(0)
        message = f"program {program} reads the result of an asynchronous product that nothing waits for in between"
        context.result.report(Finding("race", "registers", message, where, self.product.where, (program,)))


def may_be_pending(operation: Operation) -> list[SSAValue]:
    """The operands that an op reads and that may be the result of an asynchronous product."""
    if operation.name in _PASS_ON:
        return []
    return [value for value in operation.operands if _is_of_warp_groups(value)]


def _is_of_warp_groups(value: SSAValue) -> bool:
    layout = value.type.encoding if isinstance(value.type, TensorType) else None
    if not isinstance(layout, NvidiaMmaLayout):
        return False
    return layout.fields.data.get("versionMajor") == IntAttr(_WARP_GROUP)


def watched(
    step: Callable[[Context, list[Any]], None], slots: Sequence[int], where: SourceLocation | None
) -> Callable[[Context, list[Any]], None]:
    """The step, which reports what it reads too early."""

    def run(context: Context, frame: list[Any]) -> None:
        for slot in slots:
            if isinstance(frame[slot], Pending):
                frame[slot].report(context, where)
        step(context, frame)

    return run
