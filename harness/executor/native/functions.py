"""Functions of float32 as branch-free LLVM IR, for scalars and for vectors of any width alike.

Each is within 2 units in the last place of the exact value over the whole range of float32, with the special
values of C's math library: NaN, infinities, both zeros, overflow to infinity, gradual underflow. Nothing relies on
fast-math flags; `llvm.fma` stands where one rounding is meant.

The coefficients were made by tests/executor/native/minimax.py (least maximum error, then rounded to float32 one by
one); what each polynomial approximates stands there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

Emitter = Callable[[ir.IRBuilder, Any], Any]

_EXP = (0.4999999403953552, 0.1666652262210846, 0.04166829213500023, 0.008368532173335552, 0.001381829846650362)
_EXP2 = (
    0.6931471824645996,
    0.24022647738456726,
    0.05550359934568405,
    0.009618505835533142,
    0.0013390806270763278,
    0.0001532646274426952,
)
_LOG = (
    0.3333333134651184,
    -0.2500081956386566,
    0.2000124156475067,
    -0.166234090924263,
    0.14201579988002777,
    -0.13159610331058502,
    0.12762217223644257,
    -0.07636439055204391,
)
_ERF = (
    0.12837916612625122,
    -0.3761262893676758,
    0.11283625662326813,
    -0.02685573138296604,
    0.005192405078560114,
    -0.0008049769676290452,
    7.996649947017431e-05,
)
_ERF_TAIL = (
    -1.1284598112106323,
    -0.6361249089241028,
    -0.10409887135028839,
    0.02115769311785698,
    -0.001722141052596271,
    -0.0005525009473785758,
    0.00022884205100126565,
    -3.607113103498705e-05,
    2.2595095288124867e-06,
)
_TANH = (-0.33333277702331543, 0.13331320881843567, -0.05372913181781769, 0.0206032395362854, -0.005663622170686722)
_SIN = (-0.1666666664079704, 0.008333329304841949, -0.0001983931226924154, 2.718121625253014e-06)
_COS = (-0.49999999725108035, 0.04166662332432594, -0.0013886763793862112, 2.439045066061801e-05)

# ln 2 and its reciprocal, each as a float32 and the float32 nearest to what that leaves.
_LN2, _LN2_REST = 0.6931471824645996, -1.9046542121259336e-09
_LOG2E, _LOG2E_REST = 1.4426950216293335, 1.925963033500011e-08
_NEAREST = 12582912.0  # 1.5 * 2^23: adding it leaves a float's nearest integer in its last bits
_NEAREST_BITS = 0x4B400000
_SIGN = 0x80000000
_SQRT_HALF_BITS = 0x3F3504F3
_ONE_BITS = 0x3F800000
_LEAST_NORMAL = 2.0**-126

# 2 / pi in words of 32 bits, after a word of leading zeros.
_TWO_OVER_PI = (0, 0xA2F9836E, 0x4E441529, 0xFC2757D1, 0xF534DDC0, 0xDB629599, 0x3C439041, 0xFE5163AB)


class _Lanes:
    """Constants, types and operations for values as wide as `value`."""

    def __init__(self, builder: ir.IRBuilder, value: Any) -> None:
        self.builder = builder
        self._count: int | None = value.type.count if isinstance(value.type, ir.VectorType) else None

    def type(self, scalar: Any) -> Any:
        return scalar if self._count is None else ir.VectorType(scalar, self._count)

    def constant(self, scalar: Any, number: float) -> ir.Constant:
        return ir.Constant(self.type(scalar), number if self._count is None else [number] * self._count)

    def float(self, number: float) -> ir.Constant:
        return self.constant(ir.FloatType(), number)

    def int(self, number: int) -> ir.Constant:
        return self.constant(ir.IntType(32), number)

    def long(self, number: int) -> ir.Constant:
        return self.constant(ir.IntType(64), number)

    def as_float(self, bits: Any) -> Any:
        return self.builder.bitcast(bits, self.type(ir.FloatType()))

    def as_int(self, value: Any) -> Any:
        return self.builder.bitcast(value, self.type(ir.IntType(32)))

    def call(self, name: str, *operands: Any) -> Any:
        """An LLVM intrinsic whose operands and result all have one type."""
        type_ = operands[0].type
        scalar = type_ if self._count is None else type_.element
        width = "" if self._count is None else f"v{self._count}"
        full = f"llvm.{name}.{width}{scalar.intrinsic_name}"
        module = self.builder.module
        function = module.globals.get(full)
        if function is None:
            function = ir.Function(module, ir.FunctionType(type_, [type_] * len(operands)), full)
        return self.builder.call(function, operands)

    def fma(self, a: Any, b: Any, c: Any) -> Any:
        return self.call("fma", a, b, c)

    def polynomial(self, at: Any, coefficients: Sequence[float]) -> Any:
        """By Horner's rule; coefficients from the constant up."""
        scalar = at.type if self._count is None else at.type.element
        total = self.constant(scalar, coefficients[-1])
        for coefficient in reversed(coefficients[:-1]):
            total = self.fma(total, at, self.constant(scalar, coefficient))
        return total

    def is_nan(self, value: Any) -> Any:
        return self.builder.fcmp_unordered("uno", value, value)

    def below(self, value: Any, limit: float) -> Any:
        """False for NaN."""
        return self.builder.fcmp_ordered("<", value, self.float(limit))

    def least(self, value: Any, limit: float) -> Any:
        """The smaller one; the limit for NaN."""
        return self.builder.select(self.below(value, limit), value, self.float(limit))

    def greatest(self, value: Any, limit: float) -> Any:
        """The larger one, of values that are no NaN."""
        return self.builder.select(self.below(value, limit), self.float(limit), value)

    def or_nan(self, value: Any, result: Any) -> Any:
        """`result`, or a NaN where `value` is one."""
        return self.builder.select(self.is_nan(value), value, result)

    def with_sign_of(self, value: Any, result: Any) -> Any:
        """`result`, which is not negative, with the sign of `value`."""
        sign = self.builder.and_(self.as_int(value), self.int(_SIGN))
        return self.as_float(self.builder.or_(self.as_int(result), sign))

    def nearest(self, value: Any, factor: float) -> tuple[Any, Any]:
        """The integer nearest to value * factor (below 2^22), as a float and as an i32."""
        shifted = self.fma(value, self.float(factor), self.float(_NEAREST))
        whole = self.builder.fsub(shifted, self.float(_NEAREST))
        return whole, self.builder.sub(self.as_int(shifted), self.int(_NEAREST_BITS))

    def power_of_two(self, exponent: Any) -> Any:
        """2^exponent for an i32 from -126 to 127."""
        return self.as_float(self.builder.shl(self.builder.add(exponent, self.int(127)), self.int(23)))

    def scaled(self, value: Any, exponent: Any) -> Any:
        """value * 2^exponent for `value` near 1, rounded once: of the two factors the first is exact."""
        half = self.builder.ashr(exponent, self.int(1))
        first = self.builder.fmul(value, self.power_of_two(half))
        return self.builder.fmul(first, self.power_of_two(self.builder.sub(exponent, half)))


