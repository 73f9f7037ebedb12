"""Where tiles lie: their bytes in the two scratchpads, and the NumPy views of those bytes.

The row of w-byte elements at per-lane address x occupies the bytes [x * lanes, (x + w) * lanes) of a program's
scratchpad, lane l at x * lanes + l * w; the uniform scratchpad is one byte a byte. Scratchpads are cut where no tile
crosses: each part is an array (programs, bytes) of its own, so that NumPy sees at once that two parts do not overlap.
Of a part only the lanes are kept that any of its tiles uses: tiles narrower than the machine lie close together.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.errors import HarnessError, IllegalInstruction, Misaligned, ScratchpadFault, Trap
from harness.npu.isa.program import Program, Tile
from harness.npu.machine import Machine
from harness.semantics import numpy_dtype
from harness.semantics.types import Array

_WIDEST = 8  # bytes of an element


def runs_of(tile: Tile, lanes: int) -> int:
    """How many runs of `lanes` indices the lane axis has; 1 for uniform tiles."""
    return 1 if tile.lane_axis is None else -(-tile.extents[tile.lane_axis] // lanes)


def lane_extents(tile: Tile, lanes: int) -> tuple[int, ...]:
    """The extents at one lane: those of the tile, the lane axis counting its runs."""
    return tuple(runs_of(tile, lanes) if axis == tile.lane_axis else n for axis, n in enumerate(tile.extents))


def span_of(tile: Tile, lanes: int) -> int:
    """Bytes from the tile's address to its end, at one lane."""
    reach = sum(stride * (n - 1) for n, stride in zip(lane_extents(tile, lanes), tile.strides, strict=True))
    return (reach + 1) * numpy_dtype(tile.element).itemsize


def is_merged(tile: Tile, lanes: int) -> bool:
    """Whether the runs of the lane axis adjoin, so that it is one axis of even strides."""
    if tile.lane_axis is None or runs_of(tile, lanes) == 1:
        return True
    return tile.strides[tile.lane_axis] == 1


def fault_of(tile: Tile, program: Program, machine: Machine) -> Trap | None:
    """What is wrong with the access pattern, as the trap of the instruction that uses it."""
    try:
        itemsize = numpy_dtype(tile.element).itemsize
    except HarnessError as error:
        return IllegalInstruction(error.what)
    if len(tile.extents) != len(tile.strides) or any(n < 1 or n & (n - 1) for n in tile.extents):
        return IllegalInstruction(f"a tile of extents {tile.extents} and strides {tile.strides} is none")
    if any(stride < 0 for stride in tile.strides):
        return IllegalInstruction(f"a tile has negative strides {tile.strides}")
    if tile.lane_axis is not None and not 0 <= tile.lane_axis < len(tile.extents):
        return IllegalInstruction(f"lane axis {tile.lane_axis} of a tile of {len(tile.extents)} axes")
    if tile.address % itemsize:
        return Misaligned(f"a tile of {itemsize}-byte elements at scratchpad address {tile.address:#x}")
    space = "uniform scratchpad" if tile.lane_axis is None else "scratchpad"
    used, has = (
        (program.uniform, machine.uniform_bytes)
        if tile.lane_axis is None
        else (program.scratchpad, machine.scratchpad_bytes)
    )
    end = tile.address + span_of(tile, machine.lanes)
    if tile.address < 0 or end > min(used, has):
        return ScratchpadFault(
            f"a tile at [{tile.address:#x}, {end:#x}) of the {space}, of which the program uses {used} bytes "
            f"and the machine has {has}"
        )
    return None


@dataclass(frozen=True)
class View:
    """How a NumPy view of a tile is made: part number, byte offset in a row, and per axis extent and byte stride."""

    part: int
    offset: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(frozen=True)
class _Part:
    """Addresses [start, end) of one scratchpad, in `lanes` lanes (1 of the uniform one)."""

    uniform: bool
    start: int
    end: int
    lanes: int

    @property
    def row_bytes(self) -> int:
        return (self.end - self.start) * self.lanes


