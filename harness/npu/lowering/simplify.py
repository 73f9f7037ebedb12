"""Ops that are said with others before tiles are placed."""

from __future__ import annotations

from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, TensorType, i32
from xdsl.ir import Operation

from harness.ir.dialects.tt_ops import JoinOp, ReshapeOp, TransOp


def simplify(module: ModuleOp) -> None:
    """tt.cat as tt.join, tt.trans and tt.reshape."""
    for operation in list(module.walk()):
        if operation.name == "tt.cat":
            _interleave(operation)


def _interleave(operation: Operation) -> None:
    """a ++ b, as the rows of a two-row tensor in row-major order."""
    type_ = operation.operands[0].type
    assert isinstance(type_, TensorType)
    element, shape = type_.element_type, type_.get_shape()
    rank = len(shape)
    join = JoinOp.create(operands=list(operation.operands), result_types=[TensorType(element, (*shape, 2))])
    order = DenseArrayBase.from_list(i32, [rank, *range(rank)])
    trans = TransOp.create(
        operands=[join.results[0]], result_types=[TensorType(element, (2, *shape))], properties={"order": order}
    )
    reshape = ReshapeOp.create(operands=[trans.results[0]], result_types=[operation.results[0].type])
    block = operation.parent
    assert block is not None
    for made in (join, trans, reshape):
        made.location = operation.location
        block.insert_op_before(made, operation)
    operation.results[0].replace_all_uses_with(reshape.results[0])
    block.erase_op(operation)
