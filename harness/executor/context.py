"""What the steps of a plan share while one batch of programs runs."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from harness.errors import Deadlock
from harness.executor.api import ExecutorOptions, LaunchResult, is_to_be_told
from harness.executor.local import LocalState, program_numbers
from harness.executor.memory import Memory
from harness.executor.pool import Pool
from harness.executor.products import Strip
from harness.ir import source_location
from harness.semantics.types import Array

if TYPE_CHECKING:
    from xdsl.ir import Operation

    from harness.executor.checks import Shadow


class Turn(enum.Enum):
    """What a waiting program did in its turn: changed memory, or only its own values, or nothing at all."""

    CHANGED = enum.auto()
    BUSY = enum.auto()
    IDLE = enum.auto()


class Context:
    """A batch of programs: `ids` are three int32 arrays (P,), the program id along x, y and z.

    `pause` lets another program run (cooperative mode only); `shadow` is there under full checks.
    `changed` says that memory changed since the last pause. `local`: what goes on inside the chip, shared by
    all contexts made of this one.
    """

    __slots__ = (
        "changed",
        "grid",
        "ids",
        "local",
        "memory",
        "options",
        "pause",
        "pool",
        "programs",
        "result",
        "shadow",
        "sharing",
        "steps",
        "strips",
    )

    def __init__(
        self,
        ids: tuple[Array, Array, Array],
        grid: tuple[int, int, int],
        memory: Memory,
        options: ExecutorOptions,
        result: LaunchResult,
        shadow: Shadow | None = None,
        pause: Callable[[Turn], object] | None = None,
        pool: Pool | None = None,
        local: LocalState | None = None,
    ) -> None:
        self.ids = ids
        self.programs = ids[0].size
        self.grid = grid
        self.memory = memory
        self.options = options
        self.result = result
        self.shadow = shadow
        self.pause = pause
        self.changed = False
        self.pool = pool or Pool()
        self.local = local or LocalState(self)
        self.steps = 0
        self.sharing: dict[
            int, tuple[Array, Array] | None
        ] = {}  # per load that feeds a product: see access.load_shared
        self.strips: dict[int, Strip] = {}

    def subset(self, chosen: Array) -> Context:
        """The context of the programs at these positions."""
        return self._of((self.ids[0][chosen], self.ids[1][chosen], self.ids[2][chosen]))

    def of_rows(self, rows: Array) -> Context:
        """The context of these rows of the batch (see `LocalState.rows`)."""
        x, y, z = self.local.ids
        return self._of((x[rows], y[rows], z[rows]))

    def _of(self, ids: tuple[Array, Array, Array]) -> Context:
        shared = (self.grid, self.memory, self.options, self.result, self.shadow, self.pause, self.pool, self.local)
        part = Context(ids, *shared)
        part.strips = self.strips
        return part

    def program_of(self, row: int) -> tuple[int, int, int]:
        """The (x, y, z) of the program at position `row`; the first one for values that all programs share."""
        row = row if row < self.programs else 0
        x, y, z = self.ids
        return int(x[row]), int(y[row]), int(z[row])

    def linear_ids(self) -> Array:
        """Program numbers, x fastest: the order in which programs are defined to run."""
        return program_numbers(self.ids, self.grid)

    def take_turns(self, same_state: bool) -> None:
        """Lets other programs run. `same_state`: the loop goes round with the values it went round with last time."""
        if self.pause is None:
            return
        turn = Turn.CHANGED if self.changed else Turn.IDLE if same_state else Turn.BUSY
        self.changed = False
        self.pause(turn)

    def strip(self, access: object) -> Strip:
        """Where the slices of K go that one load makes."""
        return self.strips.setdefault(id(access), Strip())

    def count_step(self, loop: Operation | None = None) -> None:
        """One iteration of that loop went by. Raises Deadlock when the watchdog's budget is spent."""
        self.steps += 1
        if self.options.in_loop is not None and loop is not None and is_to_be_told(self.steps):
            where = source_location(loop)
            if where is not None:
                self.options.in_loop(where)
        if self.steps > self.options.max_steps:
            raise Deadlock(
                f"a loop ran more than {self.options.max_steps} iterations",
                hint="the watchdog stopped it; the kernel waits for something that never comes",
                program=self.program_of(0),
            )


def ids_of(grid: tuple[int, int, int], first: int, last: int) -> tuple[Array, Array, Array]:
    """The ids along x, y and z of the programs with these numbers, x fastest; int32."""
    numbers = np.arange(first, last, dtype=np.int64)
    width, height, _ = grid
    x = numbers % width if width > 1 else np.zeros_like(numbers)
    y = numbers // width % height if height > 1 else np.zeros_like(numbers)
    return x.astype(np.int32), y.astype(np.int32), (numbers // (width * height)).astype(np.int32)
