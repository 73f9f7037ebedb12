"""Freed memory around a model: kept inside the block, and given back at its end."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

import pytest

from harness.freed_memory import keep_freed_memory

_SIZE = 64 << 20  # more than glibc ever takes from its heap by itself


def test_what_is_freed_is_kept_until_the_block_ends():
    libc = _glibc()
    with keep_freed_memory():
        held = _allocate_and_free(libc)
        inside = _resident()
    assert inside > held - _SIZE // 8
    assert _resident() < held - _SIZE // 2


def test_afterwards_it_goes_back_at_once():
    libc = _glibc()
    with pytest.raises(ZeroDivisionError), keep_freed_memory():
        raise ZeroDivisionError
    held = _allocate_and_free(libc)
    assert _resident() < held - _SIZE // 2


def _glibc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None)
    if not hasattr(libc, "malloc_trim"):
        pytest.skip("the C library is not glibc")
    libc.malloc.restype = ctypes.c_void_p
    libc.malloc.argtypes = [ctypes.c_size_t]
    libc.free.argtypes = [ctypes.c_void_p]
    return libc


def _allocate_and_free(libc: ctypes.CDLL) -> int:
    """Resident bytes while the memory was held and written."""
    address = libc.malloc(_SIZE)
    ctypes.memset(address, 1, _SIZE)
    held = _resident()
    libc.free(address)
    return held


def _resident() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
