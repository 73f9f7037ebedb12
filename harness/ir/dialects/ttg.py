"""`ttg`: of Triton's GPU dialect, what the front end itself emits."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition, prop_def

from harness.ir.codecs import MaskCodec
from harness.ir.enums import ADDRESS_SPACE
from harness.ir.registry import DialectSyntax
from harness.ir.syntax import Syntax


@irdl_op_definition
class BarrierOp(IRDLOperation):
    """All threads of the program wait here. addrSpace, a mask of enums.ADDRESS_SPACE: the memory it orders."""

    name = "ttg.barrier"
    addrSpace = prop_def(IntegerAttr)


def build() -> DialectSyntax:
    barrier = Syntax(BarrierOp, "$addrSpace attr-dict", codecs={"addrSpace": MaskCodec(ADDRESS_SPACE)})
    return DialectSyntax(Dialect("ttg", [BarrierOp]), {BarrierOp: barrier})
