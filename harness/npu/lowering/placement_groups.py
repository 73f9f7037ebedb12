"""The groups of tiles that share a placement, what ties them to one another, and the choice of placements."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Block, Operation, SSAValue

from harness.executor.types import get
from harness.ir import operation_name
from harness.npu.lowering.edges import entering, passed
from harness.npu.lowering.layouts import Placement
from harness.npu.lowering.placed import is_tile, shape_of, width_of
from harness.npu.lowering.placement_costs import Costs
from harness.npu.lowering.placement_rules import RULES, Way, candidates, tiles_of

_TRANSPARENT = frozenset(
    {"arith.constant", "ub.poison", "tt.splat", "tt.make_range", "tt.broadcast", "tt.expand_dims", "tt.trans"}
)
_TERMINATORS = frozenset({"scf.yield", "scf.condition", "cf.br", "cf.cond_br"})
_STRUCTURED = frozenset({"scf.for", "scf.while", "scf.if"})
_REGIONS_OF_SCALARS = frozenset({"tt.reduce", "tt.scan", "tt.map_elementwise"})
_TRIPS = 8  # what a loop's body counts more than what surrounds it
_SWEEPS = 3

Chain = tuple[Callable[[Placement], Placement], ...]


def is_transparent(value: SSAValue) -> bool:
    """Whether the value can be made for any placement at no cost."""
    return isinstance(value.owner, Operation) and value.owner.name in _TRANSPARENT


def source_placement(operation: Operation, placement: Placement) -> Placement:
    """What a view's source must have so that the view has `placement`."""
    return _through(operation)(placement)


def _through(operation: Operation) -> Callable[[Placement], Placement]:
    if operation.name == "tt.expand_dims":
        axis = get(operation, "axis")
        return lambda placement: None if placement in (None, axis) else placement - (placement > axis)
    if operation.name == "tt.trans":
        order = tuple(get(operation, "order"))
        return lambda placement: None if placement is None else order[placement]
    return _repeated(shape_of(operation.operands[0]), shape_of(operation.results[0]))


def _repeated(source: tuple[int, ...], result: tuple[int, ...]) -> Callable[[Placement], Placement]:
    """What is repeated along the lane axis must be uniform."""
    return lambda placement: None if placement is None or source[placement] != result[placement] else placement


@dataclass(eq=False)
class Group:
    """Tiles of one shape that have one placement. `costs` per candidate; `ties` are of other groups to this one."""

    extents: tuple[int, ...]
    width: int
    candidates: tuple[Placement, ...]
    costs: dict[Placement, float]
    ties: list[Tie] = field(default_factory=list)
    placement: Placement = None
    settled: bool = False
    parent: Group | None = None

    def top(self) -> Group:
        group = self
        while group.parent is not None:
            group = group.parent
        return group

    @property
    def size(self) -> int:
        return math.prod(self.extents) * self.width


@dataclass(eq=False)
class End:
    """An operand or result of a tie: the group, and what it needs for a placement that the tie speaks of."""

    group: Group
    width: int
    chain: Chain = ()

    def price(self, costs: Costs, wanted: Placement) -> float:
        """Of the relayout that `wanted` takes; nothing while the group has no placement."""
        group = self.group.top()
        if not group.settled:
            return 0.0
        for step in self.chain:
            wanted = step(wanted)
        return costs.relayout(group.extents, self.width, group.placement, wanted)


@dataclass(eq=False)
class Tie:
    """An op whose ways to be carried out ask for placements of its ends; or a group that reads another one."""

    weight: float
    ends: list[End | None]
    ways: list[Way]
    reader: Group | None = None

    def price(self, costs: Costs) -> float:
        """Of the best way, by the placements that the groups have now."""
        if self.reader is not None:
            reader = self.reader.top()
            wanted = [reader.placement] * len(self.ends)
            return self.weight * self._of(costs, wanted) if reader.settled else 0.0
        return self.weight * min(way.cost + self._of(costs, [*way.operands, *way.results]) for way in self.ways)

    def best(self, costs: Costs) -> Way:
        return min(self.ways, key=lambda way: way.cost + self._of(costs, [*way.operands, *way.results]))

    def _of(self, costs: Costs, wanted: Sequence[Placement]) -> float:
        return sum(
            end.price(costs, placement) for end, placement in zip(self.ends, wanted, strict=True) if end is not None
        )

    def groups(self) -> Iterator[Group]:
        for end in self.ends:
            if end is not None:
                yield end.group.top()
        if self.reader is not None:
            yield self.reader.top()


@dataclass(eq=False)
class Site:
    """An op with tiles. Just one of the following says how they are placed.

    tie         the ways it can be carried out
    group       its own: its tiles agree (operands that differ in shape are repeated)
    targets     a terminator or structured op: per operand index the value that it becomes
    """

    operation: Operation
    tie: Tie | None = None
    group: Group | None = None
    targets: list[tuple[int, SSAValue]] = field(default_factory=list)
    arguments: list[SSAValue] = field(default_factory=list)


