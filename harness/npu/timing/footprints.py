"""Which bytes of the scratchpads each tile of a program covers, and which tiles share some."""

from __future__ import annotations

from harness.npu.isa.program import Program, Tile
from harness.npu.timing.costs import bits_of, lane_extents, tiles_of

# A scratchpad (whether it is the uniform one), the first byte and the one past the end, at one lane.
Footprint = tuple[bool, int, int]


class Footprints:
    """The byte ranges that a program's tiles cover, by number. A tile with gaps covers them too."""

    def __init__(self, program: Program) -> None:
        self._lanes = program.lanes
        self._numbers: dict[Footprint, int] = {}
        for instruction in program.instructions:
            for tile in tiles_of((*instruction.results, *instruction.operands)):
                self._numbers.setdefault(self._footprint(tile), len(self._numbers))
        self._sharing = _sharing(list(self._numbers))

    def number(self, tile: Tile) -> int:
        return self._numbers[self._footprint(tile)]

    def sharing(self, number: int) -> tuple[int, ...]:
        """The footprints that have a byte in common with that one, itself included."""
        return self._sharing[number]

    def _footprint(self, tile: Tile) -> Footprint:
        reach = sum(s * (n - 1) for s, n in zip(tile.strides, lane_extents(tile, self._lanes), strict=True))
        size = (reach + 1) * bits_of(tile.element) // 8
        return tile.lane_axis is None, tile.address, tile.address + size


def _sharing(footprints: list[Footprint]) -> list[tuple[int, ...]]:
    """By a sweep over the ranges in order."""
    sharing: list[list[int]] = [[] for _ in footprints]
    open_ones: list[int] = []
    for number in sorted(range(len(footprints)), key=footprints.__getitem__):
        uniform, first, _ = footprints[number]
        open_ones = [one for one in open_ones if footprints[one][0] == uniform and footprints[one][2] > first]
        for one in open_ones:
            sharing[one].append(number)
            sharing[number].append(one)
        sharing[number].append(number)
        open_ones.append(number)
    return [tuple(sorted(numbers)) for numbers in sharing]
