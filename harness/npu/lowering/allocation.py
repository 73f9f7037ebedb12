"""`npu-allocate`: an address in a scratchpad for every tile and a register for every scalar, by liveness.

Values that are passed on (into a loop, from one trip to the next, out of a branch) share the storage of what they
become where their lives do not overlap; an elementwise result takes over an operand that ends with it. Storages are
laid out first fit. `npu.addresses` and `npu.registers` hold, per result of an op and then per argument of its
blocks, the address or register (-1: none of its own); `npu.saves` of an op that passes values on, an address or
register for each value that has to be saved aside first (see `edges.in_sequence`), way by way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import DenseArrayBase, i64
from xdsl.ir import Block, Operation, SSAValue

from harness.errors import Refusal
from harness.ir import operation_name
from harness.npu.lowering.edges import Edge, Move, in_sequence
from harness.npu.lowering.layouts import depth
from harness.npu.lowering.liveness import Interval, Liveness, has_place, liveness
from harness.npu.lowering.overflow import refuse
from harness.npu.lowering.placed import is_tile, placement_of, shape_of, width_of
from harness.npu.lowering.views import Views

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from harness.npu.machine import Machine

NOWHERE = -1


@dataclass(eq=False)
class Storage:
    """Bytes (of each lane), or a register, that values share.

    space   "scratchpad", "uniform" or "registers"
    size    bytes; 1 of a register
    """

    space: str
    size: int
    alignment: int
    intervals: list[Interval]
    values: list[SSAValue]
    address: int = NOWHERE
    parent: Storage | None = None

    def top(self) -> Storage:
        storage = self
        while storage.parent is not None:
            storage = storage.parent
        return storage

    @property
    def start(self) -> int:
        return min(interval.start for interval in self.intervals)

    @property
    def end(self) -> int:
        return max(interval.end for interval in self.intervals)


@dataclass
class Usage:
    """Bytes or registers used of each space."""

    used: dict[str, int] = field(default_factory=lambda: {"scratchpad": 0, "uniform": 0, "registers": 0})


def run(module: ModuleOp, machine: Machine) -> None:
    """Raises Refusal where the tiles of a kernel do not fit."""
    for function in module.body.block.ops:
        if operation_name(function) in ("tt.func", "func.func") and function.regions[0].blocks:
            Allocator(function, machine).run()


class Allocator:
    """The storages of one function."""

    def __init__(self, function: Operation, machine: Machine) -> None:
        self._function = function
        self._machine = machine
        self._views = Views(machine.lanes)
        self._live: Liveness = liveness(function, self._views)
        self._storages: dict[SSAValue, Storage] = {}
        self._saves: dict[Operation, list[Storage]] = {}

    def run(self) -> None:
        """Raises Refusal where it does not fit."""
        self._arrange()
        self._write()

    def fits(self) -> bool:
        """Whether `run` would find room; changes nothing."""
        try:
            self._arrange()
        except Refusal:
            return False
        return True

    def _arrange(self) -> None:
        for value, interval in self._live.intervals.items():
            self._storages[value] = self._storage(value, [interval, *self._live.copies.get(value, ())])
        for one, other in self._live.joined:
            self._merge(self._storages[one].top(), self._storages[other].top())
        self._coalesce()
        self._take_over()
        for position, edge in self._live.edges:
            self._save(position, edge)
        tops = [storage for storage in self._all() if storage.parent is None]
        for space, budget in self._budgets().items():
            self._lay_out([storage for storage in tops if storage.space == space], space, budget)

    def _budgets(self) -> dict[str, int]:
        machine = self._machine
        return {
            "scratchpad": machine.scratchpad_bytes,
            "uniform": machine.uniform_bytes,
            "registers": machine.scalar.registers,
        }

    def _all(self) -> Iterator[Storage]:
        yield from self._storages.values()
        for saved in self._saves.values():
            yield from saved

    def _storage(self, value: SSAValue, intervals: list[Interval]) -> Storage:
        if not is_tile(value):
            return Storage("registers", 1, 1, intervals, [value])
        width, placement = width_of(value.type), placement_of(value)
        space = "uniform" if placement is None else "scratchpad"
        size = depth(shape_of(value), placement, self._machine.lanes) * width
        return Storage(space, size, width, intervals, [value])

    # --- sharing

    def _merge(self, kept: Storage, gone: Storage) -> None:
        if kept is gone:
            return
        gone.parent = kept
        kept.intervals.extend(gone.intervals)
        kept.values.extend(gone.values)

    def _coalesce(self) -> None:
        """What is passed on is best in the place of what it becomes."""
        for _, edge in self._live.edges:
            for value, target in edge.pairs:
                view = self._views.of(value)
                if view.root is value or (is_tile(value) and self._views.is_whole(value)):
                    self._share(view.root, target)

    def _take_over(self) -> None:
        for result, operands in self._live.in_place.items():
            for operand in operands:
                if self._share(operand, result):
                    break

    def _share(self, one: SSAValue, other: SSAValue) -> bool:
        """Makes the storages of two values one, where they are alike and never hold two values at a time."""
        if one not in self._storages or other not in self._storages:
            return False
        left, right = self._storages[one].top(), self._storages[other].top()
        if left is right:
            return True
        alike = (left.space, left.size, left.alignment) == (right.space, right.size, right.alignment)
        if not alike or any(self._clash(a, b) for a in left.intervals for b in right.intervals):
            return False
        self._merge(right, left)
        return True

    def _clash(self, a: Interval, b: Interval) -> bool:
        if a.end < b.start or b.end < a.start:
            return False
        return not (self._follows(a, b) or self._follows(b, a))

    def _follows(self, before: Interval, after: Interval) -> bool:
        """Whether `after` may be written in place of `before` by the op that reads that last."""
        if before.end != after.start or after.value is None or before.value is None:
            return False
        return before.value in self._live.in_place.get(after.value, ())

    def _save(self, position: int, edge: Edge) -> None:
        """Room for the values that an edge must save aside."""
        moves = [self.move(value, target) for value, target in edge.pairs]
        _, saved = in_sequence(moves)
        for index in saved:
            value = edge.pairs[index][0]
            storage = self._storage(value, [Interval(None, position, position + 1)])
            self._saves.setdefault(edge.operation, []).append(storage)

    def move(self, value: SSAValue, target: SSAValue) -> Move:
        view = self._views.of(value)
        source = None if view.is_constant else self._storages[view.root].top()
        return Move(self._storages[target].top(), source, not is_tile(value) or self._views.is_whole(value))

    # --- addresses

    def _lay_out(self, storages: list[Storage], space: str, budget: int) -> None:
        """First fit, in the order in which the storages come to life."""
        spans = sorted(((one.start, one.end, number, one) for number, one in enumerate(storages)), key=lambda s: s[:3])
        active: list[tuple[int, int, int]] = []  # address, past its end, position of the last use
        used = 0
        for start, end, _, storage in spans:
            active = [entry for entry in active if entry[2] >= start]
            at = _gap(active, storage.size, storage.alignment)
            storage.address = at
            used = max(used, at + storage.size)
            active.append((at, at + storage.size, end))
            active.sort()
        if used > budget:
            held = [(one.size, one.start, one.end, self._in_order(one.values)) for one in storages]
            refuse(space, used, budget, held, self._machine)

    def _in_order(self, values: list[SSAValue]) -> list[SSAValue]:
        """The values that share a storage, the first to live first."""
        return sorted(values, key=lambda value: self._live.intervals[value].start)

    def _address(self, value: SSAValue) -> int:
        storage = self._storages.get(value)
        return NOWHERE if storage is None else storage.top().address

    def _write(self) -> None:
        for operation in (self._function, *_inner(self._function)):
            values = [*operation.results, *(a for region in operation.regions for b in region.blocks for a in b.args)]
            self._note(operation, values)
        for operation, storages in self._saves.items():
            operation.attributes["npu.saves"] = _array([storage.address for storage in storages])

    def _note(self, operation: Operation, values: list[SSAValue]) -> None:
        for name, chosen in (("npu.addresses", True), ("npu.registers", False)):
            numbers = [self._address(value) if is_tile(value) is chosen else NOWHERE for value in values]
            if any(number != NOWHERE for number in numbers):
                operation.attributes[name] = _array(numbers)


def _gap(active: Iterable[tuple[int, int, int]], size: int, alignment: int) -> int:
    """The lowest address with room between the sorted `active` ones."""
    at = 0
    for begin, end, _ in active:
        if begin - at >= size:
            break
        at = max(at, -(-end // alignment) * alignment)
    return at


def _array(numbers: list[int]) -> DenseArrayBase:
    return DenseArrayBase.from_list(i64, numbers)


def _inner(function: Operation) -> Iterator[Operation]:
    """Every op of the function but those in the regions of folds."""
    blocks: list[Block] = list(function.regions[0].blocks)
    while blocks:
        for operation in blocks.pop().ops:
            yield operation
            if operation.name.startswith("scf."):
                blocks.extend(block for region in operation.regions for block in region.blocks)


__all__ = ["NOWHERE", "Allocator", "Storage", "has_place", "run"]
