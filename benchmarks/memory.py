"""Resident memory of this process, in bytes, as Linux counts it."""

from __future__ import annotations

import contextlib
from pathlib import Path

_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")


def resident_memory() -> int:
    return _status("VmRSS")


def peak_memory() -> int:
    """The most since the process started, or since `reset_peak`."""
    return _status("VmHWM")


def reset_peak() -> None:
    """Starts a new peak at what is resident now; where the system forbids it, the peak stays an upper bound."""
    with contextlib.suppress(OSError):
        _CLEAR.write_text("5")


def _status(key: str) -> int:
    for line in _STATUS.read_text().splitlines():
        name, _, value = line.partition(":")
        if name == key:
            return int(value.split()[0]) * 1024  # given in kB
    raise KeyError(key)
