"""`arith`: xDSL's op definitions with those it lacks; syntaxes of our own, faster and complete on tensors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from xdsl.dialects import arith
from xdsl.dialects.arith import FastMathFlagsAttr, IntegerOverflowAttr, IntegerOverflowFlag
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Dialect, Operation
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    result_def,
)

from harness.ir.codecs import BitsCodec, EnumCodec, FlagCodec
from harness.ir.dialects.families import by_name, conversion, same_type
from harness.ir.dialects.types import boolean_like
from harness.ir.enums import FLOAT_PREDICATE, INTEGER_PREDICATE, Enum
from harness.ir.parser import ModuleParser
from harness.ir.printer import ModulePrinter
from harness.ir.registry import DialectSyntax
from harness.ir.syntax import CustomSyntax, OpSyntax, Rule, Syntax

_ROUNDING = Enum(
    "rounding mode",
    {"to_nearest_even": 0, "downward": 1, "upward": 2, "toward_zero": 3, "to_nearest_away": 4},
)


def _fastmath(names: list[str]) -> Attribute:
    if names in (["none"], ["fast"]):
        return FastMathFlagsAttr(names[0])  # pyright: ignore[reportArgumentType]
    return FastMathFlagsAttr([FastMathFlag(name) for name in names])


def _overflow(names: list[str]) -> Attribute:
    return IntegerOverflowAttr("none" if names == ["none"] else [IntegerOverflowFlag(name) for name in names])


def _flag_names(value: Attribute) -> list[str]:
    """In the order of the flags' bits, as MLIR prints them."""
    held = value.data  # pyright: ignore[reportAttributeAccessIssue]
    if not held:
        return ["none"]
    kinds = type(next(iter(held)))
    names = [flag.value for flag in kinds if flag in held]  # pyright: ignore[reportGeneralTypeIssues]
    return ["fast"] if kinds is FastMathFlag and len(names) == len(FastMathFlag) else names


FASTMATH = BitsCodec(_fastmath, _flag_names)
_OVERFLOW = BitsCodec(_overflow, _flag_names, ", ")


@irdl_op_definition
class RemFOp(IRDLOperation):
    """The remainder of a floating-point division, with the sign of the dividend."""

    name = "arith.remf"
    lhs = operand_def()
    rhs = operand_def()
    fastmath = prop_def(FastMathFlagsAttr, default_value=FastMathFlagsAttr("none"))
    result = result_def()


@irdl_op_definition
class ScalingExtFOp(IRDLOperation):
    """A narrow float times a power-of-two scale, in a wider format."""

    name = "arith.scaling_extf"
    source = operand_def()
    scale = operand_def()
    fastmath = opt_prop_def(FastMathFlagsAttr)
    out = result_def()


@irdl_op_definition
class IndexCastUIOp(IRDLOperation):
    """Between index and integers, without a sign."""

    name = "arith.index_castui"
    source = operand_def(AnyAttr())
    result = result_def(AnyAttr())


@irdl_op_definition
class ConvertFOp(IRDLOperation):
    """Between floats of the same width."""

    name = "arith.convertf"
    source = operand_def()
    fastmath = opt_prop_def(FastMathFlagsAttr)
    roundingmode = opt_prop_def()
    out = result_def()


@irdl_op_definition
class TruncFOp(IRDLOperation):
    """To a narrower float. xDSL's definition has no rounding mode."""

    name = "arith.truncf"
    source = operand_def()
    fastmath = opt_prop_def(FastMathFlagsAttr)
    roundingmode = opt_prop_def()
    out = result_def()


@irdl_op_definition
class SubUIExtendedOp(IRDLOperation):
    """A difference and whether it borrowed."""

    name = "arith.subui_extended"
    lhs = operand_def()
    rhs = operand_def()
    difference = result_def()
    borrow = result_def()


_MISSING = (RemFOp, ScalingExtFOp, IndexCastUIOp, ConvertFOp, TruncFOp, SubUIExtendedOp)
_FLOAT_ARITHMETIC = "negf addf subf mulf divf remf maximumf minimumf maxnumf minnumf"
_INTEGER_WRAPPING = "addi subi muli shli"
_INTEGER_EXACT = "divsi divui shrsi shrui"
_INTEGER_BINARY = "remsi remui andi ori xori maxsi maxui minsi minui ceildivsi ceildivui floordivsi"
_INTEGER_CONVERSIONS = "extsi extui trunci sitofp uitofp fptosi fptoui index_cast index_castui bitcast"
_EXTENDED = "addui_extended subui_extended mulsi_extended mului_extended"
FASTMATH_FLAG = "(`fastmath` $fastmath^)?"


