"""Full checks: reads of memory nobody wrote, writes outside the view, races between programs.

Every byte remembers who accessed it since the last store that changed it, and when (`epochs`); atomics order
programs (`clocks`). Two programs race on a byte when one changes it, the other touches it, no order of theirs
leads from one access to the other, and at least one of the two is plain: atomics and volatile loads do not race
with one another. Stores and atomics that leave a byte as it was do not change it, so programs that all store
the same value do not race. docs/buckets.md says what follows from this.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.cases.evidence import Finding
from harness.cases.location import SourceLocation
from harness.executor.bounds import AccessType
from harness.executor.clocks import RELAXED, Clocks
from harness.executor.context import Context
from harness.executor.epochs import NOBODY, Accesses, AllAccesses, LastAccess, TwoAccesses
from harness.executor.memory import Allocation
from harness.executor.values import Pointer, dense
from harness.semantics.types import Array

STORES, LOADS, ATOMIC_READS, ATOMIC_WRITES = "stores", "loads", "atomic reads", "atomic writes"
_DID = {STORES: "wrote", LOADS: "read", ATOMIC_READS: "read atomically", ATOMIC_WRITES: "updated"}


@dataclass(frozen=True)
class _Kind:
    """What an access of this kind races with, and how a message puts it: "overwrites what program 3 wrote"."""

    against: tuple[str, ...]
    verb: str


_PLAIN_LOAD = _Kind((STORES, ATOMIC_WRITES), "reads what")
_VOLATILE_LOAD = _Kind((STORES,), "reads what")
_PLAIN_STORE = _Kind((STORES, LOADS, ATOMIC_READS, ATOMIC_WRITES), "overwrites what")
_ATOMIC_READ = _Kind((STORES,), "updates what")
_ATOMIC_WRITE = _Kind((STORES, LOADS), "updates what")


class _Bytes:
    """What is remembered of an allocation: the accesses of each kind, made when the first one comes."""

    def __init__(self, size: int, several: Callable[[int], Accesses]) -> None:
        self._size, self._several = size, several
        self._accesses: dict[str, Accesses] = {}
        self.last_writer = np.full(size, NOBODY, np.int64)  # of any store, for evidence
        self.raced = np.zeros(size, np.bool_)

    def add(self, kind: str, at: Array, programs: Array, stamps: Array, site: int) -> None:
        if not at.size:
            return
        if kind not in self._accesses:
            self._accesses[kind] = LastAccess(self._size) if kind == STORES else self._several(self._size)
        self._accesses[kind].add(at, programs, stamps, site)

    def clear(self, at: Array) -> None:
        for accesses in self._accesses.values():
            accesses.clear(at)

    def known(self, kind: str) -> Accesses | None:
        return self._accesses.get(kind)


class _Lanes:
    """The lanes of one access that take part and are in bounds: byte numbers and program numbers."""

    def __init__(self, pointer: Pointer, mask: Any, access: AccessType, context: Context) -> None:
        assert pointer.allocation is not None
        self.shape = (context.programs, *access.extents)
        offsets = np.broadcast_to(dense(pointer.offset), self.shape).reshape(-1)
        programs = np.repeat(context.linear_ids(), offsets.size // max(1, context.programs))
        itemsize = access.dtype.itemsize
        chosen = (offsets >= 0) & (offsets + itemsize <= pointer.allocation.bytes.size)
        if mask is not None:
            chosen &= np.broadcast_to(dense(mask), self.shape).reshape(-1)
        self.chosen = chosen
        self.bytes = (offsets[chosen][:, None] + np.arange(itemsize)).reshape(-1)
        self.programs = np.repeat(programs[chosen], itemsize)

    def bytes_of(self, values: Array) -> Array:
        flat = np.broadcast_to(values, self.shape).reshape(-1)[self.chosen]
        return _raw(flat)


def _raw(values: Array) -> Array:
    return np.ascontiguousarray(values).view(np.uint8).reshape(-1)


class Shadow:
    """The checks of one launch. `findings` holds each kind once per buffer and pair of lines.

    `synchronises` says that the kernel has atomics that may order programs.
    """

    def __init__(self, grid: tuple[int, int, int], synchronises: bool) -> None:
        self.findings: dict[tuple[Any, ...], Finding] = {}
        self._grid = grid
        self._several = AllAccesses if synchronises else TwoAccesses
        self._memory: dict[Allocation, _Bytes] = {}
        self._sites: list[SourceLocation | None] = []
        self._site_numbers: dict[SourceLocation | None, int] = {}
        self._clocks = Clocks(grid[0] * grid[1] * grid[2])

    def writers(self) -> dict[str, Array]:
        """Per buffer, the number of the program that stored to each byte last (x fastest), -1 for none."""
        return {allocation.name: known.last_writer for allocation, known in self._memory.items()}

    def raced(self) -> dict[str, Array]:
        """Per buffer, the bytes on which programs raced."""
        return {allocation.name: known.raced for allocation, known in self._memory.items()}

    def program_id(self, number: int) -> tuple[int, int, int]:
        width, height, _ = self._grid
        return number % width, number // width % height, number // (width * height)

    # --- the three kinds of access ---------------------------------------------------------------------

    def load(self, pointer: Pointer, mask: Any, access: AccessType, context: Context) -> None:
        allocation, known, lanes = self._begin(pointer, mask, access, context)
        self._uninitialised(allocation, lanes, access, "reads")
        at, programs = lanes.bytes, lanes.programs
        kind, group = (_PLAIN_LOAD, LOADS) if access.ordering is None else (_VOLATILE_LOAD, ATOMIC_READS)
        self._conflicts(allocation, at, programs, access, kind)
        known.add(group, at, programs, self._clocks.stamps(programs), self._site(access.where))

    def store(self, pointer: Pointer, values: Array, mask: Any, access: AccessType, context: Context) -> None:
        allocation, known, lanes = self._begin(pointer, mask, access, context)
        self._outside(allocation, lanes, access)
        changes = self._changes(allocation, lanes, lanes.bytes_of(values), access)
        at, programs = lanes.bytes[changes], lanes.programs[changes]
        self._conflicts(allocation, at, programs, access, _PLAIN_STORE)
        known.last_writer[lanes.bytes] = lanes.programs
        if allocation.initialised is not None:
            allocation.initialised[lanes.bytes] = True
        known.clear(at)
        self._clocks.forget(allocation, at)
        known.add(STORES, at, programs, self._clocks.stamps(programs), self._site(access.where))

    def atomic(
        self, pointer: Pointer, old: Array, new: Array, wrote: Array, mask: Any, access: AccessType, context: Context
    ) -> None:
        """Comes after the atomic was carried out: `old` and `new` elements of its lanes, in order, and which wrote."""
        allocation, known, lanes = self._begin(pointer, mask, access, context)
        self._uninitialised(allocation, lanes, access, "updates")
        self._outside(allocation, lanes, access)
        size = access.dtype.itemsize
        at, programs, wrote_byte = lanes.bytes, lanes.programs, np.repeat(wrote, size)
        changed = _raw(old) != _raw(new)
        if allocation.initialised is not None:
            changed |= wrote_byte & ~allocation.initialised[at]
            allocation.initialised[at[wrote_byte]] = True
        stamps = self._clocks.synchronise(
            allocation, size, at[::size], programs[::size], wrote, access.ordering or RELAXED
        )
        self._clocks.forget(allocation, at[wrote_byte], but=size)
        stamps = np.repeat(stamps, size)
        for chosen, kind, group in ((changed, _ATOMIC_WRITE, ATOMIC_WRITES), (~changed, _ATOMIC_READ, ATOMIC_READS)):
            self._conflicts(allocation, at[chosen], programs[chosen], access, kind)
            known.add(group, at[chosen], programs[chosen], stamps[chosen], self._site(access.where))
        known.last_writer[at[wrote_byte]] = programs[wrote_byte]

    # --- helpers ------------------------------------------------------------------------------------------

    def _begin(
        self, pointer: Pointer, mask: Any, access: AccessType, context: Context
    ) -> tuple[Allocation, _Bytes, _Lanes]:
        allocation = pointer.allocation
        assert allocation is not None
        if allocation not in self._memory:
            self._memory[allocation] = _Bytes(allocation.bytes.size, self._several)
        return allocation, self._memory[allocation], _Lanes(pointer, mask, access, context)

    def _site(self, where: SourceLocation | None) -> int:
        if where not in self._site_numbers:
            self._site_numbers[where] = len(self._sites)
            self._sites.append(where)
        return self._site_numbers[where]

    def _report(
        self,
        kind: str,
        allocation: Allocation,
        message: str,
        where: SourceLocation | None,
        programs: list[int],
        other: SourceLocation | None = None,
    ) -> None:
        key = (kind, allocation.name, where, other)
        if key in self.findings:
            return
        ids = tuple(self.program_id(number) for number in programs)
        self.findings[key] = Finding(kind, allocation.name, message, where, other, ids)

    def _element(self, allocation: Allocation, byte: int) -> str:
        return f"element {byte // allocation.itemsize} of buffer {allocation.name!r}"

    def _uninitialised(self, allocation: Allocation, lanes: _Lanes, access: AccessType, verb: str) -> None:
        if allocation.initialised is None:
            return
        unknown = ~allocation.initialised[lanes.bytes]
        if not unknown.any():
            return
        first = int(np.argmax(unknown))
        number = int(lanes.programs[first])
        message = (
            f"program {self.program_id(number)} {verb} {self._element(allocation, int(lanes.bytes[first]))}, "
            "which nobody wrote"
        )
        self._report("uninitialised-read", allocation, message, access.where, [number])

    def _outside(self, allocation: Allocation, lanes: _Lanes, access: AccessType) -> None:
        if allocation.inside is None:
            return
        outside = ~allocation.inside[lanes.bytes]
        if not outside.any():
            return
        first = int(np.argmax(outside))
        number = int(lanes.programs[first])
        message = (
            f"program {self.program_id(number)} writes {self._element(allocation, int(lanes.bytes[first]))}, "
            "which is not part of the view"
        )
        self._report("wrote-outside", allocation, message, access.where, [number])

    def _conflicts(self, allocation: Allocation, at: Array, programs: Array, access: AccessType, kind: _Kind) -> None:
        """Lanes of an access against what other programs did at these bytes before."""
        for group in kind.against:
            accesses = self._memory[allocation].known(group)
            others = None if accesses is None else accesses.others(at, programs)
            if others is None:
                continue
            apart = ~self._clocks.ordered(others.program, others.stamp, others.later)
            if not apart.any():
                continue
            lanes = np.isin(others.pair, others.of[apart])
            self._memory[allocation].raced[at[lanes]] = True
            lane = int(np.argmax(lanes))
            member = int(np.argmax(apart & (others.of == others.pair[lane])))
            first, second = int(others.program[member]), int(programs[lane])
            message = (
                f"program {self.program_id(second)} {kind.verb} program {self.program_id(first)} {_DID[group]}: "
                f"{self._element(allocation, int(at[lane]))}, and nothing orders the two"
            )
            other = self._sites[int(others.site[member])]
            self._report("race", allocation, message, access.where, [first, second], other)

    def _changes(self, allocation: Allocation, lanes: _Lanes, new: Array, access: AccessType) -> Array:
        """Which lanes of a store change their byte, one after the other in order.

        One that changes what another program of this batch stored just now races with it, whatever the byte held.
        """
        order = np.argsort(lanes.bytes, kind="stable")
        at, programs, values = lanes.bytes[order], lanes.programs[order], new[order]
        before = allocation.bytes[at]
        again = np.zeros(at.size, np.bool_)
        again[1:] = at[1:] == at[:-1]
        before[again] = values[:-1][again[1:]]
        changes = values != before
        if allocation.initialised is not None:
            changes |= ~again & ~allocation.initialised[at]
        first = programs[np.maximum.accumulate(np.where(again, 0, np.arange(at.size)))]
        clash = np.flatnonzero(changes & (first != programs))
        if clash.size:
            self._report_clash(allocation, at[clash], first[clash], programs[clash], access)
        result = np.empty_like(changes)
        result[order] = changes
        return result

    def _report_clash(self, allocation: Allocation, at: Array, first: Array, second: Array, access: AccessType) -> None:
        self._memory[allocation].raced[at] = True
        numbers = [int(first[0]), int(second[0])]
        message = (
            f"programs {self.program_id(numbers[0])} and {self.program_id(numbers[1])} both write "
            f"{self._element(allocation, int(at[0]))}, different values"
        )
        self._report("race", allocation, message, access.where, numbers, access.where)
