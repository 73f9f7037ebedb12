"""`npu-place-lanes`: for every tile the axis that is spread over the lanes, or that it is uniform.

Values that an elementwise op, a loop or a branch ties together form a *group*, which has one placement. What the
other ops demand (see placement_rules), and what reading a group through a view asks of another one, costs relayouts
where placements differ; the placements are those of least cost that a descent from the largest group on finds.
Constants, splats, ranges and views have whatever placement their user wants: they are made once for each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.ir import BlockArgument, Operation, SSAValue

from harness.ir import operation_name
from harness.ir.dialects.npu import RelayoutOp
from harness.npu.lowering.layouts import Placement
from harness.npu.lowering.materialize import materialize
from harness.npu.lowering.placed import is_tile, place, place_constant, placed_type, placement_of
from harness.npu.lowering.placement_costs import Costs
from harness.npu.lowering.placement_groups import Groups, Site, is_transparent, source_placement
from harness.npu.lowering.simplify import simplify
from harness.npu.lowering.views import Views

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from harness.npu.machine import Machine


def run(module: ModuleOp, machine: Machine) -> None:
    """Gives every tensor type its encoding and inserts `npu.relayout` where a use wants another one."""
    simplify(module)
    for function in module.body.block.ops:
        if operation_name(function) in ("tt.func", "func.func") and function.regions[0].blocks:
            groups = Groups(function, Costs(machine))
            groups.choose()
            _Placer(groups).run()
            materialize((site.operation for site in groups.sites), Views(machine.lanes))


class _Placer:
    """Writes the placements into one function."""

    def __init__(self, groups: Groups) -> None:
        self._groups = groups
        self._placed: set[SSAValue] = set()
        self._versions: dict[tuple[SSAValue, Placement], SSAValue] = {}

    def run(self) -> None:
        for site in self._groups.sites:
            self._place(site)
        for operation in reversed(self._groups.transparent):
            if not any(result in self._placed for result in operation.results):
                operation.detach()
                operation.erase()

    def _place(self, site: Site) -> None:
        operands, results = self._groups.placements(site)
        for index, placement in operands:
            operation = site.operation
            wanted = self._version(operation.operands[index], placement)
            if wanted is not operation.operands[index]:
                operation.operands[index] = wanted
        for value, placement in results:
            self._settle(value, placement)

    def _settle(self, value: SSAValue, placement: Placement) -> None:
        place(value, placement)
        self._placed.add(value)
        self._versions[value, placement] = value

    def _version(self, value: SSAValue, placement: Placement) -> SSAValue:
        """The value, or another one that holds the same, with that placement."""
        found = self._versions.get((value, placement))
        if found is None:
            found = self._remade(value, placement) if is_transparent(value) else self._moved(value, placement)
            self._versions[value, placement] = found
        return found

    def _remade(self, value: SSAValue, placement: Placement) -> SSAValue:
        """The constant, splat, range or view once more, for this placement."""
        operation = value.owner
        assert isinstance(operation, Operation)
        sources = [
            self._version(source, source_placement(operation, placement)) if is_tile(source) else source
            for source in operation.operands
        ]
        if value in self._placed:
            copy = operation.clone()
            block = operation.parent
            assert block is not None
            block.insert_op_after(copy, operation)
            copy.results[0].name_hint = value.name_hint
            copy.location = operation.location
            operation, value = copy, copy.results[0]
        for index, source in enumerate(sources):
            operation.operands[index] = source
        self._settle(value, placement)
        if operation.name == "arith.constant":
            place_constant(operation)
        return value

    def _moved(self, value: SSAValue, placement: Placement) -> SSAValue:
        """A relayout right after the value is there, so that every use may share it."""
        relayout = RelayoutOp.create(operands=[value], result_types=[placed_type(value.type, placement)])
        if isinstance(value, BlockArgument):
            block = value.block
            first = block.first_op
            assert first is not None
            relayout.location = first.location
            block.insert_op_before(relayout, first)
        else:
            owner = value.owner
            assert isinstance(owner, Operation) and owner.parent is not None
            relayout.location = owner.location
            owner.parent.insert_op_after(relayout, owner)
        self._placed.add(relayout.results[0])
        assert placement_of(relayout.results[0]) == placement
        return relayout.results[0]