def _parse_select(parser: ModuleParser, op_type: type[Operation]) -> Operation:
    """`%c, %a, %b : T` for a scalar condition, `%c, %a, %b : tensor<i1>, T` for one per element."""
    condition, _, true, _, false = parser.use(), parser.need(","), parser.use(), parser.need(","), parser.use()
    attributes: dict[str, Attribute] = {}
    parser.attribute_dictionary(attributes)
    parser.need(":")
    types = parser.value_types()
    condition_type = types[0] if len(types) == 2 else parser.integer_type(1)
    operands = [
        parser.resolve(condition, condition_type),
        parser.resolve(true, types[-1]),
        parser.resolve(false, types[-1]),
    ]
    return op_type.create(operands=operands, result_types=[types[-1]], attributes=attributes)


def _print_select(printer: ModulePrinter, op: Operation) -> None:
    printer.word(printer.values(op.operands))
    printer.attribute_dictionary(op.attributes)
    condition, result = op.operands[0].type, op.results[0].type
    types = [result] if condition == printer.boolean else [condition, result]
    printer.word(": " + printer.type_list(types))


def _parse_constant(parser: ModuleParser, op_type: type[Operation]) -> Operation:
    """`{attributes} value`; the value's type is the result's."""
    attributes: dict[str, Attribute] = {}
    parser.attribute_dictionary(attributes)
    value = parser.attribute()
    get_type = getattr(value, "get_type", None)
    if get_type is None:
        parser.fail(f"{value} is not a constant with a type")
    return op_type.create(result_types=[get_type()], properties={"value": value}, attributes=attributes)


def _print_constant(printer: ModulePrinter, op: Operation) -> None:
    printer.attribute_dictionary(op.attributes)
    printer.word(printer.attribute_text(op.properties["value"]))


def _compare(op_type: type[IRDLOperation], predicate: Enum, flags: str) -> Syntax:
    """`predicate, %a, %b : operand type`; the result is i1 of that shape."""
    return Syntax(
        op_type,
        f"$predicate `,` $lhs `,` $rhs {flags} attr-dict `:` type($lhs)",
        {"rhs": Rule("lhs"), "result": Rule("lhs", boolean_like)},
        {"predicate": EnumCodec(predicate, 64), "fastmath": FASTMATH},
    )


def _extended(op_type: type[IRDLOperation]) -> Syntax:
    """Two results: `%a, %b : T, i1` for a carry, `%a, %b : T` for the halves of a product."""
    first, second = (name for name, _ in op_type.get_irdl_definition().results)
    if op_type.name in ("arith.addui_extended", "arith.subui_extended"):
        types = {"lhs": Rule(first), "rhs": Rule(first)}
        return Syntax(op_type, f"$lhs `,` $rhs attr-dict `:` type(${first}) `,` type(${second})", types)
    types = {"lhs": Rule(first), "rhs": Rule(first), second: Rule(first)}
    return Syntax(op_type, f"$lhs `,` $rhs attr-dict `:` type(${first})", types)


def _families(ops: Mapping[str, type[IRDLOperation]]) -> Iterator[Syntax]:
    """The ops that are read and printed alike."""
    fastmath = {"fastmath": FASTMATH}
    for name in _FLOAT_ARITHMETIC.split():
        yield same_type(ops[name], FASTMATH_FLAG, fastmath)
    for name in _INTEGER_WRAPPING.split():
        yield same_type(ops[name], "(`overflow` $overflowFlags^)?", {"overflowFlags": _OVERFLOW})
    for name in _INTEGER_EXACT.split():
        yield same_type(ops[name], "(`exact` $isExact^)?", {"isExact": FlagCodec()})
    for name in _INTEGER_BINARY.split():
        yield same_type(ops[name])
    for name in _INTEGER_CONVERSIONS.split():
        yield conversion(ops[name])
    for name in _EXTENDED.split():
        yield _extended(ops[name])


def _others(ops: Mapping[str, type[IRDLOperation]]) -> Iterator[Syntax]:
    fastmath = {"fastmath": FASTMATH}
    rounded = {"fastmath": FASTMATH, "roundingmode": EnumCodec(_ROUNDING)}
    yield _compare(ops["cmpi"], INTEGER_PREDICATE, "")
    yield _compare(ops["cmpf"], FLOAT_PREDICATE, FASTMATH_FLAG)
    yield conversion(ops["extf"], flags=FASTMATH_FLAG, codecs=fastmath)
    for name in ("truncf", "convertf"):
        yield conversion(ops[name], flags=f"($roundingmode^)? {FASTMATH_FLAG}", codecs=rounded)


def build() -> DialectSyntax:
    ops = by_name((*_MISSING, *arith.Arith.operations))
    syntaxes: dict[type[Operation], OpSyntax] = {
        ops["constant"]: CustomSyntax(_parse_constant, _print_constant),
        ops["select"]: CustomSyntax(_parse_select, _print_select),
    }
    syntaxes |= {syntax.op_type: syntax for syntax in (*_families(ops), *_others(ops))}
    return DialectSyntax(Dialect("arith", list(ops.values()), list(arith.Arith.attributes)), syntaxes)
