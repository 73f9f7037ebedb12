"""Constants where xDSL's reading or writing is not MLIR's.

* `dense<0xFF800000> : tensor<8xf32>` is the bits of a float (xDSL reads 4286578688.0);
* a splat is built from one element, not from a list of all of them;
* floats print as MLIR prints them: six digits where that is exact, else as many as the format needs, bits in
  hexadecimal for infinities and NaN.
"""

from __future__ import annotations

import math
import re
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
    return DenseIntOrFPElementsAttr(type_, BytesAttr(packed.data.data * math.prod(type_.get_shape())))


def _number(text: str, element: Attribute) -> float | int:
    if text in ("true", "false"):
        return int(text == "true")
    if not isinstance(element, AnyFloat):
        return int(text, 0)
    return float_of_bits(int(text, 16), element) if text.startswith("0x") else float(text)


def float_text(value: float, type_: AnyFloat) -> str:
    if math.isfinite(value):
        short = _short(value)
        if _rounded(float(short), type_) == value:
            return short
        long = _long(value, _DIGITS.get(type_.name, 17))
        if "." in long and _rounded(float(long), type_) == value:
            return long
    return "0x" + type_.pack((value,))[::-1].hex().upper()


# Significant digits that tell any two values of a format apart.
_DIGITS = {"f64": 17, "f32": 9, "f16": 5, "bf16": 4}


def _rounded(value: float, type_: AnyFloat) -> float:
    return next(iter(type_.iter_unpack(type_.pack((value,)))))


def _short(value: float) -> str:
    """Six digits after the point, the last always 0: 1.000000e+00."""
    mantissa, exponent = f"{value:.5e}".split("e")
    return f"{mantissa}0e{exponent}"


def _long(value: float, digits: int) -> str:
    """Plain notation for numbers near one, else scientific with a capital E."""
    mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
    mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
    power = int(exponent)
    significant = len(mantissa.lstrip("-").replace(".", ""))
    if -3 <= power < 0 or 0 <= power < significant + 3:
        return f"{value:.{max(significant - 1 - power, 0)}f}"
    sign = "+" if power >= 0 else "-"
    return f"{mantissa}E{sign}{abs(power)}"


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
