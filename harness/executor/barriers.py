"""Barriers in shared memory (mbarriers): phases that end once all arrivals and all announced bytes are there.

A barrier is one element of shared memory. What it holds is kept beside the buffer, per program and element. Only when
somebody waits is it asked which of the outstanding work has ended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from harness.errors import Deadlock
from harness.executor.local import LocalBuffer, LocalView
from harness.executor.outstanding import Signal
from harness.semantics.types import Array

if TYPE_CHECKING:
    from harness.cases.location import SourceLocation
    from harness.executor.context import Context


class Barriers:
    """The barriers of one buffer: int64 tables (programs of the batch, elements).

    phases   how many have ended
    counts   arrivals that each phase needs; 0 where the barrier was never initialised
    missing  arrivals that the present phase still waits for
    size     bytes that it still waits for
    """

    __slots__ = ("counts", "missing", "phases", "size")

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.phases, self.counts, self.missing, self.size = (np.zeros(shape, np.int64) for _ in range(4))


class Barrier:
    """One barrier for each program of a context."""

    def __init__(self, view: LocalView, context: Context) -> None:
        self._view, self._context = view, context
        self._rows = context.local.numbers(context)
        self._state = _state_of(view.buffer)
        self._at = (self._rows, np.broadcast_to(view.offset, self._rows.shape))

    def initialise(self, count: int) -> None:
        self._state.phases[self._at] = 0
        self._state.counts[self._at] = self._state.missing[self._at] = count
        self._state.size[self._at] = 0

    def arrive(self, arrivals: int, size: int = 0) -> None:
        """Arrivals that come with the announcement of `size` bytes."""
        # Only a wait asks which copies have ended: where all have arrived, those of the phase before have.
        over = np.flatnonzero(self._state.missing[self._at] == 0)
        if over.size:
            self._of(over).settle()
        self._state.missing[self._at] -= arrivals
        self._state.size[self._at] += size
        self._context.local.moves += 1
        self._advance()

    def signal(self, arrivals: int = 0, size: int = 0) -> tuple[Array, Signal]:
        """The phase, per program, that work which begins now will tell, and what it will tell."""
        return self._state.phases[self._at], Signal(self._view.buffer, self._at[1], arrivals, size)

    def settle(self) -> None:
        """Takes what outstanding work has to tell about the present phase, which may end."""
        phases = self._state.phases[self._at]
        arrivals, size = self._context.local.outstanding.wait_phase(self._view, self._rows, phases, self._context)
        self._state.missing[self._at] -= arrivals
        self._state.size[self._at] -= size
        self._advance()

    def _advance(self) -> None:
        """Ends the phases that lack nothing."""
        ended = (self._state.missing[self._at] == 0) & (self._state.size[self._at] == 0)
        ended &= self._state.counts[self._at] > 0
        at = tuple(index[ended] for index in self._at)
        self._state.phases[at] += 1
        self._state.missing[at] = self._state.counts[at]
        self._context.local.moves += int(ended.sum())

    def wait(self, parity: Array, where: SourceLocation | None) -> None:
        """Until the phase of this parity has ended; of the other parity is the one before, which has.

        Raises Deadlock where nothing can end it any more.
        """
        while True:
            waiting = np.flatnonzero(self._state.phases[self._at] & 1 == parity)
            if not waiting.size:
                return
            here = self._of(waiting)
            here.settle()
            stuck = np.flatnonzero(here._state.phases[here._at] & 1 == parity[waiting])
            if not stuck.size:
                return
            self._context.local.give_way(here._deadlock(int(stuck[0]), where))

    def _of(self, positions: Array) -> Barrier:
        return Barrier(self._view.narrowed(positions), self._context.subset(positions))

    def _deadlock(self, row: int, where: SourceLocation | None) -> Deadlock:
        program = self._context.program_of(row)
        at = tuple(index[row] for index in self._at)
        missing, size = int(self._state.missing[at]), int(self._state.size[at])
        lacks = [f"{missing} arrivals"] * (missing > 0) + [f"{size} bytes"] * (size != 0)
        hint = f"it waits for {' and '.join(lacks)} that nothing brings"
        return Deadlock(
            f"program {program} waits for a phase of a barrier that nothing ends",
            where,
            hint if self._state.counts[at] else "nobody initialised the barrier",
            program,
        )


def _state_of(buffer: LocalBuffer) -> Barriers:
    if buffer.barriers is None:
        buffer.barriers = Barriers(buffer.data.shape)
    return buffer.barriers
