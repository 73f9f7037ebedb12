"""Parts of one program that run at once (warp specialisation) and wait for one another at barriers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from greenlet import getcurrent, greenlet

from harness.errors import Deadlock

if TYPE_CHECKING:
    from harness.executor.context import Context


class Partitions:
    """The parts of the programs of one context, which take turns: one goes on until a barrier holds it up."""

    def __init__(self, context: Context) -> None:
        self._local = context.local
        self._runner = getcurrent()

    def run(self, parts: Sequence[Callable[[], None]]) -> None:
        """Until all have ended. Raises Deadlock when all that are left wait and nothing moves any barrier on."""
        waiting = deque(greenlet(_quietly(part)) for part in parts)
        before, self._local.partitions = self._local.partitions, self
        try:
            idle = 0
            while waiting:
                part = waiting.popleft()
                moves = self._local.moves
                deadlock: Deadlock | None = part.switch()
                if part.dead or self._local.moves != moves:
                    idle = 0
                else:
                    idle += 1
                if not part.dead:
                    waiting.append(part)
                if waiting and idle >= len(waiting) and deadlock is not None:
                    raise deadlock
        finally:
            self._local.partitions = before

    def give_way(self, deadlock: Deadlock) -> None:
        """Lets the next part run; `deadlock` is what this one waits for."""
        self._runner.switch(deadlock)


def _quietly(part: Callable[[], None]) -> Callable[[], None]:
    """NumPy's error state belongs to the part's own stack."""

    def run() -> None:
        with np.errstate(all="ignore"):
            part()

    return run
