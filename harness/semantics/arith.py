"""The `arith` dialect on arrays: https://mlir.llvm.org/docs/Dialects/ArithOps/."""

from __future__ import annotations

import numpy as np

from harness.semantics.conversions import (
    convert_float,
    float_to_signed,
    float_to_unsigned,
    integer_to_float,
    unsigned_to_float,
)
from harness.semantics.registry import (
    ElementwiseFunction,
    as_unsigned,
    elementwise,
    floats,
    plain,
    register_table,
)
from harness.semantics.types import INTEGER_BITS, NARROW_FLOATS, Array, Signature, numpy_dtype, unsigned


def truncating_divide(left: Array, right: Array) -> Array:
    """Signed division towards zero. By zero it gives 0 (undefined in MLIR)."""
    quotient = np.floor_divide(left, right)
    if _all_non_negative(left) and _all_non_negative(right):
        return quotient
    inexact = (quotient * right != left) & (right != 0)
    return quotient + (inexact & ((left < 0) != (right < 0)))


def truncating_remainder(left: Array, right: Array) -> Array:
    """Signed remainder with the sign of the dividend."""
    if _all_non_negative(left) and _all_non_negative(right):
        return left - np.floor_divide(left, right) * right
    return np.fmod(left, right)


def _all_non_negative(values: Array) -> bool:
    return values.size == 0 or bool(values.min() >= 0)


def ceil_divide(left: Array, right: Array) -> Array:
    """Signed division towards plus infinity."""
    quotient = np.floor_divide(left, right)
    # Not -(-left // right): the least integer is its own negative.
    return quotient + ((quotient * right != left) & (right != 0))


def _signed_zeros(choose: np.ufunc, combine_zeros: ElementwiseFunction) -> ElementwiseFunction:
    """-0.0 is less than 0.0 (IEEE 754-2019, and PTX's min and max); NumPy takes either."""

    def compute(left: Array, right: Array) -> Array:
        result = choose(left, right)
        if result.all():
            return result
        zeros = (left == 0) & (right == 0)
        return np.where(zeros, combine_zeros(left, right), result)

    return compute


maximum = _signed_zeros(np.maximum, np.add)
minimum = _signed_zeros(np.minimum, lambda left, right: -(-left - right))
# maxnumf, minnumf: the number where only one operand is NaN.
maximum_number = _signed_zeros(np.fmax, np.add)
minimum_number = _signed_zeros(np.fmin, lambda left, right: -(-left - right))


def _shift_left(left: Array, right: Array) -> Array:
    return np.where(_in_width(left, right), np.left_shift(left, right), 0).astype(left.dtype)


def _shift_right_signed(left: Array, right: Array) -> Array:
    # Past the width the result is poison in MLIR; hardware gives the sign.
    bits = left.dtype.itemsize * 8
    return np.right_shift(left, np.minimum(unsigned(right), bits - 1).astype(left.dtype))


def _shift_right_unsigned(left: Array, right: Array) -> Array:
    return np.where(_in_width(left, right), np.right_shift(left, right), 0).astype(left.dtype)


def _in_width(left: Array, right: Array) -> Array:
    return (right >= 0) & (right < left.dtype.itemsize * 8)


def _booleans_or(operation: np.ufunc, on_bool: np.ufunc) -> ElementwiseFunction:
    """NumPy bools saturate under + and *; i1 wraps, so they need logic ops instead."""

    def compute(left: Array, right: Array) -> Array:
        return on_bool(left, right) if left.dtype == np.bool_ else operation(left, right)

    return compute


register_table(
    {
        "arith.addi": _booleans_or(np.add, np.logical_xor),
        "arith.subi": _booleans_or(np.subtract, np.logical_xor),
        "arith.muli": _booleans_or(np.multiply, np.logical_and),
        "arith.andi": np.bitwise_and,
        "arith.ori": np.bitwise_or,
        "arith.xori": np.bitwise_xor,
        "arith.shli": _shift_left,
        "arith.shrsi": _shift_right_signed,
        "arith.divsi": truncating_divide,
        "arith.remsi": truncating_remainder,
        "arith.floordivsi": np.floor_divide,
        "arith.ceildivsi": ceil_divide,
        # A set bit is -1 where i1 is read as signed.
        "arith.maxsi": _booleans_or(np.maximum, np.logical_and),
        "arith.minsi": _booleans_or(np.minimum, np.logical_or),
        "arith.select": lambda condition, left, right: np.where(condition, left, right),
    },
    plain,
)
register_table(
    {
        "arith.divui": np.floor_divide,
        "arith.remui": np.remainder,
        "arith.ceildivui": lambda left, right: np.floor_divide(left, right) + (np.remainder(left, right) != 0),
        "arith.shrui": _shift_right_unsigned,
        "arith.maxui": np.maximum,
        "arith.minui": np.minimum,
    },
    as_unsigned,
)
register_table(
    {
        "arith.addf": np.add,
        "arith.subf": np.subtract,
        "arith.mulf": np.multiply,
        "arith.divf": np.divide,
        "arith.remf": np.fmod,
        "arith.negf": np.negative,
        "arith.maximumf": maximum,
        "arith.minimumf": minimum,
        "arith.maxnumf": maximum_number,
        "arith.minnumf": minimum_number,
    },
    floats,
)

