"""How a process ends that has imported torch, or that another one has forked."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import signal
import sys
from typing import NoReturn

_PR_SET_PDEATHSIG = 1


def leave(status: int) -> NoReturn:
    """`sys.exit(status)`, without a last look for garbage among all that torch has imported: that takes longer than
    many a command does (0.7 s)."""
    gc.freeze()
    sys.exit(status)


def end_with_parent() -> None:
    """This process is killed when the one that forked it ends, however that ends. Linux only: elsewhere nothing."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
