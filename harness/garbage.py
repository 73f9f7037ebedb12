"""Python's cyclic garbage collector, out of the way while torch is imported and Inductor compiles: those make millions
of objects that stay, and each collection walks over many of them."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

# Containers made since the last collection, collections of the young before those of older ones, and of those before
# all. Python's own begin with 700 and 10.
_THRESHOLDS = (100_000, 50, 100)


@contextmanager
def rare_collections() -> Iterator[None]:
    """Inside the block the collector runs far more seldom: a seventh of the time of importing torch and Inductor. It
    does run: what dies in a cycle may hold tensors."""
    before = gc.get_threshold()
    gc.set_threshold(*_THRESHOLDS)
    try:
        yield
    finally:
        _count_as_old()
        gc.set_threshold(*before)


def _count_as_old() -> None:
    """What was made in the block is looked at with all else, some day, and not at once for being so much."""
    if not gc.get_freeze_count():
        gc.freeze()
        gc.unfreeze()
