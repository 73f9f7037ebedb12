"""The memory a launch sees: registered allocations, each with its own bytes and its own guard.

A pointer value carries the allocation it came from, so an access outside is caught even where another
tensor happens to lie next door. A pointer made from an integer (a pointer table) is looked up by
address instead, and must fall inside a registered allocation.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass, field

import numpy as np


@dataclass(eq=False)
class Allocation:
    """Bytes that a kernel may touch.

    name     as messages call it (the argument's or buffer's name)
    bytes    1-D uint8, shares memory with the tensor's storage
    address  of bytes[0], as the kernel sees it (the real `data_ptr` for torch tensors)
    itemsize of the tensor's elements: offsets in messages count these
    inside   1-D bool, one per byte: bytes that belong to the view; None means all. A store elsewhere
             (a hole of a strided layout) is "wrote-outside" under full checks
    initialised  1-D bool, one per byte: somebody wrote it; None means all. Kept up to date under full checks
    """

    name: str
    bytes: np.ndarray
    address: int
    itemsize: int = 1
    inside: np.ndarray | None = None
    initialised: np.ndarray | None = None

    def is_apart(self, other: Allocation) -> bool:
        """Whether the two have no byte in common."""
        first, second = (self, other) if self.address <= other.address else (other, self)
        return first is not second and first.address + first.bytes.size <= second.address


@dataclass
class Memory:
    """All allocations of one launch, found by address. They must not overlap."""

    _starts: list[int] = field(default_factory=list)
    _allocations: list[Allocation] = field(default_factory=list)

    def add(self, allocation: Allocation) -> Allocation:
        """Registers an allocation; one that is registered already (same address and size) is returned instead."""
        at = bisect.bisect_left(self._starts, allocation.address)
        if at < len(self._starts) and self._starts[at] == allocation.address:
            known = self._allocations[at]
            if known.bytes.size == allocation.bytes.size:
                return known
        self._starts.insert(at, allocation.address)
        self._allocations.insert(at, allocation)
        return allocation

    def find(self, address: int) -> Allocation | None:
        """The allocation whose bytes hold `address`, if any."""
        at = bisect.bisect_right(self._starts, address) - 1
        if at < 0:
            return None
        allocation = self._allocations[at]
        if address < allocation.address + allocation.bytes.size:
            return allocation
        return None

    def nearest(self, address: int) -> str:
        """Where an address outside all of them lies: `16 bytes past the end of buffer 'y'`; "" if there is none."""
        gaps = [(_gap(one, address), one.name) for one in self._allocations if one.bytes.size]
        if not gaps:
            return ""
        gap, name = min(gaps, key=lambda pair: abs(pair[0]))
        return f"{gap} bytes past the end of buffer {name!r}" if gap >= 0 else f"{-gap} bytes before buffer {name!r}"

    @property
    def allocations(self) -> tuple[Allocation, ...]:
        return tuple(self._allocations)


def _gap(allocation: Allocation, address: int) -> int:
    """Bytes from the allocation's end up to the address; negative, down from its start."""
    if address < allocation.address:
        return address - allocation.address
    return address - allocation.address - allocation.bytes.size
