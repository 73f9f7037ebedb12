"""Full checks: reads of memory nobody wrote, writes outside the view, races between programs.

Every byte remembers who wrote it last, who read it and when. Two programs race on a byte when one of them
changes it by a plain store, the other touches it, and no chain of atomics orders the two: the first must run
an atomic after its access and the second one after that, before its own. Stores that leave a byte as it was
are not conflicts, so programs that all write the same value do not race.
Limits: an atomic is checked against plain accesses that came before it, not against those that come after.
"""

from __future__ import annotations

import bisect
from typing import Any

import numpy as np

from harness.cases.evidence import Finding
from harness.cases.location import SourceLocation
from harness.executor.bounds import AccessType
from harness.executor.context import Context
from harness.executor.memory import Allocation
from harness.executor.values import Pointer, dense
from harness.semantics.types import Array

NOBODY = -1


class _Bytes:
    """What is remembered of an allocation, one entry per byte."""

    def __init__(self, size: int) -> None:
        self.writer = np.full(size, NOBODY, np.int64)  # of the last store that changed the byte
        self.written_at = np.zeros(size, np.int64)
        self.written_by = np.zeros(size, np.int32)  # site number
        self.reader = np.full(size, NOBODY, np.int64)
        self.other_reader = np.full(size, NOBODY, np.int64)
        self.read_at = np.zeros(size, np.int64)
        self.read_by = np.zeros(size, np.int32)
        self.other_read_at = np.zeros(size, np.int64)
        self.other_read_by = np.zeros(size, np.int32)
        self.last_writer = np.full(size, NOBODY, np.int64)  # of any store, for evidence


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
        return np.ascontiguousarray(flat).view(np.uint8).reshape(-1)


