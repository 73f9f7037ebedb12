"""A group of ops as loop nests: what each one computes, and what it leaves in scratch memory for those after it.

Elementwise ops are written where they are needed, again in every nest that needs them, unless they are dear.
A reduction ends its nest: its result is there only after the last trip.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from xdsl.ir import Operation, SSAValue

from harness.executor.native.functions import FUNCTIONS
from harness.executor.native.lanes import SIZES
from harness.executor.types import element, extents
from harness.ir import operand

_ALIGNMENT = 64
_DEAR = frozenset(
    {"tt.load", "arith.divf", "arith.divsi", "arith.remsi", "tt.precise_divf", "tt.approx_divf", "tt.precise_sqrt"}
)
_FOLDS = frozenset({"tt.reduce", "tt.scan"})
_POINTERS = frozenset({"tt.addptr", "tt.splat", "tt.expand_dims", "tt.broadcast"})


@dataclass(frozen=True)
class Root:
    """What a nest is there for: a store, a fold (its value goes to scratch), a value kept for later nests or a
    result of the group. `value` is None for a store."""

    kind: Literal["store", "fold", "keep", "result"]
    operation: Operation
    value: SSAValue | None = None

    @property
    def extents(self) -> tuple[int, ...]:
        if self.kind == "store":
            return extents(self.operation.operands[0].type)
        if self.kind == "fold":
            return extents(self.operation.operands[0].type)
        assert self.value is not None
        return extents(self.value.type)


@dataclass
class NestPlan:
    """`early` are loads that must come before the nest's stores: in-place updates."""

    extents: tuple[int, ...]
    roots: list[Root] = field(default_factory=list)
    early: list[SSAValue] = field(default_factory=list)

    def kept(self) -> list[SSAValue]:
        return [root.value for root in self.roots if root.kind in ("keep", "fold") and root.value is not None]


@dataclass
class Schedule:
    """`scratch` has the byte offset of every value kept; `results` the values that leave the group."""

    nests: list[NestPlan]
    results: list[SSAValue]
    scratch: dict[SSAValue, int]
    scratch_bytes: int


class NoSchedule(Exception):
    """A group that cannot be laid out: NumPy runs it."""


def pointer_root(pointer: SSAValue, members: set[Operation]) -> SSAValue:
    """The pointer from outside the group that a pointer was made from."""
    while isinstance(pointer.owner, Operation) and pointer.owner in members:
        if pointer.owner.name not in _POINTERS:
            raise NoSchedule
        pointer = pointer.owner.operands[0]
    return pointer


def accessed(operation: Operation) -> SSAValue:
    """The pointer operand of a load or store."""
    pointer = operand(operation, "ptr")
    assert pointer is not None
    return pointer


def scheduled(
    members: Sequence[Operation], results: Sequence[SSAValue], aliases: Mapping[SSAValue, Hashable]
) -> Schedule:
    """`aliases` tells, for each pointer from outside, the allocation it points into.

    Raises NoSchedule.
    """
    return _Scheduler(members, results, aliases).schedule()


