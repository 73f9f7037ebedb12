"""The order that atomics make between programs: vector clocks, worked out only when somebody asks.

A program is one thread, and its clock counts its *steps*: an acquire that found a release, or a release. A release
leaves a *record* (program, step) at the element's address; an acquire joins the clock of the record that it finds
there. Every atomic reads and writes at once, so a later release at an address carries on the earlier ones (the
release sequence of C++ and PTX); a plain store there ends them. A compare-and-swap that fails writes nothing: it
acquires and does not release. The lanes of one op are one step of their program, which acquires at all its
addresses and then releases at all; the programs of a batch take that step one after the other, in order.

To log a step costs no more than the op's lanes, and a clock is a walk over the log that stops at what clocks
of other programs have found already: kernels whose programs never meet outside atomics pay for no clock.
"""

from __future__ import annotations

from array import array
from collections import OrderedDict
from dataclasses import dataclass

import numpy as np

from harness.executor.memory import Allocation
from harness.semantics.types import Array

_REMEMBERED = 1 << 20  # entries of all clocks that are kept
NO_RECORD = -1

Clock = dict[int, int]  # program number -> how many of its steps are known to have happened


@dataclass(frozen=True)
class Ordering:
    """What an atomic orders between programs: nothing where it is relaxed, or its scope is one program (cta)."""

    acquire: bool
    release: bool


RELAXED = Ordering(False, False)


def changes(*columns: Array) -> Array:
    """Where a row of sorted columns differs from the row before; the first one does."""
    result = np.ones(columns[0].size, np.bool_)
    if result.size:
        result[1:] = columns[0][1:] != columns[0][:-1]
        for column in columns[1:]:
            result[1:] |= column[1:] != column[:-1]
    return result


