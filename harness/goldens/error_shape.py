"""The shape of an error: which elements are wrong, in one phrase that points at a cause.

Read from the most specific to the least: still poison, one element, tail of each row, every Nth
column, every Nth row, a tile, shifted by k, in the wrong places, everything, scattered. A place whose
values are right but come from elsewhere says so as well: "a tile (rows 1-3, columns 0-9), shifted by 7".
Shifts count elements along the storage, and are positive when values stand further back than they should.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from harness.cases.allocate import element_numbers
from harness.cases.buffer import Buffer
from harness.goldens.bits import bits_of, is_float, ordered

# A pattern may hold elements that are right by accident, bools more often than others.
_DENSE = 0.9
_DENSE_BOOL = 0.3
# Values that stand elsewhere: so many must differ to say so, so many are looked up, each found at most so often.
_MOVED_AT_LEAST = 4
_SAMPLE = 1024
_PROBES = 8
_FOUND_AT_MOST = 64


def describe(got: np.ndarray, want: np.ndarray, wrong: np.ndarray, buffer: Buffer) -> str:
    """One phrase. `got`, `want` (the buffer's dtype) and `wrong` (bool) have the buffer's shape; at
    least one element is wrong."""
    dense = _DENSE_BOOL if got.dtype == bool else _DENSE
    place = _place(wrong, dense)
    if _still_poison(got, wrong, buffer):
        return "still poison" if wrong.all() else f"still poison: {place or 'scattered'}"
    if place == "one element":
        return place
    moved = _moved(got, want, wrong, buffer)
    if place and moved:
        return f"{place}, {moved}"
    return place or moved or ("everything" if wrong.mean() >= dense else "scattered")


def _still_poison(got: np.ndarray, wrong: np.ndarray, buffer: Buffer) -> bool:
    return bool((bits_of(got)[wrong] == buffer.dtype.poison).all())


def _place(wrong: np.ndarray, dense: float) -> str:
    """Where the wrong elements lie, with all leading axes taken as rows; "" when nowhere special."""
    if wrong.sum() == 1:
        return "one element"
    flat = wrong.ndim < 2
    table = wrong.reshape(1, -1) if flat else wrong.reshape(-1, wrong.shape[-1])
    rows, columns = np.flatnonzero(table.any(axis=1)), np.flatnonzero(table.any(axis=0))
    return (
        _tail(table, columns, dense)
        or _every(table, columns, "element" if flat else "column", dense)
        or _every(table.T, rows, "row", dense)
        or _tile(table, rows, columns, flat, dense)
    )


def _tail(table: np.ndarray, columns: np.ndarray, dense: float) -> str:
    start = int(columns[0])
    part = table[:, start:]
    if start == 0 or not part.any(axis=1).all() or part.mean() < dense:
        return ""
    return f"tail of each row (from {start} of {table.shape[1]})"


def _every(table: np.ndarray, columns: np.ndarray, unit: str, dense: float) -> str:
    """Columns of `table` at equal distances of two or more, from one end to the other."""
    if columns.size < 2:
        return ""
    steps = np.diff(columns)
    step, first, last = int(steps[0]), int(columns[0]), int(columns[-1])
    if step < 2 or (steps != step).any() or first >= step or last + step < table.shape[1]:
        return ""
    if table[:, columns].mean() < dense:
        return ""
    return f"every {_ordinal(step)} {unit}" + (f" (from {first})" if first else "")


def _tile(table: np.ndarray, rows: np.ndarray, columns: np.ndarray, flat: bool, dense: float) -> str:
    top, bottom, left, right = int(rows[0]), int(rows[-1]), int(columns[0]), int(columns[-1])
    part = table[top : bottom + 1, left : right + 1]
    if part.size == table.size or part.mean() < dense:
        return ""
    if flat:
        return f"a tile (elements {left}-{right})"
    return f"a tile (rows {top}-{bottom}, columns {left}-{right})"


def _moved(got: np.ndarray, want: np.ndarray, wrong: np.ndarray, buffer: Buffer) -> str:
    """The wrong elements hold goldens of other elements: along the storage, by lost strides, or anyhow."""
    slack = _slack(got.dtype)
    got, want, wrong = _keys(got), _keys(want), wrong.reshape(-1)
    if np.unique(want[wrong][:_SAMPLE]).size < _MOVED_AT_LEAST:
        return ""
    places = element_numbers(buffer).reshape(-1)
    shift = _shift(got, want, places, np.flatnonzero(wrong), slack)
    if shift:
        return f"shifted by {shift}"
    if _is_packed(got, want, wrong, places, slack):
        return "in the wrong places (packed: the strides are ignored)"
    if (np.abs(np.sort(got[wrong]) - np.sort(want[wrong])) <= slack).all():
        return "in the wrong places"
    return ""


def _keys(values: np.ndarray) -> np.ndarray:
    """1-D int64 that differ by little where the values do."""
    flat = values.reshape(-1)
    if is_float(flat.dtype):
        return ordered(flat)
    return bits_of(flat).astype(np.int64)


def _slack(dtype: np.dtype) -> int:
    """A value in the wrong place has its own rounding error, a few ulp."""
    if not is_float(dtype):
        return 0
    return 2 if dtype.itemsize <= 2 else 16


def _shift(got: np.ndarray, want: np.ndarray, places: np.ndarray, wrong: np.ndarray, slack: int) -> int:
    """k where the storage's element i holds what belongs to i - k, for nearly all wrong i; 0 if there is none."""
    at = np.full(int(places.max()) + 1, -1, dtype=np.int64)  # index of the element at each place; -1 in a hole
    at[places] = np.arange(places.size)
    probes = wrong[np.linspace(0, wrong.size - 1, min(_PROBES, wrong.size)).astype(np.int64)]
    for candidate in _candidates(got, want, places, probes, slack):
        source = places[wrong] - candidate
        known = (source >= 0) & (source < at.size)
        known[known] = at[source[known]] >= 0
        if known.mean() < 0.5:
            continue
        if (np.abs(got[wrong[known]] - want[at[source[known]]]) <= slack).mean() >= _DENSE:
            return candidate
    return 0


def _candidates(got: np.ndarray, want: np.ndarray, places: np.ndarray, probes: np.ndarray, slack: int) -> list[int]:
    """Distances in the storage at which the probes' values are found, the most frequent first."""
    votes: Counter[int] = Counter()
    for probe in probes:
        found = np.flatnonzero(np.abs(want - got[probe]) <= slack)
        if found.size <= _FOUND_AT_MOST:
            votes.update((places[probe] - places[found]).tolist())
    votes.pop(0, None)
    return sorted(votes, key=lambda distance: (-votes[distance], abs(distance)))[:_PROBES]


def _is_packed(got: np.ndarray, want: np.ndarray, wrong: np.ndarray, places: np.ndarray, slack: int) -> bool:
    """The storage holds the golden in row-major order, as if it had no strides of its own."""
    packed = places - places.min()
    reached = wrong & (packed < want.size)
    if (np.diff(places) == 1).all() or reached.sum() < _MOVED_AT_LEAST:
        return False
    return bool((np.abs(got[reached] - want[packed[reached]]) <= slack).mean() >= _DENSE)


def _ordinal(number: int) -> str:
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"
