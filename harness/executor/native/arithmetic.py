"""Elementwise ops on LLVM values: scalars and vectors alike. The meaning is that of `harness.semantics`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from xdsl.ir import Operation

from harness.executor.native.functions import FUNCTIONS
from harness.executor.native.lanes import TYPES
from harness.executor.types import element, get
from harness.ir.enums import FLOAT_PREDICATE, INTEGER_PREDICATE

Emit = Callable[[ir.IRBuilder, Any, Any], Any]

FLOATS = frozenset({"f32", "f64"})


def is_vector(type_: Any) -> bool:
    return isinstance(type_, ir.VectorType)


def filled(type_: Any, value: Any) -> ir.Constant:
    """A constant in every element."""
    if is_vector(type_):
        return ir.Constant(type_, [value] * type_.count)
    return ir.Constant(type_, value)


def like(type_: Any, inner: Any) -> Any:
    """`inner`, as wide as `type_`."""
    return ir.VectorType(inner, type_.count) if is_vector(type_) else inner


def _bits(builder: ir.IRBuilder, value: Any) -> Any:
    scalar = value.type.element if is_vector(value.type) else value.type
    width = 64 if isinstance(scalar, ir.DoubleType) else 32
    return builder.bitcast(value, like(value.type, ir.IntType(width)))


def _extreme(greatest: bool, number_wins: bool) -> Emit:
    """maxnumf and its like: -0.0 is less than 0.0; of a NaN and a number, the number or the NaN wins."""
    bitwise = ir.IRBuilder.and_ if greatest else ir.IRBuilder.or_  # of two equal operands only zeros' signs differ

    def emit(builder: ir.IRBuilder, left: Any, right: Any) -> Any:
        equal = builder.bitcast(bitwise(builder, _bits(builder, left), _bits(builder, right)), left.type)
        wins = builder.fcmp_ordered(">" if greatest else "<", left, right)
        loses = builder.fcmp_ordered("<" if greatest else ">", left, right)
        ordered = builder.select(wins, left, builder.select(loses, right, equal))
        left_nan = builder.fcmp_unordered("uno", left, left)
        right_nan = builder.fcmp_unordered("uno", right, right)
        if number_wins:
            return builder.select(left_nan, right, builder.select(right_nan, left, ordered))
        return builder.select(left_nan, left, builder.select(right_nan, right, ordered))

    return emit


def _integer_extreme(comparison: str, signed: bool) -> Emit:
    def emit(builder: ir.IRBuilder, left: Any, right: Any) -> Any:
        compare = builder.icmp_signed if signed else builder.icmp_unsigned
        return builder.select(compare(comparison, left, right), left, right)

    return emit


BINARY: dict[str, Emit] = {
    "arith.addi": ir.IRBuilder.add,
    "arith.subi": ir.IRBuilder.sub,
    "arith.muli": ir.IRBuilder.mul,
    "arith.andi": ir.IRBuilder.and_,
    "arith.ori": ir.IRBuilder.or_,
    "arith.xori": ir.IRBuilder.xor,
    "arith.addf": ir.IRBuilder.fadd,
    "arith.subf": ir.IRBuilder.fsub,
    "arith.mulf": ir.IRBuilder.fmul,
    "arith.divf": ir.IRBuilder.fdiv,
    "tt.precise_divf": ir.IRBuilder.fdiv,
    "tt.approx_divf": ir.IRBuilder.fdiv,
    "arith.maxnumf": _extreme(greatest=True, number_wins=True),
    "arith.minnumf": _extreme(greatest=False, number_wins=True),
    "arith.maximumf": _extreme(greatest=True, number_wins=False),
    "arith.minimumf": _extreme(greatest=False, number_wins=False),
    "arith.maxsi": _integer_extreme(">=", signed=True),
    "arith.minsi": _integer_extreme("<=", signed=True),
    "arith.maxui": _integer_extreme(">=", signed=False),
    "arith.minui": _integer_extreme("<=", signed=False),
}

# What leaves the other operand as it is: where a fold starts. A NaN for the extremes that let numbers win.
_LEAST, _MOST = float("-inf"), float("inf")
FLOAT_IDENTITIES = {
    "arith.addf": 0.0,
    "arith.maxnumf": float("nan"),
    "arith.minnumf": float("nan"),
    "arith.maximumf": _LEAST,
    "arith.minimumf": _MOST,
}


def integer_identity(name: str, bits: int) -> int | None:
    """Of a fold over integers of that width; None where the op is no fold."""
    top = (1 << (bits - 1)) - 1
    return {
        "arith.addi": 0,
        "arith.muli": 1,
        "arith.andi": -1,
        "arith.ori": 0,
        "arith.xori": 0,
        "arith.maxsi": -top - 1,
        "arith.minsi": top,
        "arith.maxui": 0,
        "arith.minui": -1,
    }.get(name)


def _cast(method: str) -> Callable[[ir.IRBuilder, Any, str], Any]:
    def emit(builder: ir.IRBuilder, value: Any, kind: str) -> Any:
        target = like(value.type, TYPES[kind])
        return value if target == value.type else getattr(builder, method)(value, target)

    return emit


CASTS: dict[str, Callable[[ir.IRBuilder, Any, str], Any]] = {
    "arith.extsi": _cast("sext"),
    "arith.extui": _cast("zext"),
    "arith.trunci": _cast("trunc"),
    "arith.sitofp": _cast("sitofp"),
    "arith.uitofp": _cast("uitofp"),
    "arith.extf": _cast("fpext"),
    "arith.truncf": _cast("fptrunc"),
    "arith.bitcast": _cast("bitcast"),
    "tt.bitcast": _cast("bitcast"),
}


_INTEGER_SIGNS = {"slt": "<", "sle": "<=", "sgt": ">", "sge": ">=", "eq": "==", "ne": "!="}
_UNSIGNED_SIGNS = {"ult": "<", "ule": "<=", "ugt": ">", "uge": ">="}
_FLOAT_SIGNS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def compared(operation: Operation, builder: ir.IRBuilder, left: Any, right: Any) -> Any:
    """arith.cmpi and arith.cmpf."""
    if operation.name == "arith.cmpi":
        predicate = INTEGER_PREDICATE.keywords[get(operation, "predicate")]
        if predicate in _UNSIGNED_SIGNS:
            return builder.icmp_unsigned(_UNSIGNED_SIGNS[predicate], left, right)
        return builder.icmp_signed(_INTEGER_SIGNS[predicate], left, right)
    predicate = FLOAT_PREDICATE.keywords[get(operation, "predicate")]
    if predicate in ("false", "true"):
        return filled(like(left.type, TYPES["i1"]), int(predicate == "true"))
    if predicate in ("ord", "uno"):
        method = builder.fcmp_ordered if predicate == "ord" else builder.fcmp_unordered
        return method(predicate, left, right)
    method = builder.fcmp_ordered if predicate[0] == "o" else builder.fcmp_unordered
    return method(_FLOAT_SIGNS[predicate[1:]], left, right)


def divided(operation: Operation, builder: ir.IRBuilder, left: Any, right: Any) -> Any:
    """Signed division as `harness.semantics` has it: by zero it gives 0 (the remainder likewise), and the least
    integer over -1 wraps, where LLVM's would stop the process."""
    zero, one = filled(right.type, 0), filled(right.type, 1)
    by_zero = builder.icmp_signed("==", right, zero)
    negative = builder.icmp_signed("==", right, filled(right.type, -1))
    safe = builder.select(builder.or_(by_zero, negative), one, right)
    if operation.name == "arith.divsi":
        quotient = builder.select(negative, builder.sub(zero, left), builder.sdiv(left, safe))
        return builder.select(by_zero, zero, quotient)
    # Over 1 and -1 alike nothing remains.
    return builder.select(by_zero, zero, builder.srem(left, safe))


