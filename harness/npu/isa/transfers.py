"""The operands of a DMA instruction by name, which its flat list holds one after the other."""

from __future__ import annotations

from dataclasses import dataclass

from harness.npu.isa.program import Instruction, Operand, Tile

DMA_OPCODES = ("dma_load", "dma_store", "dma_gather", "dma_scatter")


@dataclass(frozen=True)
class Transfer:
    """A dma_load or dma_store, its lists per axis of the tile.

    strides, lower, upper, wrap_starts, wrap_sizes   an operand for each axis; None where the axis has no such bound
    """

    tile: Tile
    tag: int
    base: Operand
    strides: tuple[Operand, ...]
    lower: tuple[Operand | None, ...]
    upper: tuple[Operand | None, ...]
    wrap_starts: tuple[Operand | None, ...]
    wrap_sizes: tuple[Operand | None, ...]
    mask: Operand | None
    other: Operand | None
    volatile: bool = False

    @property
    def scalars(self) -> tuple[Operand | None, ...]:
        """The operands that the engine takes along when it starts, in order; tiles it reads on the way."""
        lists = (self.strides, self.lower, self.upper, self.wrap_starts, self.wrap_sizes)
        return (self.base, *(operand for operands in lists for operand in operands))


def transfer_of(instruction: Instruction) -> Transfer:
    """The operands of a dma_load or dma_store. Raises ValueError where their number is wrong."""
    loads = instruction.opcode == "dma_load"
    tag, lower_axes, upper_axes, wrap_axes, *rest = instruction.immediates
    operands = list(instruction.operands)
    if len(operands) < 3 or len(instruction.results) != int(loads):
        raise ValueError(f"{instruction.opcode} lacks operands")
    other = operands.pop() if loads else None
    tile = instruction.results[0] if loads else operands.pop(0)
    if not isinstance(tile, Tile) or not operands:
        raise ValueError("the value of a transfer is a tile")
    rank = len(tile.extents)
    if (lower_axes | upper_axes | wrap_axes) >> rank:
        raise ValueError(f"bounds on axes that a tile of {rank} axes has not")
    base, mask = operands.pop(0), operands.pop()
    parts = [_taken(operands, axes, rank) for axes in ((1 << rank) - 1, lower_axes, upper_axes, wrap_axes, wrap_axes)]
    if operands or base is None or any(stride is None for stride in parts[0]):
        raise ValueError("operands do not fit the axes that have bounds")
    strides, lower, upper, starts, sizes = parts
    return Transfer(tile, tag, base, strides, lower, upper, starts, sizes, mask, other, bool(rest and rest[0]))  # type: ignore[arg-type]


def _taken(operands: list[Operand | None], axes: int, rank: int) -> tuple[Operand | None, ...]:
    """The next operands of the list, one for each bit of `axes`, placed by axis."""
    return tuple(operands.pop(0) if axes >> axis & 1 and operands else None for axis in range(rank))
