"""Whether what `npu-place-lanes` left can be executed: the rule of the vector unit, told without the pass."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from harness.ir import operation_name
from harness.npu.lowering.placed import is_tile, placement_of
from harness.semantics import ELEMENTWISE


def misplaced(module: ModuleOp) -> Operation | None:
    """The first elementwise op that has tiles on different lane axes; None where there is none.

    A uniform tile goes with any.
    """
    for operation in module.walk():
        if operation_name(operation) not in ELEMENTWISE:
            continue
        tiles = [value for value in (*operation.operands, *operation.results) if is_tile(value)]
        if len({placement_of(value) for value in tiles} - {None}) > 1:
            return operation
    return None
