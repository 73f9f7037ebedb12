"""Copies, stores and products that were begun and not waited for.

Each kind is a queue per program: a wait completes all but the newest so many. Work that tells a barrier is completed
by the wait for the barrier's phase instead. What touches memory that is still being read or written is a race,
inside the chip as in global memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
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

COPIES, PRODUCTS, TENSOR_PRODUCTS, STORES, BARRIERS = "copies", "products", "tensor products", "stores", "barriers"
_ONE_BY_ONE = (PRODUCTS, TENSOR_PRODUCTS, STORES)  # each op is a group of its own
_UNCOMMITTED = np.iinfo(np.int64).max
_DOES = {True: "writes", False: "reads"}
_VERBS = {"load": "loads from", "store": "stores to", "atomic": "updates"}

Global = tuple[Pointer, Any, AccessType]  # pointers and mask (one entry, or one per row) into global memory


@dataclass(frozen=True)
class Signal:
    """What work does to a barrier when it ends: `offsets` says for each row which of the buffer's elements it is."""

    buffer: LocalBuffer
    offsets: Array
    arrivals: int = 0
    size: int = 0  # bytes

    def part(self, chosen: Array) -> Signal:
        return replace(self, offsets=self.offsets[chosen])


@dataclass(eq=False)
class Work:
    """One op that is outstanding for the programs `rows` of the batch (int64, ascending).

    where    the op's line
    numbers  int64, per row: its place in its queue, or the phase of its barrier
    reads, writes  memory inside the chip; the offsets of a view have one entry, or one per row
    loads, stores  global memory, an entry for each allocation
    complete called with a context of the rows that are done, and the work narrowed to them; None where all was done
             at once
    source   what `complete` is to copy from or to
    signal   the barrier it tells
    """

    rows: Array
    where: SourceLocation | None
    numbers: Array
    reads: tuple[LocalView, ...] = ()
    writes: tuple[LocalView, ...] = ()
    loads: tuple[Global, ...] = ()
    stores: tuple[Global, ...] = ()
    complete: Callable[[Context, Work], None] | None = None
    source: Global | None = None
    signal: Signal | None = None

    def part(self, chosen: Array) -> Work:
        """The same for some of the rows, by position."""
        return replace(
            self,
            rows=self.rows[chosen],
            numbers=self.numbers[chosen],
            reads=tuple(view.narrowed(chosen) for view in self.reads),
            writes=tuple(view.narrowed(chosen) for view in self.writes),
            loads=tuple(_part_of(one, chosen) for one in self.loads),
            stores=tuple(_part_of(one, chosen) for one in self.stores),
            source=None if self.source is None else _part_of(self.source, chosen),
            signal=None if self.signal is None else self.signal.part(chosen),
        )


def _part_of(one: Global, chosen: Array) -> Global:
    pointer, mask, access = one
    return narrowed(pointer, chosen), narrowed(mask, chosen), access


@dataclass
class _Queue:
    """`begun`: per program, how many were numbered so far."""

    begun: Array
    works: list[Work] = field(default_factory=list)


