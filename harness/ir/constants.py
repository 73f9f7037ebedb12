"""Constants where xDSL's reading or writing is not MLIR's.

* `dense<0xFF800000> : tensor<8xf32>` is the bits of a float (xDSL reads 4286578688.0);
* a splat is built from one element, not from a list of all of them;
* floats print as MLIR prints them: six digits where that is exact, else as many as the format needs, bits in
  hexadecimal for infinities and NaN.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import AnyFloat, BytesAttr, DenseIntOrFPElementsAttr, FloatAttr, TensorType
from xdsl.ir import Attribute
from xdsl.parser import AttrParser

SPLAT = re.compile(r"\s*dense<(true|false|-?\d[\w.+-]*)>\s*:\s*(?=tensor<)")


@dataclass
class BitsElement(AttrParser._TensorLiteralElement):  # pyright: ignore[reportPrivateUsage]
    """A hexadecimal element of a dense literal: a number for integers, the bits of a float."""

    def to_type(self, parser: AttrParser, type: Any) -> Any:
        if isinstance(type, AnyFloat):
            return float_of_bits(int(self.value), type)  # pyright: ignore[reportArgumentType]
        return super().to_type(parser, type)


def float_of_bits(bits: int, type_: AnyFloat) -> float:
    """The float of that type with those bits. Raises OverflowError where they do not fit."""
    return next(iter(type_.iter_unpack(bits.to_bytes(type_.compile_time_size, "little"))))


def splat(text: str, type_: TensorType) -> DenseIntOrFPElementsAttr:
    """`dense<text> : type_`. Raises ValueError or OverflowError for an element the type cannot hold."""
    element = type_.element_type
    one = TensorType(element, [1])
    packed = DenseIntOrFPElementsAttr.from_list(one, [_number(text, element)])  # pyright: ignore
    return DenseIntOrFPElementsAttr(type_, BytesAttr(packed.data.data * math.prod(type_.get_shape())))  # pyright: ignore[reportArgumentType]


def _number(text: str, element: Attribute) -> float | int:
    if text in ("true", "false"):
        return int(text == "true")
    if not isinstance(element, AnyFloat):
        return int(text, 0)
    return float_of_bits(int(text, 16), element) if text.startswith("0x") else float(text)


def float_text(value: float, type_: AnyFloat) -> str:
    if math.isfinite(value):
        short = _scientific(value, *_decimal(value, _SHORT), "e")
        if _rounded(float(short), type_) == value:
            return short
        long = _plain(value, *_decimal(value, _DIGITS[type_.name]), _DIGITS[type_.name])
        if "." in long:
            return long
    return "0x" + type_.pack((value,))[::-1].hex().upper()


_SHORT = 6
# LLVM's number of digits that tell the values of a format apart: 2 + 59/196 of its precision in bits.
_PRECISION = {"f64": 53, "f32": 24, "tf32": 11, "f16": 11, "bf16": 8}
_DIGITS = defaultdict(lambda: 3, {name: 2 + bits * 59 // 196 for name, bits in _PRECISION.items()})
_PADDING = 3


def _rounded(value: float, type_: AnyFloat) -> float:
    return next(iter(type_.iter_unpack(type_.pack((value,)))))


def _decimal(value: float, precision: int) -> tuple[str, int]:
    """Digits and power of ten of the last one, rounded as LLVM does: cut by whole powers of ten to about the
    precision, then rounded half up to it."""
    numerator, denominator = abs(value).as_integer_ratio()
    power = -(denominator.bit_length() - 1)
    number = numerator * 5**-power
    surplus = number.bit_length() - (precision * 196 + 58) // 59
    tens = max(surplus, 0) * 59 // 196
    number //= 10**tens
    digits, power = str(number), power + tens
    dropped = len(digits) - precision
    if dropped > 0:
        digits, power = str((number + 5 * 10 ** (dropped - 1)) // 10**dropped), power + dropped
    kept = digits.rstrip("0") or "0"
    return kept, power + len(digits) - len(kept)


def _scientific(value: float, digits: str, power: int, letter: str) -> str:
    """d.ddde+XX: padded to six places after the point with a small e, as short as can be with a capital one."""
    exponent = 0 if digits == "0" else power + len(digits) - 1
    padded = letter == "e"
    places = digits[1:].ljust(_SHORT, "0") if padded else digits[1:] or "0"
    size = f"{abs(exponent):02d}" if padded else str(abs(exponent))
    return f"{_minus(value)}{digits[0]}.{places}{letter}{'-' if exponent < 0 else '+'}{size}"


def _plain(value: float, digits: str, power: int, precision: int) -> str:
    """Without an exponent where that takes little padding."""
    leading = power + len(digits) - 1
    if power > _PADDING or (power >= 0 and len(digits) + power > precision) or -leading > _PADDING:
        return _scientific(value, digits, power, "E")
    if power >= 0:
        return _minus(value) + digits + "0" * power
    digits = digits.rjust(1 - power, "0")
    return f"{_minus(value)}{digits[:power]}.{digits[power:]}"


def _minus(value: float) -> str:
    return "-" if math.copysign(1.0, value) < 0 else ""


def constant_text(attribute: Attribute, type_text: str) -> str | None:
    """How MLIR writes a float, or a dense literal of floats; None for what xDSL writes the same."""
    if isinstance(attribute, FloatAttr):
        return f"{float_text(attribute.value.data, attribute.type)} : {type_text}"
    if not isinstance(attribute, DenseIntOrFPElementsAttr) or not isinstance(attribute.type, TensorType):
        return None
    element = attribute.type.element_type
    if not isinstance(element, AnyFloat):
        return None
    return f"dense<{_dense_body(attribute, element)}> : {type_text}"


def _dense_body(attribute: DenseIntOrFPElementsAttr, element: AnyFloat) -> str:
    data, size = attribute.data.data, element.compile_time_size
    if not data:
        return ""
    if data == data[:size] * (len(data) // size):
        return float_text(next(iter(element.iter_unpack(data[:size]))), element)
    return _nested([float_text(value, element) for value in element.iter_unpack(data)], attribute.get_shape())


def _nested(texts: list[str], shape: tuple[int, ...]) -> str:
    if len(shape) <= 1:
        return f"[{', '.join(texts)}]"
    step = len(texts) // shape[0]
    return f"[{', '.join(_nested(texts[at : at + step], shape[1:]) for at in range(0, len(texts), step))}]"