class Groups:
    """The tiles of a function, by group; built in one walk."""

    def __init__(self, function: Operation, costs: Costs) -> None:
        self.sites: list[Site] = []
        self.transparent: list[Operation] = []
        self._costs = costs
        self._of: dict[SSAValue, Group] = {}
        self._made: list[Group] = []
        self._ties: list[Tie] = []
        self._roots: dict[SSAValue, tuple[SSAValue | None, Chain]] = {}
        self._blocks(function, 1.0)

    # --- collecting

    def _blocks(self, operation: Operation, weight: float) -> None:
        for region in operation.regions:
            blocks = list(region.blocks)
            if operation.name not in _STRUCTURED:
                arguments = [argument for block in blocks for argument in tiles_of(block.args)]
                if arguments:
                    self.sites.append(Site(operation, arguments=arguments))
            for block in blocks:
                for inner in block.ops:
                    self._operation(inner, weight)

    def _operation(self, operation: Operation, weight: float) -> None:
        name = operation_name(operation)
        if name in _TRANSPARENT:
            if is_tile(operation.results[0]):
                self.transparent.append(operation)
        elif name in _STRUCTURED:
            self._structured(operation)
            self._blocks(operation, weight if name == "scf.if" else weight * _TRIPS)
        elif name in _TERMINATORS:
            self._targets(operation, _pairs(operation))
        elif name in RULES:
            self._ruled(operation, RULES[name](operation, self._costs), weight)
        elif any(is_tile(value) for value in (*operation.operands, *operation.results)):
            self._elementwise(operation, weight)

    def _structured(self, operation: Operation) -> None:
        """A loop's or branch's results and arguments, tied to what becomes of them."""
        site = self._targets(
            operation, [(operation.operands[index], index, target) for index, target in entering(operation)]
        )
        site.arguments = [
            *tiles_of(operation.results),
            *(argument for region in operation.regions for block in region.blocks for argument in tiles_of(block.args)),
        ]
        if operation.name == "scf.for":
            for argument, result in zip(operation.regions[0].block.args[1:], operation.results, strict=True):
                if is_tile(result):
                    self._tie(argument, result)

    def _targets(self, operation: Operation, pairs: list[tuple[SSAValue, int, SSAValue]]) -> Site:
        site = Site(operation)
        taken: set[int] = set()
        for value, index, target in pairs:
            if not is_tile(target):
                continue
            self._tie_through(value, target)
            if index not in taken:
                site.targets.append((index, target))
                taken.add(index)
        self.sites.append(site)
        return site

    def _tie_through(self, value: SSAValue, target: SSAValue) -> None:
        """One group where the value has storage of its own; a view or constant is made as the target wants it."""
        self._group(target)
        root, chain = self._root(value)
        if root is not None and not chain:
            self._tie(root, target)
        elif root is not None:
            self._read(root, chain, width_of(value.type), self._group(target), 1.0)

    def _ruled(self, operation: Operation, ways: list[Way], weight: float) -> None:
        ends = [self._end(value) for value in tiles_of(operation.operands)]
        ends += [End(self._group(value), width_of(value.type)) for value in tiles_of(operation.results)]
        tie = Tie(weight, ends, ways)
        self._ties.append(tie)
        self.sites.append(Site(operation, tie))

    def _end(self, value: SSAValue) -> End | None:
        root, chain = self._root(value)
        return None if root is None else End(self._group(root), width_of(value.type), chain)

    def _elementwise(self, operation: Operation, weight: float) -> None:
        results, operands = tiles_of(operation.results), tiles_of(operation.operands)
        shape = shape_of(results[0]) if results else max((shape_of(value) for value in operands), key=math.prod)
        direct, views = list(results), []
        for value in operands:
            root, chain = self._root(value)
            if root is None or len(shape_of(value)) != len(shape):
                continue
            if not chain and shape_of(value) == shape:
                direct.append(root)
                continue
            if shape_of(value) != shape:
                chain = (_repeated(shape_of(value), shape), *chain)
            views.append((root, chain, width_of(value.type)))
        group = self._group(direct[0]) if direct else self._new(shape, 4)
        for value in direct[1:]:
            self._group(value)
            self._tie(direct[0], value)
        width = max(width_of(value.type) for value in (*results, *operands))
        top = group.top()
        for placement in top.candidates:
            top.costs[placement] += weight * self._costs.vector(shape, width, placement)
        for root, chain, view_width in views:
            self._read(root, chain, view_width, group, weight)
        self.sites.append(Site(operation, group=group))

    def _read(self, root: SSAValue, chain: Chain, width: int, reader: Group, weight: float) -> None:
        self._ties.append(Tie(weight, [End(self._group(root), width, chain)], [], reader))

    def _root(self, value: SSAValue) -> tuple[SSAValue | None, Chain]:
        """What a chain of views is of (None: constants, splats), and what each view asks of its source."""
        found = self._roots.get(value)
        if found is None:
            found = (value, ()) if not is_transparent(value) else self._through(value.owner)
            self._roots[value] = found
        return found

    def _through(self, operation: Operation | Block) -> tuple[SSAValue | None, Chain]:
        assert isinstance(operation, Operation)
        if not operation.operands or not is_tile(operation.operands[0]):
            return None, ()
        root, chain = self._root(operation.operands[0])
        return root, (_through(operation), *chain)

    # --- groups

    def _new(self, extents: tuple[int, ...], width: int) -> Group:
        choices = candidates(extents)
        group = Group(extents, width, choices, dict.fromkeys(choices, 0.0))
        self._made.append(group)
        return group

    def _group(self, value: SSAValue) -> Group:
        found = self._of.get(value)
        if found is None:
            found = self._of[value] = self._new(shape_of(value), width_of(value.type))
        return found.top()

    def _tie(self, one: SSAValue, other: SSAValue) -> None:
        left, right = self._group(one), self._group(other)
        if left is right:
            return
        right.parent = left
        left.width = max(left.width, right.width)
        for placement, cost in right.costs.items():
            left.costs[placement] += cost

    # --- choosing

    def choose(self) -> None:
        """Placements of least cost: the largest group first, then each once more against all others."""
        for tie in self._ties:
            for group in set(tie.groups()):
                group.ties.append(tie)
        ordered = sorted((group for group in self._made if group.parent is None), key=lambda g: g.size, reverse=True)
        for group in ordered:
            group.settled = True
            self._improve(group)
        for _ in range(_SWEEPS):
            moved = [self._improve(group) for group in ordered]
            if not any(moved):
                return

    def _improve(self, group: Group) -> bool:
        """Moves the group to its best placement; whether that is another one."""
        if not group.ties:
            best = min(group.candidates, key=lambda placement: self._rank(group, placement))
        else:
            best = min(group.candidates, key=lambda placement: self._total(group, placement))
        changed = best != group.placement
        group.placement = best
        return changed

    def _total(self, group: Group, placement: Placement) -> tuple[float, int]:
        before, group.placement = group.placement, placement
        ties = sum(tie.price(self._costs) for tie in group.ties)
        group.placement = before
        cost, order = self._rank(group, placement)
        return cost + ties, order

    def _rank(self, group: Group, placement: Placement) -> tuple[float, int]:
        """Of equals the last axis first (DMA finds neighbours there), uniform last."""
        return group.costs[placement], len(group.extents) if placement is None else -placement

    # --- the result

    def placements(self, site: Site) -> tuple[list[tuple[int, Placement]], list[tuple[SSAValue, Placement]]]:
        """What an op's tile operands (by index) must have, and what its tile results and arguments get."""
        if site.tie is not None:
            return self._by_way(site.operation, site.tie.best(self._costs))
        if site.group is not None:
            return self._by_group(site.operation, site.group.top())
        operands = [(index, self._of[target].top().placement) for index, target in site.targets]
        return operands, [(value, self._group(value).placement) for value in site.arguments]

    def _by_way(
        self, operation: Operation, way: Way
    ) -> tuple[list[tuple[int, Placement]], list[tuple[SSAValue, Placement]]]:
        indices = [index for index, value in enumerate(operation.operands) if is_tile(value)]
        results = tiles_of(operation.results)
        return list(zip(indices, way.operands, strict=True)), list(zip(results, way.results, strict=True))

    def _by_group(
        self, operation: Operation, group: Group
    ) -> tuple[list[tuple[int, Placement]], list[tuple[SSAValue, Placement]]]:
        operands = []
        for index, value in enumerate(operation.operands):
            if is_tile(value):
                operands.append((index, self._beside(value, group)))
        return operands, [(value, group.placement) for value in tiles_of(operation.results)]

    def _beside(self, value: SSAValue, group: Group) -> Placement:
        """What an operand of an elementwise op must have; one of another rank (a list of rows) keeps its own."""
        if len(shape_of(value)) == len(group.extents):
            return _repeated(shape_of(value), group.extents)(group.placement)
        root, chain = self._root(value)
        return None if root is None or chain else self._group(root).placement


def _pairs(terminator: Operation) -> list[tuple[SSAValue, int, SSAValue]]:
    """(value, operand index, what it becomes) for every way a terminator can go."""
    first = 1 if terminator.name in ("scf.condition", "cf.cond_br") else 0
    ways = passed(terminator)
    if terminator.name == "cf.cond_br":
        ways = [[*ways[0], *ways[1]]]
    return [(value, index, target) for pairs in ways for index, (value, target) in enumerate(pairs, first)]