class _Scheduler:
    def __init__(
        self, members: Sequence[Operation], results: Sequence[SSAValue], aliases: Mapping[SSAValue, Hashable]
    ) -> None:
        self.members, self.inside = members, set(members)
        self.results = list(results)
        self.aliases = aliases
        self.nests: list[NestPlan] = []
        self.ready: dict[SSAValue, int] = {}  # kept values: the nest after which they are there
        self.loads: list[Operation] = []
        self.fence = 0  # nests before it may not be joined any more

    def schedule(self) -> Schedule:
        for operation in self.members:
            self._place(operation)
        self._keep_what_is_dear()
        scratch: dict[SSAValue, int] = {}
        size = 0
        for value in [value for nest in self.nests for value in nest.kept()]:
            scratch[value] = size
            size += -(-_bytes(value) // _ALIGNMENT) * _ALIGNMENT
        return Schedule(self.nests, self.results, scratch, size)

    def _place(self, operation: Operation) -> None:
        if operation.name == "tt.load":
            self.loads.append(operation)
        if operation.name == "tt.store":
            self._place_store(operation)
            return
        value = operation.results[0]
        if operation.name in _FOLDS:
            self._join(Root("fold", operation, value))
            self.ready[value] = len(self.nests) - 1
        if value in self.results:
            self._join(Root("result", operation, value))

    def _place_store(self, operation: Operation) -> None:
        pointer = accessed(operation)
        target = self._allocation(pointer)
        early = []
        for load in self.loads:
            if self._allocation(accessed(load)) != target:
                continue
            value = load.results[0]
            if accessed(load) is pointer:
                early.append(value)
            elif value not in self.ready:
                # The store may overwrite what this load reads for lanes to come.
                self._join(Root("keep", load, value))
                self.ready[value] = len(self.nests) - 1
                self.fence = len(self.nests)
        nest = self._join(Root("store", operation))
        nest.early.extend(value for value in early if value not in self.ready)

    def _join(self, root: Root) -> NestPlan:
        """The root into the last nest if it may go there, else into a new one."""
        last = len(self.nests) - 1
        if last >= self.fence and self._fits(root, last):
            self.nests[last].roots.append(root)
            return self.nests[last]
        self.nests.append(NestPlan(root.extents, [root]))
        return self.nests[-1]

    def _fits(self, root: Root, number: int) -> bool:
        nest = self.nests[number]
        if nest.extents != root.extents:
            return False
        needed = self._needed(root)
        if any(self.ready.get(value, -1) >= number for value in needed if value in self.ready):
            return False
        return root.kind != "store" or not self._overwrites(root.operation, nest)

    def _overwrites(self, store: Operation, nest: NestPlan) -> bool:
        """Whether another store of the nest may touch the same elements for other lanes."""
        pointer = accessed(store)
        return any(
            other.kind == "store"
            and accessed(other.operation) is not pointer
            and self._allocation(accessed(other.operation)) == self._allocation(pointer)
            for other in nest.roots
        )

    def _allocation(self, pointer: SSAValue) -> Hashable:
        return self.aliases[pointer_root(pointer, self.inside)]

    # --- what is needed ---------------------------------------------------------------------------------------

    def _sources(self, root: Root) -> list[SSAValue]:
        return list(root.operation.operands) if root.kind in ("store", "fold") else [_some(root.value)]

    def _needed(self, root: Root) -> set[SSAValue]:
        """All values of the group that the root is made of, as far as the ones that are ready already."""
        found: set[SSAValue] = set()
        waiting = self._sources(root)
        while waiting:
            value = waiting.pop()
            if value in found or not isinstance(value.owner, Operation) or value.owner not in self.inside:
                continue
            found.add(value)
            if value not in self.ready:
                waiting.extend(value.owner.operands)
        return found

    def _keep_what_is_dear(self) -> None:
        """Values that two nests need, and that cost more than reading them back, are kept by the first."""
        first: dict[SSAValue, int] = {}
        for number, nest in enumerate(self.nests):
            for root in list(nest.roots):
                self._visit(self._sources(root), number, first)

    def _visit(self, sources: list[SSAValue], number: int, first: dict[SSAValue, int]) -> None:
        waiting, seen = list(sources), set()
        while waiting:
            value = waiting.pop()
            owner = value.owner
            if value in seen or not isinstance(owner, Operation) or owner not in self.inside:
                continue
            seen.add(value)
            if self.ready.get(value, number) < number:
                continue
            earlier = first.setdefault(value, number)
            if earlier < number and _is_dear(owner) and self._kept_by(earlier, value, owner):
                continue
            waiting.extend(owner.operands)

    def _kept_by(self, number: int, value: SSAValue, owner: Operation) -> bool:
        if not extents(value.type):
            return False  # a scalar stays in a register
        if self.nests[number].extents == extents(value.type):
            self.nests[number].roots.append(Root("keep", owner, value))
            self.ready[value] = number
            return True
        if owner.name == "tt.load" and self._stored_to(accessed(owner)):
            raise NoSchedule
        return False

    def _stored_to(self, pointer: SSAValue) -> bool:
        target = self._allocation(pointer)
        return any(
            root.kind == "store" and self._allocation(accessed(root.operation)) == target
            for nest in self.nests
            for root in nest.roots
        )


def _some(value: SSAValue | None) -> SSAValue:
    assert value is not None
    return value


def _is_dear(operation: Operation) -> bool:
    return operation.name in _DEAR or operation.name in FUNCTIONS


def _bytes(value: SSAValue) -> int:
    count = SIZES[element(value.type)]
    for extent in extents(value.type):
        count *= extent
    return count
