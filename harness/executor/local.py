"""Memory inside the chip: each program's own, seen through strided views.

A buffer holds the elements of all programs of a batch, one row each. A view is where in its row a program looks:
views of views (an index, a slice, a transposition) are strides and an offset, and all write to the same row.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.errors import Deadlock, UnsupportedOp
from harness.semantics.types import Array

if TYPE_CHECKING:
    from harness.cases.location import SourceLocation
    from harness.executor.barriers import Barriers
    from harness.executor.context import Context
    from harness.executor.outstanding import Outstanding
    from harness.executor.partitions import Partitions

Rows = Any  # slice(None), or an array of row numbers


SHARED, TENSOR = "shared memory", "tensor memory"


class LocalBuffer:
    """data: (programs of the batch, elements). `written` says which of them somebody wrote; None where nobody asks.

    where  the line that made it
    kind   SHARED or TENSOR
    """

    __slots__ = ("barriers", "data", "kind", "where", "written")

    def __init__(
        self,
        programs: int,
        elements: int,
        dtype: np.dtype[Any],
        where: SourceLocation | None,
        tracked: bool = False,
        kind: str = SHARED,
    ) -> None:
        # Bits that stand out: NaN as floats, -1 as integers.
        self.data = np.full((programs, elements * dtype.itemsize), 0xFF, np.uint8).view(dtype)
        if dtype == np.bool_:
            self.data[...] = False
        self.written = np.zeros(self.data.shape, np.bool_) if tracked else None
        self.where = where
        self.kind = kind
        self.barriers: Barriers | None = None  # what its elements hold where they are barriers


class LocalView:
    """A tensor in a buffer: strides in elements, `offset` int64 (P|1,) one per program of the running context."""

    __slots__ = ("buffer", "offset", "shape", "strides")

    def __init__(self, buffer: LocalBuffer, shape: tuple[int, ...], strides: tuple[int, ...], offset: Array) -> None:
        self.buffer = buffer
        self.shape = shape
        self.strides = strides
        self.offset = offset

    def narrowed(self, chosen: Array) -> LocalView:
        if self.offset.size == 1:
            return self
        return LocalView(self.buffer, self.shape, self.strides, self.offset[chosen])

    @classmethod
    def merged(cls, parts: Sequence[tuple[Array, LocalView]], programs: int) -> LocalView:
        """Views of one buffer. Raises UnsupportedOp where the programs look into several."""
        parts = [(at, part) for at, part in parts if not isinstance(part, NoView)] or parts[:1]
        first = parts[0][1]
        if isinstance(first, NoView):
            return first
        if any(part.buffer is not first.buffer or part.strides != first.strides for _, part in parts):
            raise UnsupportedOp("unsupported choice between buffers of shared memory")
        offset = np.zeros(programs, np.int64)
        for at, part in parts:
            offset[at] = part.offset
        return LocalView(first.buffer, first.shape, first.strides, offset)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    def moved(self, shape: tuple[int, ...], strides: tuple[int, ...], by: Any = 0) -> LocalView:
        return LocalView(self.buffer, shape, strides, self.offset + by)

    def elements(self) -> Array:
        """Element numbers in a row for offset 0: int64, the view's shape."""
        numbers = np.zeros(self.shape, np.int64)
        for axis, (extent, stride) in enumerate(zip(self.shape, self.strides, strict=True)):
            column = [1] * len(self.shape)
            column[axis] = extent
            numbers += (np.arange(extent, dtype=np.int64) * stride).reshape(column)
        return numbers

    def read(self, rows: Rows) -> Array:
        """A copy, (programs, *shape)."""
        return self._read(self.buffer.data, rows)

    def written(self, rows: Rows) -> Array | None:
        """Which elements somebody wrote, (programs, *shape); None where nobody asks."""
        return None if self.buffer.written is None else self._read(self.buffer.written, rows)

    def write(self, rows: Rows, values: Any) -> None:
        """values: (programs|1, *shape)"""
        self._write(self.buffer.data, rows, values)
        if self.buffer.written is not None:
            self._write(self.buffer.written, rows, True)

    def _read(self, table: Array, rows: Rows) -> Array:
        window = self._window(table)
        if window is not None:
            return window[rows].copy() if isinstance(rows, slice) else window[rows]
        return table[self._index(rows)]

    def _write(self, table: Array, rows: Rows, values: Any) -> None:
        window = self._window(table)
        if window is not None:
            window[rows] = values
        else:
            table[self._index(rows)] = values

    def _window(self, table: Array) -> Array | None:
        """All rows of a table through the view, no copy; None where programs look at different places."""
        if self.offset.size > 1 and (self.offset != self.offset[0]).any():
            return None
        size = table.itemsize
        return np.ndarray(
            (table.shape[0], *self.shape),
            table.dtype,
            buffer=table,
            offset=int(self.offset[0]) * size,
            strides=(table.strides[0], *(stride * size for stride in self.strides)),
        )

    def _index(self, rows: Rows) -> tuple[Array, Array]:
        numbers = np.arange(self.buffer.data.shape[0])[rows]
        column = (-1, *(1,) * len(self.shape))
        return numbers.reshape(column), self.offset.reshape(column) + self.elements()