class Clocks:
    """The clocks of the `programs` of one launch."""

    def __init__(self, programs: int) -> None:
        self._programs = programs
        self._counts: Array | None = None  # steps of each program, int32; None before the first one
        self._steps: dict[int, list[tuple[int, ...]]] = {}  # the records that each step found; () for a release
        self._owner, self._step, self._previous = array("q"), array("q"), array("q")  # of each record
        self._heads: dict[tuple[Allocation, int], Array] = {}  # per itemsize: the last record at each element
        self._known: OrderedDict[int, tuple[int, Clock]] = OrderedDict()  # (steps of the program by then, its clock)
        self._remembered = 0

    def stamps(self, programs: Array) -> Array:
        """The present time of each of the programs, int32: how many steps it has taken."""
        return np.zeros(programs.size, np.int32) if self._counts is None else self._counts[programs]

    def ordered(self, first: Array, stamps: Array, second: Array) -> Array:
        """Whether an access of program `first` at its time `stamps` happened before now in program `second`."""
        result = np.zeros(first.size, np.bool_)
        if not self._owner:
            return result
        order = np.argsort(second, kind="stable")
        for chosen in np.split(order, np.flatnonzero(changes(second[order]))[1:]):
            clock = self.clock(int(second[chosen[0]]))
            firsts, inverse = np.unique(first[chosen], return_inverse=True)
            known = np.array([clock.get(number, 0) for number in firsts.tolist()], np.int64)
            result[chosen] = known[inverse] > stamps[chosen]
        return result

    # --- the log ------------------------------------------------------------------------------------------

    def synchronise(
        self, allocation: Allocation, itemsize: int, offsets: Array, programs: Array, wrote: Array, ordering: Ordering
    ) -> Array:
        """An atomic of every lane (byte offset, program number); `wrote` is false for lanes that only read.

        The time of each lane's access, as `stamps` gives it.
        """
        if not (ordering.acquire or ordering.release):
            return self.stamps(programs)
        if self._counts is None:
            self._counts = np.zeros(self._programs, np.int32)
        heads = self._heads.get((allocation, itemsize))
        if heads is None:
            heads = np.full(allocation.bytes.size // itemsize + 2, NO_RECORD, np.int64)
            self._heads[allocation, itemsize] = heads
        elements = _elements(allocation, itemsize, offsets)
        order = np.lexsort((programs, elements))
        first = np.flatnonzero(changes(elements[order], programs[order]))
        at, who = elements[order][first], programs[order][first]
        wrote = np.logical_or.reduceat(wrote[order], first) if first.size else wrote
        releases = np.flatnonzero(wrote) if ordering.release else np.zeros(0, np.int64)
        records, takers = self._new_records(who[releases], ordering)
        found = _found(heads, at, releases, records)
        if ordering.acquire:
            self._acquire(who, found)
        stamps = self._counts[programs]
        self._release(takers, who[releases], found[releases], ordering)
        heads[at[releases]] = records  # of several programs at one element the last one stays
        return stamps

    def forget(self, allocation: Allocation, offsets: Array, but: int = 0) -> None:
        """Plain stores, or atomics of `but` bytes, wrote these bytes: what was released there is out of reach."""
        for (known, itemsize), heads in self._heads.items():
            if known is allocation and itemsize != but:
                heads[_elements(allocation, itemsize, offsets)] = NO_RECORD

    def _new_records(self, who: Array, ordering: Ordering) -> tuple[Array, Array]:
        """The record that each releasing lane leaves, and the programs that take a step for it.

        A program that acquires as well knows all that was released at its addresses: one record serves them all.
        """
        takers, rank = np.unique(who, return_inverse=True)
        numbers = rank if ordering.acquire else np.arange(who.size)
        return numbers.astype(np.int64) + len(self._owner), takers

    def _acquire(self, who: Array, found: Array) -> None:
        """A step for each program that found records."""
        order = np.lexsort((found, who))
        order = order[found[order] != NO_RECORD]
        if not order.size:
            return
        who, found = who[order], found[order]
        new = changes(who, found)
        who, found = who[new], found[new]
        starts = np.flatnonzero(changes(who))
        ends = np.append(starts[1:], who.size).tolist()
        records = found.tolist()
        for number, start, end in zip(who[starts].tolist(), starts.tolist(), ends, strict=True):
            self._take(number, tuple(records[start:end]))

    def _release(self, takers: Array, who: Array, found: Array, ordering: Ordering) -> None:
        """A step for each releasing program, and the records: one a program, or one a lane that does not acquire."""
        for number in takers.tolist():
            self._take(number, ())
        assert self._counts is not None
        owners = takers if ordering.acquire else who
        previous = np.full(takers.size, NO_RECORD) if ordering.acquire else found
        self._owner.frombytes(owners.astype(np.int64).tobytes())
        self._step.frombytes((self._counts[owners] - 1).astype(np.int64).tobytes())
        self._previous.frombytes(previous.astype(np.int64).tobytes())

    def _take(self, number: int, found: tuple[int, ...]) -> None:
        assert self._counts is not None
        self._steps.setdefault(number, []).append(found)
        self._counts[number] += 1

    # --- clocks -------------------------------------------------------------------------------------------------

    def clock(self, program: int) -> Clock:
        """What a program knows now: of every program whose releases reached it, the number of steps."""
        count = len(self._steps.get(program, ()))
        known = self._known.pop(program, None)
        if known is None or known[0] < count:
            clock: Clock = {} if known is None else known[1]
            self._remembered -= len(clock)
            self._walk(clock, program, count)
            self._remembered += len(clock)
            known = count, clock
        self._known[program] = known
        while self._remembered > _REMEMBERED and len(self._known) > 1:
            _, (_, dropped) = self._known.popitem(last=False)
            self._remembered -= len(dropped)
        return known[1]

    def _walk(self, clock: Clock, program: int, count: int) -> None:
        """Adds to a clock what the steps of its program found, and so on."""
        seen: set[int] = set()
        pending = self._advance(clock, program, count)
        while pending:
            record = pending.pop()
            while record != NO_RECORD and record not in seen:
                seen.add(record)
                pending += self._advance(clock, self._owner[record], self._step[record] + 1)
                record = self._previous[record]

    def _advance(self, clock: Clock, program: int, count: int) -> list[int]:
        """Puts a program forward in the clock; the records that its further steps found."""
        start = clock.get(program, 0)
        if count <= start:
            return []
        clock[program] = count
        done, known = self._known.get(program, (0, {}))
        if start < done <= count:
            for number, steps in known.items():
                clock[number] = max(clock.get(number, 0), steps)
            start = done
        return [record for found in self._steps[program][start:count] for record in found]


def _elements(allocation: Allocation, itemsize: int, offsets: Array) -> Array:
    """The numbers of the aligned elements that hold these bytes."""
    return (offsets + allocation.address % itemsize) // itemsize


def _found(heads: Array, at: Array, releases: Array, records: Array) -> Array:
    """The record that each lane finds: of the last lane before it that released at its element, or the old one.

    Lanes are sorted by element, then by program.
    """
    found = heads[at]
    if not releases.size:
        return found
    lanes = np.arange(at.size)
    start = np.maximum.accumulate(np.where(changes(at), lanes, 0))
    number = np.full(at.size, -1)
    number[releases] = np.arange(releases.size)
    last = np.append(-1, np.maximum.accumulate(number)[:-1])  # the last releasing lane before each
    here = (last >= 0) & (releases[last] >= start)
    found[here] = records[last[here]]
    return found
