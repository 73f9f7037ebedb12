"""The few `llvm` and `nvvm` ops that the front end itself emits."""

from __future__ import annotations

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, i1
from xdsl.ir import Dialect
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    var_operand_def,
)

from harness.ir.registry import DialectSyntax
from harness.ir.syntax import Syntax


@irdl_op_definition
class AssumeOp(IRDLOperation):
    """`tl.assume`: the condition holds, or the program's behaviour is undefined."""

    name = "llvm.intr.assume"
    cond = operand_def()
    op_bundle_operands = var_operand_def()
    op_bundle_sizes = opt_prop_def(DenseArrayBase)
    op_bundle_tags = opt_prop_def(ArrayAttr)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)


def build() -> DialectSyntax:
    return DialectSyntax(
        Dialect("llvm", [AssumeOp]),
        {AssumeOp: Syntax(AssumeOp, "$cond attr-dict `:` type($cond)", {"cond": i1})},
    )