# --- exponentials ---------------------------------------------------------------------------------------------------


def _exp_parts(lanes: _Lanes, value: Any) -> tuple[Any, Any]:
    """(m, n) with exp(value) = m * 2^n."""
    whole, exponent = lanes.nearest(value, _LOG2E)
    rest = lanes.fma(whole, lanes.float(-_LN2), value)
    rest = lanes.fma(whole, lanes.float(-_LN2_REST), rest)
    square = lanes.builder.fmul(rest, rest)
    tail = lanes.fma(square, lanes.polynomial(rest, _EXP), rest)
    return lanes.builder.fadd(tail, lanes.float(1.0)), exponent


def _exp(builder: ir.IRBuilder, value: Any) -> Any:
    lanes = _Lanes(builder, value)
    within = lanes.greatest(lanes.least(value, 89.0), -105.0)  # infinity and zero from there on
    return lanes.or_nan(value, lanes.scaled(*_exp_parts(lanes, within)))


def _exp2(builder: ir.IRBuilder, value: Any) -> Any:
    lanes = _Lanes(builder, value)
    within = lanes.greatest(lanes.least(value, 129.0), -151.0)
    whole, exponent = lanes.nearest(within, 1.0)
    rest = builder.fsub(within, whole)
    mantissa = lanes.fma(rest, lanes.polynomial(rest, _EXP2), lanes.float(1.0))
    return lanes.or_nan(value, lanes.scaled(mantissa, exponent))


def _tanh(builder: ir.IRBuilder, value: Any) -> Any:
    """Near zero x + x^3 p(x^2), else 1 - 2 / (exp(2 |x|) + 1)."""
    lanes = _Lanes(builder, value)
    size = lanes.least(lanes.call("fabs", value), 10.0)
    square = builder.fmul(size, size)
    small = lanes.fma(builder.fmul(size, square), lanes.polynomial(square, _TANH), size)
    mantissa, exponent = _exp_parts(lanes, builder.fadd(size, size))
    grown = lanes.fma(mantissa, lanes.power_of_two(exponent), lanes.float(1.0))
    large = builder.fsub(lanes.float(1.0), builder.fdiv(lanes.float(2.0), grown))
    result = builder.select(lanes.below(size, 0.625), small, large)
    return lanes.or_nan(value, lanes.with_sign_of(value, result))