class NoView(LocalView):
    """A view that nobody looks through: where a branch that is never taken gives one."""

    __slots__ = ()

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__(LocalBuffer(0, 0, np.dtype(np.int8), None), shape, (0,) * len(shape), np.zeros(1, np.int64))


def contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Row-major strides, in elements."""
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


def reshaped(view: LocalView, shape: tuple[int, ...]) -> LocalView:
    """The view's elements in row-major order in another shape. Raises UnsupportedOp where that is no view."""
    old = [(n, s) for n, s in zip(view.shape, view.strides, strict=True) if n > 1]
    new = [n for n in shape if n > 1]
    found: list[int] = []
    while new:
        group, extent = [old.pop(0)], [new.pop(0)]
        while (have := _product(n for n, _ in group)) != (want := _product(extent)):
            if have < want:
                group.append(old.pop(0))
            else:
                extent.append(new.pop(0))
        if any(s != m * t for (_, s), (m, t) in itertools.pairwise(group)):
            raise UnsupportedOp("unsupported reshape of a strided view of shared memory")
        found += [stride * group[-1][1] for stride in contiguous_strides(extent)]
    strides = iter(found)
    return view.moved(shape, tuple(next(strides) if n > 1 else 0 for n in shape))


def _product(values: Any) -> int:
    return int(np.prod(list(values), dtype=np.int64))


class LocalState:
    """What the programs of one batch have going on inside the chip."""

    def __init__(self, context: Context) -> None:
        self.ids, self._grid = context.ids, context.grid
        self._descriptors: list[tuple[Array, Any]] = []  # (numbers of the programs that wrote it, Descriptor)
        self.moves = 0  # how often a barrier came nearer to its end
        self.partitions: Partitions | None = None  # while programs run in several parts at once

    @cached_property
    def programs(self) -> Array:
        """Their numbers, x fastest, in order."""
        return program_numbers(self.ids, self._grid)

    @cached_property
    def outstanding(self) -> Outstanding:
        from harness.executor.outstanding import Outstanding

        return Outstanding(self.programs.size)

    @property
    def is_busy(self) -> bool:
        """Whether anything asynchronous was ever begun."""
        return "outstanding" in self.__dict__

    def give_way(self, deadlock: Deadlock) -> None:
        """Lets the other parts of the programs go on. Raises `deadlock` where there are none, or none can."""
        if self.partitions is None:
            raise deadlock
        self.partitions.give_way(deadlock)

    def finish(self, context: Context) -> None:
        """The programs are over: what they left to be done is done."""
        if self.is_busy:
            self.outstanding.finish(context)

    def rows(self, context: Context) -> Rows:
        """The rows of the context's programs."""
        if context.programs == self.programs.size:
            return slice(None)
        return np.searchsorted(self.programs, context.linear_ids())

    def numbers(self, context: Context) -> Array:
        """The same as an array."""
        return np.arange(self.programs.size)[self.rows(context)]

    def describe(self, place: Any, descriptor: Any, context: Context) -> None:
        """Writes a tensor descriptor to memory: its number here, which nobody else reads."""
        memory, at = _words(place, context.programs)
        memory[at] = len(self._descriptors)
        self._descriptors.append((context.linear_ids(), descriptor))

    def described(self, place: Any, context: Context) -> list[tuple[Array, Any]]:
        """The descriptors that were written to a place: pairs of (positions of the programs, their descriptor)."""
        from harness.executor.values import narrowed

        memory, at = _words(place, context.programs)
        numbers, mine = memory[at], context.linear_ids()
        parts = []
        for number in np.unique(numbers):
            positions = np.flatnonzero(numbers == number)
            writers, descriptor = self._descriptors[int(number)]
            parts.append((positions, narrowed(descriptor, np.searchsorted(writers, mine[positions]))))
        return parts


def _words(place: Any, programs: int) -> tuple[Array, Array]:
    """The memory a pointer points into as 64-bit words, and the word of each program."""
    memory = place.allocation.bytes.view(np.int64)
    return memory, np.broadcast_to(place.offset, (programs,)) // memory.itemsize


def program_numbers(ids: tuple[Array, Array, Array], grid: tuple[int, int, int]) -> Array:
    """Program numbers, x fastest: the order in which programs are defined to run."""
    x, y, z = (axis.astype(np.int64) for axis in ids)
    return x + grid[0] * (y + grid[1] * z)
