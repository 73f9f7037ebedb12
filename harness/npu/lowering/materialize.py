"""Tiles where only a scalar, a constant or a repeated column is: for instructions that read nothing else."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import Operation, SSAValue

from harness.ir import operand
from harness.ir.dialects.npu import RelayoutOp
from harness.npu.lowering.placed import is_tile, placement_of
from harness.npu.lowering.views import Views, is_constant

# Operands that have to be tiles; none named: all of them.
_TILES: dict[str, tuple[str, ...]] = {
    "tt.load": ("ptr",),
    "tt.store": ("ptr", "value"),
    "tt.atomic_rmw": ("ptr",),
    "tt.atomic_cas": ("ptr",),
    "tt.dot": ("a", "b"),
    "tt.dot_scaled": ("a", "b", "a_scale", "b_scale"),
    "tt.gather": ("src", "indices"),
    "tt.histogram": ("src",),
    "npu.store": ("value",),
    "npu.start_store": ("value",),
    "tt.reduce": (),
    "tt.scan": (),
    "tt.map_elementwise": (),
    "tt.print": (),
}
# Operands that the matrix unit reads out of the lanes, if they are tiles.
_IN_LANES: dict[str, tuple[str, ...]] = {"tt.dot": ("a", "b", "c"), "tt.dot_scaled": ("c",)}


def materialize(operations: Iterable[Operation], views: Views) -> None:
    """Copies what is no tile (or in no lanes) to a tile of its own, in front of the op that wants one."""
    for operation in operations:
        for value in _wanted(operation, _TILES):
            if is_tile(value) and not _is_in_scratchpad(views, value):
                _copy(operation, value)
        for value in _wanted(operation, _IN_LANES):
            view = views.of(value)
            if is_tile(view.root) and not is_constant(view.root) and view.layout.lane_axis != placement_of(value):
                _copy(operation, value)


def _wanted(operation: Operation, table: dict[str, tuple[str, ...]]) -> list[SSAValue]:
    names = table.get(operation.name)
    if names is None:
        return []
    found = [operand(operation, name) for name in names] if names else list(operation.operands)
    return list(dict.fromkeys(value for value in found if value is not None))


def _is_in_scratchpad(views: Views, value: SSAValue) -> bool:
    root = views.of(value).root
    return is_tile(root) and not is_constant(root)


def _copy(operation: Operation, value: SSAValue) -> None:
    copy = RelayoutOp.create(operands=[value], result_types=[value.type])
    copy.location = operation.location
    block = operation.parent
    assert block is not None
    block.insert_op_before(copy, operation)
    for index, one in enumerate(operation.operands):
        if one is value:
            operation.operands[index] = copy.results[0]