def _erf(builder: ir.IRBuilder, value: Any) -> Any:
    """Near zero x + x p(x^2), else 1 - exp(|x| q(|x|)); 1 from 3.92 on."""
    lanes = _Lanes(builder, value)
    size = lanes.least(lanes.call("fabs", value), 4.0)
    square = builder.fmul(size, size)
    small = lanes.fma(size, lanes.polynomial(square, _ERF), size)
    mantissa, exponent = _exp_parts(lanes, builder.fmul(size, lanes.polynomial(size, _ERF_TAIL)))
    negative = builder.fmul(mantissa, lanes.float(-1.0))
    large = lanes.fma(negative, lanes.power_of_two(exponent), lanes.float(1.0))
    result = builder.select(lanes.below(size, 0.925), small, large)
    return lanes.or_nan(value, lanes.with_sign_of(value, result))


# --- logarithms -----------------------------------------------------------------------------------------------------


def _log_parts(lanes: _Lanes, value: Any) -> tuple[Any, Any, Any]:
    """(e, f, t) with log(value) = e ln 2 + f + t, |t| < |f|, for positive finite values; e is a float."""
    builder = lanes.builder
    tiny = lanes.below(value, _LEAST_NORMAL)
    normal = builder.select(tiny, builder.fmul(value, lanes.float(2.0**23)), value)
    # The mantissa from sqrt(1/2) to sqrt(2), so that f is least.
    moved = builder.add(lanes.as_int(normal), lanes.int(_ONE_BITS - _SQRT_HALF_BITS))
    bias = builder.select(tiny, lanes.int(127 + 23), lanes.int(127))
    exponent = builder.sub(builder.lshr(moved, lanes.int(23)), bias)
    mantissa = builder.add(builder.and_(moved, lanes.int(0x7FFFFF)), lanes.int(_SQRT_HALF_BITS))
    f = builder.fsub(lanes.as_float(mantissa), lanes.float(1.0))
    inner = lanes.fma(f, lanes.polynomial(f, _LOG), lanes.float(-0.5))
    tail = builder.fmul(builder.fmul(f, f), inner)
    return builder.sitofp(exponent, value.type), f, tail


def _log_specials(lanes: _Lanes, value: Any, result: Any) -> Any:
    """-infinity for zeros, NaN below, infinity for infinity."""
    builder = lanes.builder
    positive = builder.fcmp_ordered(">", value, lanes.float(0.0))
    finite = builder.select(lanes.below(value, math.inf), result, value)  # infinity, NaN
    zero = builder.fcmp_ordered("==", value, lanes.float(0.0))
    other = builder.select(zero, lanes.float(-math.inf), lanes.float(math.nan))
    return builder.select(positive, finite, other)


def _log(builder: ir.IRBuilder, value: Any) -> Any:
    lanes = _Lanes(builder, value)
    exponent, f, tail = _log_parts(lanes, value)
    high = lanes.fma(exponent, lanes.float(_LN2), f)
    low = lanes.fma(exponent, lanes.float(_LN2_REST), tail)
    return _log_specials(lanes, value, builder.fadd(high, low))


def _log2(builder: ir.IRBuilder, value: Any) -> Any:
    lanes = _Lanes(builder, value)
    exponent, f, tail = _log_parts(lanes, value)
    scale = lanes.float(_LOG2E)
    high = builder.fmul(f, scale)
    low = lanes.fma(f, scale, builder.fmul(high, lanes.float(-1.0)))  # what rounding took from `high`
    low = lanes.fma(f, lanes.float(_LOG2E_REST), low)
    low = lanes.fma(tail, scale, low)
    total = builder.fadd(exponent, high)
    lost = builder.fsub(high, builder.fsub(total, exponent))  # exact, as |exponent| is 0 or above |high|
    return _log_specials(lanes, value, builder.fadd(total, builder.fadd(lost, low)))


# --- sine and cosine ------------------------------------------------------------------------------------------------


