"""Arrays handed back when nobody reads them any more.

A batch makes the same few shapes over and over; fresh pages cost more than the arithmetic on them, and an
array used a moment ago is still in the cache.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from harness.semantics.types import Array

_LEAST_BYTES = 1 << 14  # below it the allocator is as fast
_MOST_KEPT = 6  # per shape


class Pool:
    """Free arrays by shape and dtype. Not shared between threads."""

    def __init__(self) -> None:
        self._free: dict[tuple[tuple[int, ...], np.dtype[Any]], list[Array]] = {}

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """An array with undefined contents that nobody else holds."""
        kept = self._free.get((shape, dtype))
        return kept.pop() if kept else np.empty(shape, dtype)

    def give(self, holder: list[Any]) -> None:
        """Takes the one value out of `holder`; keeps it if it is an array with no other reference and no view."""
        value = holder.pop()
        if type(value) is not np.ndarray or value.base is not None or value.nbytes < _LEAST_BYTES:
            return
        # `value` here and getrefcount's own argument: anything more is another slot, frame or view.
        if sys.getrefcount(value) > 2:
            return
        kept = self._free.setdefault((value.shape, value.dtype), [])
        if len(kept) < _MOST_KEPT:
            kept.append(value)
