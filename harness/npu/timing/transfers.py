"""What transfers cost: bytes in whole bursts, from the strides and bounds that a descriptor has when it starts."""

from __future__ import annotations

import math
from dataclasses import dataclass

from harness.npu.isa.opcodes import Engine
from harness.npu.isa.program import Instruction, Tile
from harness.npu.machine import Machine
from harness.npu.timing.costs import Cost, Stage, bits_of, tiles_of


@dataclass(frozen=True)
class Box:
    """The part of a tile that a descriptor transfers.

    spans     per axis the number of indices between its bounds
    strides   per axis, in elements; None where it is not known, and taken for one burst an element
    """

    spans: tuple[int, ...]
    strides: tuple[int | None, ...]


def transfer_cost(machine: Machine, engine: Engine, tile: Tile, box: Box) -> Cost:
    """Of a dma_load or dma_store. Masks that are tiles are taken to let everything through."""
    size = bits_of(tile.element) // 8
    elements = math.prod(box.spans)
    moved = elements * size if elements else 0
    crossed = _burst_bytes(machine, size, box) if elements else 0
    splits = math.prod(sorted(box.spans)[: max(0, len(box.spans) - machine.dma.dimensions)]) or 1
    return _cost(machine, engine, max(moved, crossed), crossed, machine.dma.setup_cycles * splits)


def list_cost(machine: Machine, engine: Engine, tile: Tile, pointers: Tile) -> Cost:
    """Of a gather or scatter list: every element is an access of its own."""
    elements = math.prod(pointers.extents)
    crossed = elements * _rounded(bits_of(tile.element) // 8, machine.dram.burst_bytes)
    cycles = math.ceil(elements / machine.dma.elements_per_cycle)
    return _cost(machine, engine, crossed, crossed, max(machine.dma.setup_cycles, cycles))


def scalar_access_cost(machine: Machine, engine: Engine, element: str) -> Cost:
    """Of one element, through a register."""
    crossed = _rounded(bits_of(element) // 8, machine.dram.burst_bytes)
    return _cost(machine, engine, crossed, crossed, 1)


def atomic_cost(machine: Machine, instruction: Instruction) -> Cost:
    """Of a read-modify-write: one element after the other, each a burst in and a burst out."""
    tiles = tiles_of(instruction.operands)
    elements = math.prod(tiles[0].extents) if tiles else 1
    crossed = elements * machine.dram.burst_bytes
    cycles = max(1, elements * machine.cycles(machine.dram.atomic_ns))
    latency = machine.dma.latency + machine.dram_latency
    return Cost((Stage(Engine.DMA_OUT, cycles, latency),), bytes_in=crossed, bytes_out=crossed, operations=elements)


def _cost(machine: Machine, engine: Engine, moved: int, crossed: int, at_least: int) -> Cost:
    """`moved` bytes go through the engine, `crossed` bytes to or from DRAM, which nobody asks for none."""
    cycles = max(moved / machine.dma.bytes_per_cycle, crossed / machine.dram_bytes_per_cycle)
    latency = machine.dma.latency + (machine.dram_latency if crossed else 0)
    stage = Stage(engine, max(1, at_least, math.ceil(cycles)), latency)
    loads = engine is Engine.DMA_IN
    return Cost((stage,), bytes_in=crossed if loads else 0, bytes_out=0 if loads else crossed)


def _burst_bytes(machine: Machine, size: int, box: Box) -> int:
    """Axes of stride 1 and those that go on where another ends make runs; each run is whole bursts."""
    axes = [(abs(stride), span) for stride, span in zip(box.strides, box.spans, strict=True) if stride and span > 1]
    run = 1
    rest = math.prod(span for stride, span in zip(box.strides, box.spans, strict=True) if stride is None)
    for stride, span in sorted(axes):
        if stride == run:
            run *= span
        else:
            rest *= span
    return rest * _rounded(run * size, machine.dram.burst_bytes)


def _rounded(size: int, burst: int) -> int:
    return math.ceil(size / burst) * burst
