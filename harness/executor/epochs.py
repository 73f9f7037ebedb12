"""Who accessed each byte of an allocation, and when, since the last store that changed it.

Two ways to remember, with one interface. Where nothing in a kernel orders its programs, two programs a byte are
enough: whoever comes next is unordered with one of them. Where atomics order programs, any of the earlier ones
may be the one that is not ordered, so all are kept, with the latest time of each. Bytes that were accessed
alike share one set of programs, so a tile costs what a byte costs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from harness.executor.clocks import changes
from harness.semantics.types import Array

NOBODY = -1
_FIRST_COLLECTION = 1 << 14  # members of all sets


@dataclass(frozen=True)
class Others:
    """Earlier accesses by other programs, for a list of lanes; lanes that met the same ones share a pair.

    pair             of each lane, -1 for none
    of               the pair of each earlier access
    program, stamp, site   of each earlier access
    later            the program of the pair's lanes, for each earlier access
    """

    pair: Array
    of: Array
    program: Array
    stamp: Array
    site: Array
    later: Array


class Accesses(Protocol):
    """The accesses of one kind to an allocation. `at` are byte numbers, the other arrays go with them."""

    def add(self, at: Array, programs: Array, stamps: Array, site: int) -> None: ...

    def clear(self, at: Array) -> None: ...

    def others(self, at: Array, programs: Array) -> Others | None:
        """What other programs did there; None where nobody else came."""
        ...


class _Slot:
    def __init__(self, size: int) -> None:
        self.program = np.full(size, NOBODY, np.int64)
        self.stamp = np.zeros(size, np.int32)
        self.site = np.zeros(size, np.int32)

    def set(self, at: Array, programs: Array, stamps: Array, site: int) -> None:
        self.program[at], self.stamp[at], self.site[at] = programs, stamps, site


def _others(slots: tuple[_Slot, ...], at: Array, programs: Array) -> Others | None:
    held = [slot.program[at] for slot in slots]
    lanes = [np.flatnonzero((who != NOBODY) & (who != programs)) for who in held]
    if not any(chosen.size for chosen in lanes):
        return None
    of = np.concatenate(lanes)
    return Others(
        np.arange(at.size),
        of,
        np.concatenate([who[chosen] for who, chosen in zip(held, lanes, strict=True)]),
        np.concatenate([slot.stamp[at[chosen]] for slot, chosen in zip(slots, lanes, strict=True)]),
        np.concatenate([slot.site[at[chosen]] for slot, chosen in zip(slots, lanes, strict=True)]),
        programs[of],
    )


class LastAccess:
    """The last access to each byte: enough for stores, of which each one is ordered after the one before."""

    def __init__(self, size: int) -> None:
        self._slot = _Slot(size)

    def add(self, at: Array, programs: Array, stamps: Array, site: int) -> None:
        self._slot.set(at, programs, stamps, site)

    def clear(self, at: Array) -> None:
        self._slot.program[at] = NOBODY

    def others(self, at: Array, programs: Array) -> Others | None:
        return _others((self._slot,), at, programs)


class TwoAccesses:
    """Accesses by two different programs to each byte."""

    def __init__(self, size: int) -> None:
        self._first, self._second = _Slot(size), _Slot(size)

    def add(self, at: Array, programs: Array, stamps: Array, site: int) -> None:
        free = self._first.program[at] == NOBODY
        self._first.program[at[free]] = programs[free]
        mine = self._first.program[at] == programs
        self._first.set(at[mine], programs[mine], stamps[mine], site)
        self._second.set(at[~mine], programs[~mine], stamps[~mine], site)

    def clear(self, at: Array) -> None:
        self._first.program[at] = NOBODY
        self._second.program[at] = NOBODY

    def others(self, at: Array, programs: Array) -> Others | None:
        return _others((self._first, self._second), at, programs)


class _Rows:
    """A growing table of integers."""

    def __init__(self, width: int) -> None:
        self._held = np.zeros((64, width), np.int64)
        self.size = 0

    @property
    def rows(self) -> Array:
        return self._held[: self.size]

    def append(self, rows: Array) -> int:
        """The number of the first new row."""
        start, self.size = self.size, self.size + rows.shape[0]
        if self.size > self._held.shape[0]:
            held = np.zeros((2 * self.size, self._held.shape[1]), np.int64)
            held[:start] = self._held[:start]
            self._held = held
        self._held[start : self.size] = rows
        return start


class AllAccesses:
    """Accesses by every program to each byte: the number of a set, whose members are (program, stamp, site)."""

    def __init__(self, size: int) -> None:
        self._set = np.zeros(size, np.int32)  # 0 is the empty set
        self._members = _Rows(3)
        self._spans = _Rows(2)  # of each set: first member, number of members
        self._spans.append(np.zeros((1, 2), np.int64))
        self._collect_at = _FIRST_COLLECTION

    def add(self, at: Array, programs: Array, stamps: Array, site: int) -> None:
        if not at.size:
            return
        order = np.lexsort((programs, at))
        order = order[changes(at[order], programs[order])]
        at, programs, stamps = at[order], programs[order], stamps[order]
        first = np.flatnonzero(changes(at))
        counts = np.diff(np.append(first, at.size))
        alike = np.lexsort((programs[first], counts, self._set[at[first]]))  # bytes that are, next to one another
        lanes = _ranges(first[alike], counts[alike])
        at, programs, stamps, counts = at[lanes], programs[lanes], stamps[lanes], counts[alike]
        first = np.cumsum(counts) - counts
        old = self._set[at[first]]
        leads = _leads(old, first, counts, programs)
        leaders = np.flatnonzero(leads)
        lanes = _ranges(first[leaders], counts[leaders])
        new = np.stack([programs[lanes], stamps[lanes], np.full(lanes.size, site)], axis=1)
        joined = self._joined(old[leaders], new, counts[leaders])
        self._set[at[first]] = joined[np.cumsum(leads) - 1]
        if self._members.size > self._collect_at:
            self._collect()

    def clear(self, at: Array) -> None:
        self._set[at] = 0

    def others(self, at: Array, programs: Array) -> Others | None:
        sets = self._set[at]
        chosen = np.flatnonzero(sets)
        if not chosen.size:
            return None
        order = chosen[np.lexsort((programs[chosen], sets[chosen]))]
        new = changes(sets[order], programs[order])
        pair = np.full(at.size, -1)
        pair[order] = np.cumsum(new) - 1
        spans = self._spans.rows[sets[order[new]]]
        of = np.repeat(np.arange(spans.shape[0]), spans[:, 1])
        program, stamp, site = self._members.rows[_ranges(spans[:, 0], spans[:, 1])].T
        later = programs[order[new]][of]
        different = program != later
        if not different.any():
            return None
        return Others(pair, of[different], program[different], stamp[different], site[different], later[different])

    def _joined(self, old: Array, new: Array, counts: Array) -> Array:
        """The numbers of the old sets with `counts` new members each, which replace those of the same program."""
        spans = self._spans.rows[old]
        number = np.arange(old.size)
        of = np.concatenate([np.repeat(number, spans[:, 1]), np.repeat(number, counts)])
        members = np.concatenate([self._members.rows[_ranges(spans[:, 0], spans[:, 1])], new])
        order = np.lexsort((members[:, 0], of))  # stable: old before new
        is_new = order >= members.shape[0] - new.shape[0]
        of, members = of[order], members[order]
        again = ~changes(of, members[:, 0])
        known = again & ~changes(members[:, 1])
        grows = np.zeros(old.size, np.bool_)
        grows[of[is_new & ~known]] = True
        kept = np.append(~again[1:], True) & grows[of]
        lengths = np.bincount(of[kept], minlength=old.size)[grows]
        start = self._members.append(members[kept])
        result = old.astype(np.int64)
        starts = start + np.cumsum(lengths) - lengths
        result[grows] = self._spans.append(np.stack([starts, lengths], axis=1)) + np.arange(lengths.size)
        return result

    def _collect(self) -> None:
        """Drops the sets that no byte has any more."""
        live, numbers = np.unique(np.append(self._set, 0), return_inverse=True)
        spans, members = self._spans.rows[live], self._members.rows
        self._members, self._spans = _Rows(3), _Rows(2)
        self._members.append(members[_ranges(spans[:, 0], spans[:, 1])])
        self._spans.append(np.stack([np.cumsum(spans[:, 1]) - spans[:, 1], spans[:, 1]], axis=1))
        self._set = numbers[:-1].astype(np.int32)
        self._collect_at = max(_FIRST_COLLECTION, 2 * self._members.size)


def _ranges(starts: Array, lengths: Array) -> Array:
    """start, start + 1, ... of each range, one after the other."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if ends.size else 0
    return np.arange(total) + np.repeat(starts - (ends - lengths), lengths)


def _leads(old: Array, first: Array, counts: Array, programs: Array) -> Array:
    """Whether a byte does not just do as the byte before it: the same old set, and the same programs come."""
    before = np.maximum(np.arange(programs.size) - np.repeat(counts, counts), 0)
    return changes(old, counts) | np.logical_or.reduceat(programs != programs[before], first)
