"""What a placement costs, in cycles of the machine: rough, but in proportion."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from harness.npu.lowering.layouts import Placement, depth

if TYPE_CHECKING:
    from harness.npu.machine import Machine

_BYTE = 8  # bits


class Costs:
    """Cycles of what a machine does to a tile of `extents` with elements of `width` bytes."""

    def __init__(self, machine: Machine) -> None:
        self.lanes = machine.lanes
        self._register_bits = machine.vector.register_bits
        self._latency = machine.vector.latency
        self._exchange = machine.exchange
        self._dma_latency = 2 * (machine.dma.latency + machine.dram_latency)
        self._dma_bytes = machine.dma.bytes_per_cycle

    def vector(self, extents: tuple[int, ...], width: int, placement: Placement) -> float:
        """An elementwise instruction; a uniform one takes its elements one by one."""
        held = depth(extents, placement, self.lanes)
        if placement is None:
            return held + self._latency
        return held * width * _BYTE / self._register_bits + self._latency

    def relayout(self, extents: tuple[int, ...], width: int, source: Placement, target: Placement) -> float:
        """Moving a tile from one placement to another."""
        if source == target:
            return 0
        elements = math.prod(extents)
        if source is None:
            return self.vector(extents, width, target) + self._latency
        rows = elements if target is None else max(depth(extents, p, self.lanes) for p in (source, target))
        return self.exchange(rows, elements * width, width)

    def exchange(self, rows: int, total: int, width: int) -> float:
        """So many rows of elements through the exchange between lanes, or through DRAM."""
        if self._exchange.kind == "none":
            return self._dma_latency + 2 * total / self._dma_bytes
        steps = rows * width * _BYTE / self._exchange.bits
        if self._exchange.kind == "neighbour":
            steps *= self.lanes / 2
        return steps + self._exchange.latency

    def fold(self, extents: tuple[int, ...], width: int, placement: Placement, axis: int) -> float:
        """A reduction or scan along `axis`: across lanes it takes a step for every halving."""
        inside = self.vector(extents, width, placement)
        if placement != axis:
            return inside
        rows = math.prod(extents) // extents[axis]
        halvings = min(extents[axis], self.lanes).bit_length() - 1
        return inside + halvings * self.exchange(rows, rows * self.lanes * width, width)
