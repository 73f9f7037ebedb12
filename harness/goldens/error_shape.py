"""The shape of an error: which elements are wrong, in one phrase that points at a cause.

Read from the most specific to the least: still poison, one element, tail of each row, every Nth
column, every Nth row, a tile, shifted by k, everything, scattered. A place whose values are right
but come from elsewhere says so as well: "a tile (rows 1-3), shifted by 7".
"""

from __future__ import annotations

import numpy as np

from harness.cases.buffer import Buffer
from harness.goldens.bits import bits_of, poison_bits

# A pattern may hold elements that are right by accident, bools more often than others.
_DENSE = 0.9
_DENSE_BOOL = 0.3
_SHIFT_PROBES = 16
_SHIFT_CANDIDATES = 64
_SHIFT_AT_LEAST = 4


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
    return bool((bits_of(got)[wrong] == poison_bits(buffer.dtype)).all())


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
    """The wrong elements hold goldens of other elements."""
    if wrong.sum() < _SHIFT_AT_LEAST or np.unique(bits_of(want)[wrong]).size < _SHIFT_AT_LEAST:
        return ""
    shift = _shift(bits_of(got).reshape(-1), bits_of(want).reshape(-1), np.flatnonzero(wrong))
    if shift:
        return f"shifted by {shift}"
    return ""


def _shift(got: np.ndarray, want: np.ndarray, wrong: np.ndarray) -> int:
    """k where got[i] is want[i - k] for nearly all wrong i; 0 when there is none."""
    probes = wrong[np.linspace(0, wrong.size - 1, min(_SHIFT_PROBES, wrong.size)).astype(np.int64)]
    for candidate in _candidates(got, want, probes):
        source = wrong - candidate
        known = (source >= 0) & (source < want.size)
        if not known.any() or known.mean() < 0.5:
            continue
        if (got[wrong[known]] == want[source[known]]).mean() >= _DENSE:
            return candidate
    return 0


def _candidates(got: np.ndarray, want: np.ndarray, probes: np.ndarray) -> list[int]:
    """Distances at which the probes' values are found, the most frequent first."""
    votes: dict[int, int] = {}
    for probe in probes:
        found = np.flatnonzero(want == got[probe])
        if found.size > _SHIFT_CANDIDATES:
            continue
        for distance in probe - found:
            votes[int(distance)] = votes.get(int(distance), 0) + 1
    votes.pop(0, None)
    return sorted(votes, key=lambda distance: (-votes[distance], abs(distance)))[:_SHIFT_PROBES]


def _ordinal(number: int) -> str:
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') }"