_SIGNED = {
    "eq": np.equal,
    "ne": np.not_equal,
    "slt": np.less,
    "sle": np.less_equal,
    "sgt": np.greater,
    "sge": np.greater_equal,
}
_UNSIGNED = {"ult": np.less, "ule": np.less_equal, "ugt": np.greater, "uge": np.greater_equal}


@elementwise("arith.cmpi")
def _compare_integers(signature: Signature) -> ElementwiseFunction:
    predicate = signature.attributes["predicate"]
    if predicate in _UNSIGNED:
        compare = _UNSIGNED[predicate]
        return lambda left, right: compare(unsigned(left), unsigned(right))
    compare = _SIGNED[predicate]
    if signature.operands[0] != "i1" or predicate in ("eq", "ne"):
        return compare
    # A set bit is -1 when i1 is read as signed: the order of bools turned round.
    return lambda left, right: compare(right, left)


_ORDERED = {
    "oeq": np.equal,
    "ogt": np.greater,
    "oge": np.greater_equal,
    "olt": np.less,
    "ole": np.less_equal,
    "une": np.not_equal,
}
_NEGATED = {"ueq": "one", "ugt": "ole", "uge": "olt", "ult": "oge", "ule": "ogt"}


def _comparison(predicate: str) -> ElementwiseFunction:
    if predicate in _ORDERED:
        return _ORDERED[predicate]
    if predicate == "one":
        return lambda left, right: np.less(left, right) | np.greater(left, right)
    if predicate == "ord":
        return lambda left, right: ~(np.isnan(left) | np.isnan(right))
    if predicate == "uno":
        return lambda left, right: np.isnan(left) | np.isnan(right)
    if predicate in ("true", "false"):
        return lambda left, right: np.full(np.broadcast_shapes(left.shape, right.shape), predicate == "true")
    ordered = _comparison(_NEGATED[predicate])
    return lambda left, right: ~ordered(left, right)


@elementwise("arith.cmpf")
def _compare_floats(signature: Signature) -> ElementwiseFunction:
    compare = _comparison(signature.attributes["predicate"])
    if signature.operands[0] not in NARROW_FLOATS:
        return compare
    return lambda left, right: compare(left.astype(np.float32), right.astype(np.float32))


@elementwise("arith.extsi", "arith.trunci", "arith.index_cast")
def _signed_cast(signature: Signature) -> ElementwiseFunction:
    dtype = numpy_dtype(signature.result)
    if signature.result == "i1":
        return lambda value: (value & 1).astype(np.bool_)
    if signature.operands[0] == "i1":
        return lambda value: -value.astype(dtype)
    return lambda value: value.astype(dtype)


@elementwise("arith.extui", "arith.index_castui")
def _unsigned_cast(signature: Signature) -> ElementwiseFunction:
    dtype = numpy_dtype(signature.result)
    if signature.operands[0] == "i1":
        return lambda value: value.astype(dtype)
    if INTEGER_BITS[signature.result] < INTEGER_BITS[signature.operands[0]]:
        return lambda value: value.astype(dtype)
    return lambda value: unsigned(value).astype(dtype)


@elementwise("arith.sitofp")
def _signed_to_float(signature: Signature) -> ElementwiseFunction:
    dtype = numpy_dtype(signature.result)
    if signature.operands[0] == "i1":
        return lambda value: (-value.astype(np.float32)).astype(dtype)
    return lambda value: integer_to_float(value, signature.result)


@elementwise("arith.uitofp")
def _unsigned_to_float(signature: Signature) -> ElementwiseFunction:
    return lambda value: unsigned_to_float(value, signature.result)


@elementwise("arith.fptosi")
def _float_to_signed(signature: Signature) -> ElementwiseFunction:
    return lambda value: float_to_signed(value, numpy_dtype(signature.result))


@elementwise("arith.fptoui")
def _float_to_unsigned(signature: Signature) -> ElementwiseFunction:
    return lambda value: float_to_unsigned(value, numpy_dtype(signature.result))


@elementwise("arith.extf", "arith.truncf")
def _float_cast(signature: Signature) -> ElementwiseFunction:
    return lambda value: convert_float(value, signature.result)


@elementwise("arith.bitcast", "tt.bitcast")
def _bitcast(signature: Signature) -> ElementwiseFunction:
    dtype = numpy_dtype(signature.result)
    return lambda value: value.view(dtype)
