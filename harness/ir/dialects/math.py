"""`math`: xDSL's op definitions with those it lacks; all are elementwise and print one type."""

from __future__ import annotations

from xdsl.dialects import math
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.ir import Dialect, Operation
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, prop_def, result_def

from harness.ir.dialects.arith import FASTMATH, FASTMATH_FLAG
from harness.ir.dialects.families import by_name, same_type
from harness.ir.dialects.types import boolean_like
from harness.ir.registry import DialectSyntax
from harness.ir.syntax import OpSyntax, Rule, Syntax

_INTEGER = "absi ctlz ctpop cttz ipowi"
_TESTS = "isfinite isinf isnan isnormal"


class _FloatUnary(IRDLOperation):
    operand = operand_def()
    fastmath = prop_def(FastMathFlagsAttr, default_value=FastMathFlagsAttr("none"))
    result = result_def()


@irdl_op_definition
class ErfcOp(_FloatUnary):
    """The complementary error function."""

    name = "math.erfc"


class _FloatTest(IRDLOperation):
    operand = operand_def()
    fastmath = prop_def(FastMathFlagsAttr, default_value=FastMathFlagsAttr("none"))
    result = result_def()


@irdl_op_definition
class IsFiniteOp(_FloatTest):
    name = "math.isfinite"


@irdl_op_definition
class IsInfOp(_FloatTest):
    name = "math.isinf"


@irdl_op_definition
class IsNaNOp(_FloatTest):
    name = "math.isnan"


@irdl_op_definition
class IsNormalOp(_FloatTest):
    name = "math.isnormal"


@irdl_op_definition
class ClampFOp(IRDLOperation):
    """A float clamped to a range."""

    name = "math.clampf"
    value = operand_def()
    min = operand_def()
    max = operand_def()
    fastmath = prop_def(FastMathFlagsAttr, default_value=FastMathFlagsAttr("none"))
    result = result_def()


_MISSING = (ErfcOp, ClampFOp, IsFiniteOp, IsInfOp, IsNaNOp, IsNormalOp)


def _special(ops: dict[str, type[IRDLOperation]]) -> list[Syntax]:
    """The ops that are not `op operands : one type`."""
    fastmath = {"fastmath": FASTMATH}
    base, exponent = (name for name, _ in ops["fpowi"].get_irdl_definition().operands)
    power = f"${base} `,` ${exponent} {FASTMATH_FLAG} attr-dict `:` type(${base}) `,` type(${exponent})"
    clamp = f"$value `to` `[` $min `,` $max `]` {FASTMATH_FLAG} attr-dict `:` type($result)"
    test = f"$operand {FASTMATH_FLAG} attr-dict `:` type($operand)"
    return [
        Syntax(ops["fpowi"], power, {"result": Rule(base)}, fastmath),
        Syntax(ClampFOp, clamp, {name: Rule("result") for name in ("value", "min", "max")}, fastmath),
        *(Syntax(ops[name], test, {"result": Rule("operand", boolean_like)}, fastmath) for name in _TESTS.split()),
    ]


def build() -> DialectSyntax:
    ops = by_name((*_MISSING, *math.Math.operations))
    syntaxes: dict[type[Operation], OpSyntax] = {syntax.op_type: syntax for syntax in _special(ops)}
    for name, op in ops.items():
        if name in _INTEGER.split():
            syntaxes[op] = same_type(op)
        elif op not in syntaxes:
            syntaxes[op] = same_type(op, FASTMATH_FLAG, {"fastmath": FASTMATH})
    return DialectSyntax(Dialect("math", list(ops.values()), list(math.Math.attributes)), syntaxes)
