"""Memory that a process has freed, kept for what it allocates next: what it would give back to the system comes back
as pages that have to be cleared first. Models allocate and free hundreds of megabytes with every kernel."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

# Of glibc's mallopt by number, with what keeps everything and with glibc's own defaults: see malloc.h and mallopt(3).
_TRIM_THRESHOLD, _MMAP_MAX = -1, -4
_KEEPING = {_TRIM_THRESHOLD: -1, _MMAP_MAX: 0}
_DEFAULTS = {_TRIM_THRESHOLD: 128 * 1024, _MMAP_MAX: 65536}


@contextmanager
def keep_freed_memory() -> Iterator[None]:
    """Inside the block the C library's malloc keeps what is freed, after it all of that goes back to the system. With
    a library other than glibc nothing changes. Blocks may be inside one another: the innermost end counts."""
    library = ctypes.CDLL(None)
    mallopt, trim = getattr(library, "mallopt", None), getattr(library, "malloc_trim", None)
    if mallopt is None or trim is None:
        yield
        return
    _set(mallopt, _KEEPING)
    try:
        yield
    finally:
        _set(mallopt, _DEFAULTS)
        trim(ctypes.c_size_t(0))


def _set(mallopt: Callable[[int, int], int], parameters: Mapping[int, int]) -> None:
    for number, value in parameters.items():
        mallopt(number, value)
