"""What native code writes to stderr: Triton's passes say there, and nowhere else, why they failed."""

from __future__ import annotations

import contextlib
import os
import stat
import sys
import tempfile
from collections.abc import Iterator

KEPT_BYTES = 64 * 1024
_STDERR = 2


class StderrLog:
    """The end of what was written to file descriptor 2 since `start`."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._start = os.fstat(descriptor).st_size

    def text(self) -> str:
        """At most the last KEPT_BYTES."""
        end = os.fstat(self._descriptor).st_size
        start = max(self._start, end - KEPT_BYTES)
        return os.pread(self._descriptor, end - start, start).decode(errors="replace")


@contextlib.contextmanager
def stderr_log() -> Iterator[StderrLog]:
    """Follows stderr inside the block. Where it is a file already (a case's own process) that file is
    read, and survives a crash; else it goes through a temporary file, and is passed on at the end."""
    sys.stderr.flush()
    if stat.S_ISREG(os.fstat(_STDERR).st_mode) and _readable(_STDERR):
        yield StderrLog(_STDERR)
        return
    with tempfile.TemporaryFile() as file, _redirected(file.fileno()) as original:
        log = StderrLog(file.fileno())
        try:
            yield log
        finally:
            sys.stderr.flush()
            os.write(original, log.text().encode())


@contextlib.contextmanager
def _redirected(descriptor: int) -> Iterator[int]:
    original = os.dup(_STDERR)
    os.dup2(descriptor, _STDERR)
    try:
        yield original
    finally:
        os.dup2(original, _STDERR)
        os.close(original)


def _readable(descriptor: int) -> bool:
    try:
        os.pread(descriptor, 0, 0)
    except OSError:
        return False
    return True