class Shadow:
    """The checks of one launch. `findings` holds each kind once per buffer and pair of lines."""

    def __init__(self, grid: tuple[int, int, int]) -> None:
        self.findings: dict[tuple[Any, ...], Finding] = {}
        self._grid = grid
        self._memory: dict[int, _Bytes] = {}
        self._names: dict[int, str] = {}
        self._sites: list[SourceLocation | None] = []
        self._site_numbers: dict[SourceLocation | None, int] = {}
        self._atomics: dict[int, list[int]] = {}
        self._clock = 0

    def writers(self) -> dict[str, Array]:
        """Per buffer, the number of the program that stored to each byte last (x fastest), -1 for none."""
        return {self._names[key]: known.last_writer for key, known in self._memory.items()}

    def program_id(self, number: int) -> tuple[int, int, int]:
        width, height, _ = self._grid
        return number % width, number // width % height, number // (width * height)

    # --- the three kinds of access ---------------------------------------------------------------------

    def load(self, pointer: Pointer, mask: Any, access: AccessType, context: Context) -> None:
        allocation, known, lanes = self._begin(pointer, mask, access, context)
        self._uninitialised(allocation, lanes, access, "reads")
        self._conflicts(
            allocation, known, lanes, access, known.writer, known.written_at, known.written_by, "reads what"
        )
        at, programs = lanes.bytes, lanes.programs
        free = known.reader[at] == NOBODY
        known.reader[at[free]] = programs[free]
        others = known.reader[at] != programs
        mine, theirs = at[~others], at[others]
        known.read_at[mine], known.read_by[mine] = self._clock, self._site(access.where)
        known.other_reader[theirs] = programs[others]
        known.other_read_at[theirs], known.other_read_by[theirs] = self._clock, self._site(access.where)

    def store(self, pointer: Pointer, values: Array, mask: Any, access: AccessType, context: Context) -> None:
        allocation, known, lanes = self._begin(pointer, mask, access, context)
        at, programs = lanes.bytes, lanes.programs
        new = lanes.bytes_of(values)
        self._outside(allocation, lanes, access)
        changes = allocation.bytes[at] != new
        for others, since, site in (
            (known.writer, known.written_at, known.written_by),
            (known.reader, known.read_at, known.read_by),
            (known.other_reader, known.other_read_at, known.other_read_by),
        ):
            verb = "overwrites what" if others is known.writer else "overwrites a value that"
            self._conflicts(allocation, known, lanes, access, others, since, site, verb, changes)
        self._write_together(allocation, lanes, new, access)
        known.last_writer[at] = programs
        if allocation.initialised is not None:
            changes |= ~allocation.initialised[at]
            allocation.initialised[at] = True
        at, programs = at[changes], programs[changes]
        known.writer[at] = programs
        known.written_at[at], known.written_by[at] = self._clock, self._site(access.where)

    def atomic(self, pointer: Pointer, mask: Any, access: AccessType, context: Context) -> None:
        allocation, known, lanes = self._begin(pointer, mask, access, context)
        self._uninitialised(allocation, lanes, access, "updates")
        self._outside(allocation, lanes, access)
        self._conflicts(
            allocation, known, lanes, access, known.writer, known.written_at, known.written_by, "updates what"
        )
        known.last_writer[lanes.bytes] = lanes.programs
        if allocation.initialised is not None:
            allocation.initialised[lanes.bytes] = True
        for number in np.unique(lanes.programs):
            # Programs of a batch run one atomic in order: the number breaks the tie.
            self._atomics.setdefault(int(number), []).append(self._stamp(int(number)))

    # --- helpers ------------------------------------------------------------------------------------------

    def _begin(
        self, pointer: Pointer, mask: Any, access: AccessType, context: Context
    ) -> tuple[Allocation, _Bytes, _Lanes]:
        allocation = pointer.allocation
        assert allocation is not None
        self._clock += 1
        key = id(allocation)
        if key not in self._memory:
            self._memory[key] = _Bytes(allocation.bytes.size)
            self._names[key] = allocation.name
        return allocation, self._memory[key], _Lanes(pointer, mask, access, context)

    def _stamp(self, number: int) -> int:
        return (self._clock << 32) + number

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

    def _conflicts(
        self,
        allocation: Allocation,
        known: _Bytes,
        lanes: _Lanes,
        access: AccessType,
        others: Array,
        since: Array,
        sites: Array,
        verb: str,
        only: Array | None = None,
    ) -> None:
        before = others[lanes.bytes]
        suspects = (before != NOBODY) & (before != lanes.programs)
        if only is not None:
            suspects &= only
        for position in np.flatnonzero(suspects):
            byte = int(lanes.bytes[position])
            first, second = int(before[position]), int(lanes.programs[position])
            if self._ordered(first, int(since[byte]), second):
                continue
            did = "read" if others is not known.writer else "wrote"
            message = (
                f"program {self.program_id(second)} {verb} program {self.program_id(first)} {did}: "
                f"{self._element(allocation, byte)}, and nothing orders the two"
            )
            self._report("race", allocation, message, access.where, [first, second], self._sites[int(sites[byte])])
            return

    def _ordered(self, first: int, at: int, second: int) -> bool:
        """Whether atomics order an access of program `first` at time `at` before now in program `second`."""
        released = self._atomics.get(first, [])
        acquired = self._atomics.get(second, [])
        position = bisect.bisect_left(released, (at + 1) << 32)
        if position == len(released) or not acquired:
            return False
        return released[position] < acquired[-1]

    def _write_together(self, allocation: Allocation, lanes: _Lanes, new: Array, access: AccessType) -> None:
        """Two programs of this batch storing different bytes to one place with one store op."""
        order = np.lexsort((np.arange(lanes.bytes.size), lanes.bytes))
        at, programs, values = lanes.bytes[order], lanes.programs[order], new[order]
        clash = (at[1:] == at[:-1]) & (programs[1:] != programs[:-1]) & (values[1:] != values[:-1])
        if not clash.any():
            return
        position = int(np.argmax(clash))
        first, second = int(programs[position]), int(programs[position + 1])
        message = (
            f"programs {self.program_id(first)} and {self.program_id(second)} both write "
            f"{self._element(allocation, int(at[position]))}, different values"
        )
        self._report("race", allocation, message, access.where, [first, second], access.where)
