"""How a process ends that has imported torch."""

from __future__ import annotations

import gc
import sys
from typing import NoReturn


def leave(status: int) -> NoReturn:
    """`sys.exit(status)`, without a last look for garbage among all that torch has imported: that takes longer than
    many a command does (0.7 s)."""
    gc.freeze()
    sys.exit(status)
