"""`rocdl`: what AMD's passes ask of the scheduler; none of it computes anything."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Dialect, Operation
from xdsl.irdl import IRDLOperation, irdl_op_definition, prop_def

from harness.ir.codecs import BareIntegerCodec
from harness.ir.registry import DialectSyntax
from harness.ir.syntax import OpSyntax, Syntax


@irdl_op_definition
class SetPrioOp(IRDLOperation):
    name = "rocdl.s.setprio"
    priority = prop_def(IntegerAttr)


@irdl_op_definition
class SchedBarrierOp(IRDLOperation):
    name = "rocdl.sched.barrier"
    mask = prop_def(IntegerAttr)


@irdl_op_definition
class SBarrierOp(IRDLOperation):
    name = "rocdl.s.barrier"


def build() -> DialectSyntax:
    formats = [
        Syntax(SetPrioOp, "$priority attr-dict", codecs={"priority": BareIntegerCodec()}),
        Syntax(SchedBarrierOp, "$mask attr-dict", codecs={"mask": BareIntegerCodec()}),
        Syntax(SBarrierOp, "attr-dict"),
    ]
    syntaxes: dict[type[Operation], OpSyntax] = {syntax.op_type: syntax for syntax in formats}
    return DialectSyntax(Dialect("rocdl", list(syntaxes)), syntaxes)