class Layout:
    """The parts of the scratchpads that the tiles of a program use. All tiles are without fault."""

    def __init__(self, tiles: Iterable[Tile], lanes: int) -> None:
        self.lanes = lanes
        self._parts: list[_Part] = []
        tiles = list(tiles)
        for uniform in (False, True):
            self._parts += _parts([tile for tile in tiles if (tile.lane_axis is None) == uniform], uniform, lanes)
        self._starts = [(part.uniform, part.start) for part in self._parts]
        self.row_bytes = tuple(part.row_bytes for part in self._parts)

    def part_of(self, tile: Tile) -> int:
        return bisect.bisect_right(self._starts, (tile.lane_axis is None, tile.address)) - 1

    def footprint(self, tile: Tile) -> tuple[Array, Array]:
        """The bytes of its part that the tile touches: (firsts, past the lasts) of intervals in order, apart."""
        part = self._parts[self.part_of(tile)]
        itemsize = numpy_dtype(tile.element).itemsize
        elements = np.zeros(1, np.int64)
        for extent, stride in zip(lane_extents(tile, self.lanes), tile.strides, strict=True):
            if stride and extent > 1:
                elements = (elements[:, None] + np.arange(extent, dtype=np.int64) * stride).reshape(-1)
        elements = np.unique(elements)
        starts = (tile.address - part.start + elements * itemsize) * part.lanes
        ends = starts + _used_lanes(tile, self.lanes) * itemsize
        breaks = np.flatnonzero(starts[1:] != ends[:-1])
        return np.append(starts[:1], starts[breaks + 1]), np.append(ends[breaks], ends[-1:])

    def view(self, tile: Tile, split: int | None) -> View:
        """The view of a tile; `split`: the axis that is told as two, of runs and of the lanes of a run.

        An axis whose runs do not adjoin has no other form.
        """
        dtype = numpy_dtype(tile.element)
        number = self.part_of(tile)
        lanes = self._parts[number].lanes
        unit = lanes * dtype.itemsize
        shape: list[int] = []
        strides: list[int] = []
        for axis, (extent, stride) in enumerate(zip(tile.extents, tile.strides, strict=True)):
            runs, inner = self._axis(tile, axis, extent, stride, unit, dtype.itemsize)
            if axis == split:
                shape += [max(1, extent // self.lanes), min(extent, self.lanes)]
                strides += [runs, inner]
                continue
            shape.append(extent)
            strides.append(inner)
        offset = (tile.address - self._parts[number].start) * lanes
        return View(number, offset, dtype, tuple(shape), tuple(strides))

    def _axis(self, tile: Tile, axis: int, extent: int, stride: int, unit: int, itemsize: int) -> tuple[int, int]:
        """Byte strides of an axis, of its runs of `lanes` indices and of single ones."""
        if axis == tile.lane_axis:
            return stride * unit, itemsize if extent > 1 else 0
        inner = stride * unit if extent > 1 else 0
        return inner * self.lanes, inner


def covered(firsts: Array, lasts: Array, size: int) -> Array:
    """Which of `size` places intervals cover, as bools; they may overlap."""
    steps = np.zeros(size + 1, np.int32)
    np.add.at(steps, firsts, 1)
    np.add.at(steps, lasts, -1)
    return np.cumsum(steps[:-1]) > 0


def _used_lanes(tile: Tile, lanes: int) -> int:
    return 1 if tile.lane_axis is None else min(lanes, tile.extents[tile.lane_axis])


def _parts(tiles: Sequence[Tile], uniform: bool, lanes: int) -> list[_Part]:
    """The unions of tiles that overlap, by address."""
    ranges = sorted(
        (tile.address // _WIDEST * _WIDEST, tile.address + span_of(tile, lanes), _used_lanes(tile, lanes))
        for tile in tiles
    )
    parts: list[_Part] = []
    for start, end, used in ranges:
        last = parts[-1] if parts else None
        if last is not None and start < last.end:
            parts[-1] = _Part(uniform, last.start, max(end, last.end), max(used, last.lanes))
        else:
            parts.append(_Part(uniform, start, end, used))
    return parts
