"""`math`: xDSL's op definitions with those it lacks; all are elementwise and print one type."""

from __future__ import annotations

from xdsl.dialects import math
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.ir import Dialect
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, prop_def, result_def

from harness.ir.dialects.arith import FASTMATH, FASTMATH_FLAG
from harness.ir.dialects.families import same_type
from harness.ir.registry import DialectSyntax

_INTEGER = "absi ctlz ctpop cttz ipowi"
_MIXED = "fpowi"  # an integer operand beside a float one


class _FloatUnary(IRDLOperation):
    operand = operand_def()
    fastmath = prop_def(FastMathFlagsAttr, default_value=FastMathFlagsAttr("none"))
    result = result_def()


@irdl_op_definition
class ErfcOp(_FloatUnary):
    """The complementary error function."""

    name = "math.erfc"


def build() -> DialectSyntax:
    ops: list[type[IRDLOperation]] = [*math.Math.operations, ErfcOp]  # pyright: ignore[reportAssignmentType]
    syntaxes = {}
    for op in ops:
        name = op.name.removeprefix("math.")
        if name in _INTEGER.split():
            syntaxes[op] = same_type(op)
        elif name not in _MIXED.split():
            syntaxes[op] = same_type(op, FASTMATH_FLAG, {"fastmath": FASTMATH})
    return DialectSyntax(Dialect("math", [*ops], list(math.Math.attributes)), syntaxes)
