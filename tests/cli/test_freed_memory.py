"""Freed memory around a model: kept inside the block, and given back at its end.

Each in a process of its own: where malloc takes memory from depends on all that a process has done before.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys

import pytest

_SETUP = """
import contextlib, ctypes, os
from pathlib import Path
from harness.freed_memory import keep_freed_memory

SIZE = 64 << 20  # more than glibc ever takes from its heap by itself
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]

def resident():
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")

def allocate_and_free():
    address = libc.malloc(SIZE)
    ctypes.memset(address, 1, SIZE)
    held = resident()
    libc.free(address)
    return held
"""

_KEPT = """
with keep_freed_memory():
    held = allocate_and_free()
    assert resident() > held - SIZE // 8
assert resident() < held - SIZE // 2
"""

_GIVEN_BACK = """
with contextlib.suppress(ZeroDivisionError), keep_freed_memory():
    raise ZeroDivisionError
held = allocate_and_free()
assert resident() < held - SIZE // 2
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="the C library is not glibc")
@pytest.mark.parametrize("script", [_KEPT, _GIVEN_BACK], ids=["kept-inside", "given-back-afterwards"])
def test_what_is_freed(script: str):
    done = subprocess.run([sys.executable, "-c", _SETUP + script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