def fused_multiply_add(builder: ir.IRBuilder, left: Any, right: Any, addend: Any) -> Any:
    """left * right + addend, rounded once."""
    type_ = left.type
    name = f"v{type_.count}{type_.element.intrinsic_name}" if is_vector(type_) else type_.intrinsic_name
    full = f"llvm.fma.{name}"
    function = builder.module.globals.get(full)
    if function is None:
        function = ir.Function(builder.module, ir.FunctionType(type_, [type_] * 3), full)
    return builder.call(function, [left, right, addend])


def supported(operation: Operation) -> bool:
    """Whether the op on its elements is one that this module (or `functions`) writes."""
    name = operation.name
    kinds = [element(value.type) for value in (*operation.operands, *operation.results)]
    if any(kind not in TYPES for kind in kinds) or len(operation.results) != 1:
        return False
    if name in FUNCTIONS or name == "tt.precise_sqrt":
        return kinds[0] == "f32"
    if name == "arith.bitcast" or name == "tt.bitcast":
        return "i1" not in kinds and "ptr" not in kinds
    if name in CASTS:
        return "ptr" not in kinds and (name, kinds[0]) != ("arith.sitofp", "i1")
    if name in ("arith.cmpi", "arith.cmpf", "arith.select"):
        return "ptr" not in kinds
    if name in ("arith.divsi", "arith.remsi"):
        return kinds[0] != "i1"
    if name in ("arith.negf", "math.fma"):
        return kinds[0] in FLOATS
    return name in BINARY and "ptr" not in kinds


def emitted(operation: Operation, builder: ir.IRBuilder, operands: list[Any]) -> Any:
    """The op on scalars, or on vectors of one width (a select's condition may be a scalar)."""
    name = operation.name
    if name in BINARY:
        return BINARY[name](builder, operands[0], operands[1])
    if name in CASTS:
        return CASTS[name](builder, operands[0], element(operation.results[0].type))
    if name in ("arith.cmpi", "arith.cmpf"):
        return compared(operation, builder, operands[0], operands[1])
    if name in ("arith.divsi", "arith.remsi"):
        return divided(operation, builder, operands[0], operands[1])
    if name == "arith.select":
        return builder.select(*operands)
    if name == "arith.negf":
        return builder.fneg(operands[0])
    if name == "math.fma":
        return fused_multiply_add(builder, *operands)
    return FUNCTIONS["math.sqrt" if name == "tt.precise_sqrt" else name](builder, operands[0])
