"""Copies and products that were begun and not waited for.

Each kind is a queue per program: a wait completes all but the newest so many. Copies that announce themselves to a
barrier are completed by the wait for its phase instead. What touches memory that is still being read or
written is a race; so is a store to global memory that a copy has yet to read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.cases.evidence import Finding
from harness.executor.bounds import AccessType
from harness.executor.local import LocalBuffer, LocalView
from harness.executor.values import Pointer, dense, narrowed
from harness.semantics.types import Array

if TYPE_CHECKING:
    from harness.cases.location import SourceLocation
    from harness.executor.context import Context

COPIES, PRODUCTS, STORES, BARRIERS = "copies", "products", "stores", "barriers"
_UNCOMMITTED = np.iinfo(np.int64).max
_DOES = {True: "writes", False: "reads"}


@dataclass(eq=False)
class Work:
    """One op that is outstanding for the programs `rows` of the batch (int64, ascending).

    view     of shared memory it reads or writes; its offset has one entry, or one per row
    writes   whether it writes there
    where    the op's line
    numbers  int64, per row: its place in its queue, or the phase of its barrier
    complete called with a context and the view narrowed to the rows that are done; None where all was done at once
    source   pointer and mask of the global memory it reads, one entry or one per row; None where that is over
    barrier  the barrier it tells, with one offset per row
    """

    view: LocalView
    rows: Array
    writes: bool
    where: SourceLocation | None
    numbers: Array
    complete: Callable[[Context, Work], None] | None = None
    source: tuple[Pointer, Any, AccessType] | None = None
    barrier: tuple[LocalBuffer, Array] | None = None

    def part(self, chosen: Array) -> Work:
        """The same for some of the rows, by position."""
        source, barrier = self.source, self.barrier
        if source is not None:
            source = (narrowed(source[0], chosen), narrowed(source[1], chosen), source[2])
        if barrier is not None:
            barrier = (barrier[0], barrier[1][chosen])
        return replace(
            self,
            view=self.view.narrowed(chosen),
            rows=self.rows[chosen],
            numbers=self.numbers[chosen],
            source=source,
            barrier=barrier,
        )


@dataclass
class _Queue:
    """`begun`: per program, how many were numbered so far."""

    begun: Array
    works: list[Work] = field(default_factory=list)


class Outstanding:
    """Of one batch of `programs` programs."""

    def __init__(self, programs: int) -> None:
        names = (COPIES, PRODUCTS, STORES, BARRIERS)
        self._queues = {name: _Queue(np.zeros(programs, np.int64)) for name in names}
        self._reported: set[tuple[Any, ...]] = set()

    # --- beginning and completing --------------------------------------------------------------------------

    def begin(self, queue: str, work: Work) -> None:
        """Adds an op that is a group of its own (products, stores), or whose phase `numbers` tell (barriers)."""
        known = self._queues[queue]
        if queue in (PRODUCTS, STORES):
            work.numbers = known.begun[work.rows].copy()
        known.works.append(work)

    def end_group(self, queue: str, rows: Array) -> None:
        """Products of one op read two operands: only now is the next one counted. Also a commit of copies."""
        known = self._queues[queue]
        if queue == COPIES:
            for work in known.works:
                mine = np.isin(work.rows, rows) & (work.numbers == _UNCOMMITTED)
                work.numbers[mine] = known.begun[work.rows[mine]]
        known.begun[rows] += 1

    def wait(self, queue: str, rows: Array, newest: int, context: Context) -> None:
        """Completes all but the `newest` groups of these programs."""
        known = self._queues[queue]
        self._complete(
            known, lambda work: np.isin(work.rows, rows) & (work.numbers < known.begun[work.rows] - newest), context
        )

    def wait_phase(self, barrier: LocalView, rows: Array, phases: Array, context: Context) -> None:
        """Completes what tells `barrier` (an offset for each of the rows) in the given phases."""
        known = self._queues[BARRIERS]
        offsets = np.broadcast_to(barrier.offset, rows.shape)

        def done(work: Work) -> Array:
            assert work.barrier is not None
            if work.barrier[0] is not barrier.buffer:
                return np.zeros(work.rows.size, np.bool_)
            at = np.searchsorted(rows, work.rows).clip(max=rows.size - 1)
            return (rows[at] == work.rows) & (offsets[at] == work.barrier[1]) & (phases[at] == work.numbers)

        self._complete(known, done, context)

    def _complete(self, queue: _Queue, done: Callable[[Work], Array], context: Context) -> None:
        left = []
        for work in queue.works:
            chosen = done(work)
            if not chosen.any():
                left.append(work)
                continue
            whole = chosen.all()
            finished = work if whole else work.part(np.flatnonzero(chosen))
            if finished.complete is not None:
                finished.complete(context.of_rows(finished.rows), finished)
            if not whole:
                left.append(work.part(np.flatnonzero(~chosen)))
        queue.works = left

    # --- races -------------------------------------------------------------------------------------------------

    def check(self, view: LocalView, context: Context, where: SourceLocation | None, writes: bool) -> None:
        """Reports an access to shared memory that outstanding work still writes, or reads and this one writes."""
        for queue in self._queues.values():
            for work in queue.works:
                if (writes or work.writes) and work.view.buffer is view.buffer:
                    self._check_one(work, view, context, where, writes)

    def _check_one(
        self, work: Work, view: LocalView, context: Context, where: SourceLocation | None, writes: bool
    ) -> None:
        numbers = context.local.numbers(context)
        mine = np.searchsorted(numbers, work.rows).clip(max=numbers.size - 1)
        both = np.flatnonzero(numbers[mine] == work.rows)
        if not both.size:
            return
        theirs = np.broadcast_to(work.view.offset, work.rows.shape)[both]
        ours = np.broadcast_to(view.offset, numbers.shape)[mine[both]]
        hit = _overlap(work.view, theirs, view, ours)
        if not hit.any():
            return
        program = context.program_of(int(mine[both][int(np.argmax(hit))]))
        message = (
            f"program {program} {_DOES[writes]} shared memory that asynchronous work still {_DOES[work.writes]}: "
            "nothing waits for it in between"
        )
        self._report(Finding("race", "shared memory", message, where, work.where, (program,)), context)

    def check_store(self, pointer: Pointer, mask: Any, access: AccessType, context: Context) -> None:
        """Reports a store to global memory that an outstanding copy of the same program reads."""
        for name in (COPIES, BARRIERS):
            for work in self._queues[name].works:
                if work.source is not None and work.source[0].allocation is pointer.allocation:
                    self._check_source(work, pointer, mask, access, context)

    def _check_source(self, work: Work, pointer: Pointer, mask: Any, access: AccessType, context: Context) -> None:
        assert work.source is not None and pointer.allocation is not None
        read, read_mask, read_access = work.source
        copied = _Bytes(work.rows, read, read_mask, read_access)
        stored = _Bytes(context.local.numbers(context), pointer, mask, access)
        row = copied.first_shared_with(stored)
        if row is None:
            return
        x, y, z = (int(axis[row]) for axis in context.local.ids)
        message = (
            f"program {(x, y, z)} stores to buffer {pointer.allocation.name!r} where an asynchronous copy of its own "
            "still reads: nothing waits for the copy in between"
        )
        finding = Finding("race", pointer.allocation.name, message, access.where, work.where, ((x, y, z),))
        self._report(finding, context)

    def _report(self, finding: Finding, context: Context) -> None:
        key = (finding.buffer, finding.where, finding.other)
        if key not in self._reported:
            self._reported.add(key)
            context.result.findings.append(finding)


def uncommitted(rows: Array) -> Array:
    """The numbers of a copy before its group is committed."""
    return np.full(rows.size, _UNCOMMITTED, np.int64)


def _overlap(a: LocalView, at_a: Array, b: LocalView, at_b: Array) -> Array:
    """For each pair of offsets, whether the two views share an element."""
    hit = (at_a < at_b + _span(b)) & (at_b < at_a + _span(a))
    if not hit.any() or (_span(a) == a.size and _span(b) == b.size):
        return hit
    of_a, of_b = a.elements().reshape(-1), b.elements().reshape(-1)
    for row in np.flatnonzero(hit):
        hit[row] = np.isin(of_a + at_a[row], of_b + at_b[row]).any()
    return hit


def _span(view: LocalView) -> int:
    return 1 + sum(stride * (extent - 1) for extent, stride in zip(view.shape, view.strides, strict=True))


class _Bytes:
    """The bytes of an allocation that rows of the batch touch, as numbers row * size + byte."""

    def __init__(self, rows: Array, pointer: Pointer, mask: Any, access: AccessType) -> None:
        assert pointer.allocation is not None
        shape = (rows.size, *access.extents)
        offsets = np.broadcast_to(dense(pointer.offset), shape)
        self.size = pointer.allocation.bytes.size
        keys = offsets + rows.reshape(-1, *(1,) * len(access.extents)) * self.size
        if mask is not None:
            keys = keys[np.broadcast_to(dense(mask), shape)]
        self.keys = np.unique(keys)
        self.width = access.dtype.itemsize

    def first_shared_with(self, other: _Bytes) -> int | None:
        """The first row in which both touch a byte."""
        if not self.keys.size or not other.keys.size:
            return None
        after = np.searchsorted(other.keys, self.keys, side="right")
        near = other.keys[(after - 1).clip(min=0)]
        following = other.keys[after.clip(max=other.keys.size - 1)]
        hit = (after > 0) & (near + other.width > self.keys) & (near <= self.keys)
        hit |= (following >= self.keys) & (following < self.keys + self.width)
        return int(self.keys[hit][0] // self.size) if hit.any() else None