class Outstanding:
    """Of one batch of `programs` programs."""

    def __init__(self, programs: int) -> None:
        names = (COPIES, BARRIERS, *_ONE_BY_ONE)
        self._queues = {name: _Queue(np.zeros(programs, np.int64)) for name in names}
        self._completing = False

    # --- beginning and completing --------------------------------------------------------------------------

    def begin(self, queue: str, work: Work) -> None:
        """Adds work. Of copies and what tells barriers, `numbers` are set already; others are numbered here."""
        known = self._queues[queue]
        if queue in _ONE_BY_ONE:
            work.numbers = known.begun[work.rows].copy()
            known.begun[work.rows] += 1
        known.works.append(work)

    def commit(self, rows: Array) -> None:
        """The copies of these programs since the last commit are a group."""
        known = self._queues[COPIES]
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

    def begun(self, queue: str, rows: Array) -> Array:
        """How many of a queue these programs have begun so far."""
        return self._queues[queue].begun[rows]

    def end(self, queue: str, rows: Array, upto: Array, context: Context) -> None:
        """Completes, for each of the programs, its work of numbers below `upto`."""

        def done(work: Work) -> Array:
            at = np.searchsorted(rows, work.rows).clip(max=rows.size - 1)
            return (rows[at] == work.rows) & (work.numbers < upto[at])

        self._complete(self._queues[queue], done, context)

    def wait_phase(self, barrier: LocalView, rows: Array, phases: Array, context: Context) -> tuple[Array, Array]:
        """Completes what tells `barrier` (an offset for each of the rows) in the given phases.

        How many arrivals and bytes that was, for each of the rows.
        """
        offsets = np.broadcast_to(barrier.offset, rows.shape)
        arrivals, size = np.zeros(rows.size, np.int64), np.zeros(rows.size, np.int64)

        def done(work: Work) -> Array:
            assert work.signal is not None
            if work.signal.buffer is not barrier.buffer:
                return np.zeros(work.rows.size, np.bool_)
            at = np.searchsorted(rows, work.rows).clip(max=rows.size - 1)
            return (rows[at] == work.rows) & (offsets[at] == work.signal.offsets) & (phases[at] == work.numbers)

        for finished in self._complete(self._queues[BARRIERS], done, context):
            assert finished.signal is not None
            at = np.searchsorted(rows, finished.rows)
            arrivals[at] += finished.signal.arrivals
            size[at] += finished.signal.size
        return arrivals, size

    def finish(self, context: Context) -> None:
        """The kernel ended: stores that nobody waited for are carried out, too."""
        if self._queues[STORES].works:
            self.wait(STORES, context.local.numbers(context), 0, context)

    def _complete(self, queue: _Queue, done: Callable[[Work], Array], context: Context) -> list[Work]:
        """What was completed, in the order in which it was begun."""
        left, completed = [], []
        for work in queue.works:
            chosen = done(work)
            if not chosen.any():
                left.append(work)
                continue
            whole = chosen.all()
            completed.append(work if whole else work.part(np.flatnonzero(chosen)))
            if not whole:
                left.append(work.part(np.flatnonzero(~chosen)))
        queue.works = left
        for work in completed:
            if work.complete is not None:
                self._carry_out(work, context)
        return completed

    def _carry_out(self, work: Work, context: Context) -> None:
        """What it touches was looked at when it was begun."""
        assert work.complete is not None
        with self.unchecked():
            work.complete(context.of_rows(work.rows), work)

    @contextmanager
    def unchecked(self) -> Iterator[None]:
        """What is touched inside the block is no access of the program's at this time."""
        before, self._completing = self._completing, True
        try:
            yield
        finally:
            self._completing = before

    # --- races -------------------------------------------------------------------------------------------------

    def check(
        self, view: LocalView, context: Context, where: SourceLocation | None, writes: bool, but: str = ""
    ) -> bool:
        """Reports an access to memory inside the chip that outstanding work still writes, or reads and this one
        writes; whether there was any. Work of the queue `but` is in order with it."""
        if self._completing:
            return False
        busy = self._touching(view, writes, but)
        hits = [self._check_one(*one, view, context, where, writes) for one in busy]
        return any(hits)

    def _touching(self, view: LocalView, writes: bool, but: str) -> Iterator[tuple[Work, LocalView, bool]]:
        """(work, its view of the same buffer, whether it writes there)"""
        for name, queue in self._queues.items():
            for work in queue.works if name != but else ():
                busy = [(one, True) for one in work.writes]
                if writes:
                    busy += [(one, False) for one in work.reads]
                yield from ((work, one, does) for one, does in busy if one.buffer is view.buffer)

    def _check_one(
        self,
        work: Work,
        busy: LocalView,
        still_writes: bool,
        view: LocalView,
        context: Context,
        where: SourceLocation | None,
        writes: bool,
    ) -> bool:
        numbers = context.local.numbers(context)
        mine = np.searchsorted(numbers, work.rows).clip(max=numbers.size - 1)
        both = np.flatnonzero(numbers[mine] == work.rows)
        if not both.size:
            return False
        theirs = np.broadcast_to(busy.offset, work.rows.shape)[both]
        ours = np.broadcast_to(view.offset, numbers.shape)[mine[both]]
        hit = _overlap(busy, theirs, view, ours)
        if not hit.any():
            return False
        program = context.program_of(int(mine[both][int(np.argmax(hit))]))
        place = view.buffer.kind
        message = (
            f"program {program} {_DOES[writes]} {place} that asynchronous work still {_DOES[still_writes]}: "
            "nothing waits for it in between"
        )
        context.result.report(Finding("race", place, message, where, work.where, (program,)))
        return True

    def check_global(self, parts: Sequence[Global], context: Context, writes: bool) -> None:
        """Reports an access to global memory that outstanding work of the same program still writes, or reads and
        this one writes."""
        if self._completing:
            return
        for queue in self._queues.values():
            for work in queue.works:
                for theirs in work.stores:
                    self._check_memory(work, theirs, "store", parts, context)
                for theirs in work.loads if writes else ():
                    self._check_memory(work, theirs, "copy", parts, context)

    def _check_memory(self, work: Work, busy: Global, kind: str, parts: Sequence[Global], context: Context) -> None:
        for pointer, mask, access in parts:
            if pointer.allocation is not busy[0].allocation or pointer.allocation is None:
                continue
            theirs = _Bytes(work.rows, *busy)
            row = theirs.first_shared_with(_Bytes(context.local.numbers(context), pointer, mask, access))
            if row is None:
                continue
            x, y, z = (int(axis[row]) for axis in context.local.ids)
            name, does = pointer.allocation.name, _DOES[kind == "store"]
            message = (
                f"program {(x, y, z)} {_VERBS[access.verb]} buffer {name!r} where an asynchronous {kind} of its own "
                f"still {does}: nothing waits for the {kind} in between"
            )
            context.result.report(Finding("race", name, message, access.where, work.where, ((x, y, z),)))


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
