"""`gpu`: the barrier that the front end of release 3.6 emits."""

from __future__ import annotations

from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition, opt_prop_def

from harness.ir.registry import DialectSyntax
from harness.ir.syntax import Syntax


@irdl_op_definition
class BarrierOp(IRDLOperation):
    """All threads of the block wait here."""

    name = "gpu.barrier"
    address_spaces = opt_prop_def()


def build() -> DialectSyntax:
    return DialectSyntax(Dialect("gpu", [BarrierOp]), {BarrierOp: Syntax(BarrierOp, "attr-dict")})