def _window(lanes: _Lanes, exponent: Any) -> list[Any]:
    """The 96 bits of 2 / pi that matter (times a mantissa, modulo 4) for a biased exponent from 126, as i32."""
    builder = lanes.builder
    shift = builder.sub(exponent, lanes.int(120))
    word = builder.lshr(shift, lanes.int(5))
    words = []
    for offset in range(4):
        chosen = lanes.int(_TWO_OVER_PI[4 + offset])
        for number in range(4):
            here = builder.icmp_unsigned("==", word, lanes.int(number))
            chosen = builder.select(here, lanes.int(_TWO_OVER_PI[number + offset]), chosen)
        words.append(chosen)
    bits = builder.and_(shift, lanes.int(31))
    return [lanes.call("fshl", words[i], words[i + 1], bits) for i in range(3)]


def _quarter_turns(lanes: _Lanes, bits: Any) -> tuple[Any, Any]:
    """|x| as (n modulo 4, r): x = n pi/2 + r with |r| <= pi/4, n as i64 and r as double (Payne and Hanek, 1983).

    `bits` are those of |x|, at least pi/4. The product of the mantissa with 96 bits of 2 / pi holds two bits of n,
    then 62 of the fraction.
    """
    builder = lanes.builder
    long = lanes.type(ir.IntType(64))
    exponent = builder.lshr(bits, lanes.int(23))
    mantissa = builder.or_(builder.and_(bits, lanes.int(0x7FFFFF)), lanes.int(0x800000))
    first, second, third = _window(lanes, exponent)
    wide = builder.zext(mantissa, long)
    high = builder.shl(builder.zext(builder.mul(mantissa, first), long), lanes.long(32))
    middle = builder.mul(wide, builder.zext(second, long))
    low = builder.lshr(builder.mul(wide, builder.zext(third, long)), lanes.long(32))
    turns = builder.add(builder.add(high, middle), low)
    quarter = builder.lshr(builder.add(turns, lanes.long(1 << 61)), lanes.long(62))
    fraction = builder.sub(turns, builder.shl(quarter, lanes.long(62)))
    double = lanes.type(ir.DoubleType())
    unit = lanes.constant(ir.DoubleType(), math.pi / 2 * 2.0**-62)
    return quarter, builder.fmul(builder.sitofp(fraction, double), unit)


def _circular(first_quarter: int) -> Emitter:
    """The sine of a value plus `first_quarter` quarter turns; in double once the angle is small."""

    def emit(builder: ir.IRBuilder, value: Any) -> Any:
        lanes = _Lanes(builder, value)
        double, one = lanes.type(ir.DoubleType()), lanes.constant(ir.DoubleType(), 1.0)
        size = lanes.call("fabs", value)
        quarter, rest = _quarter_turns(lanes, lanes.as_int(size))
        small = lanes.below(size, math.pi / 4)
        quarter = builder.select(small, lanes.long(0), quarter)
        rest = builder.select(small, builder.fpext(size, double), rest)
        square = builder.fmul(rest, rest)
        sine = lanes.fma(builder.fmul(rest, square), lanes.polynomial(square, _SIN), rest)
        cosine = lanes.fma(square, lanes.polynomial(square, _COS), one)
        turned = builder.add(builder.trunc(quarter, lanes.type(ir.IntType(32))), lanes.int(first_quarter))
        odd = builder.icmp_unsigned("!=", builder.and_(turned, lanes.int(1)), lanes.int(0))
        result = lanes.as_int(builder.fptrunc(builder.select(odd, cosine, sine), value.type))
        sign = builder.shl(builder.and_(turned, lanes.int(2)), lanes.int(30))
        if first_quarter == 0:
            sign = builder.xor(sign, builder.and_(lanes.as_int(value), lanes.int(_SIGN)))
        finite = lanes.below(size, math.inf)
        return builder.select(finite, lanes.as_float(builder.xor(result, sign)), builder.fsub(value, value))

    return emit


# --- one instruction each -------------------------------------------------------------------------------------------


def _intrinsic(name: str) -> Emitter:
    return lambda builder, value: _Lanes(builder, value).call(name, value)


def _rsqrt(builder: ir.IRBuilder, value: Any) -> Any:
    """Two roundings, as `harness.semantics.math.reciprocal_sqrt`."""
    lanes = _Lanes(builder, value)
    return builder.fdiv(lanes.float(1.0), lanes.call("sqrt", value))


FUNCTIONS: dict[str, Emitter] = {
    "math.absf": _intrinsic("fabs"),
    "math.ceil": _intrinsic("ceil"),
    "math.cos": _circular(1),
    "math.erf": _erf,
    "math.exp": _exp,
    "math.exp2": _exp2,
    "math.floor": _intrinsic("floor"),
    "math.log": _log,
    "math.log2": _log2,
    "math.rsqrt": _rsqrt,
    "math.sin": _circular(0),
    "math.sqrt": _intrinsic("sqrt"),
    "math.tanh": _tanh,
}
