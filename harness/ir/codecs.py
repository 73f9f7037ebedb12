"""How attributes that an assembly format names are written in it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, cast

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, IntegerType, StringAttr, SymbolRefAttr, UnitAttr, i32
from xdsl.ir import Attribute

from harness.ir.enums import Enum

if TYPE_CHECKING:
    from harness.ir.parser import ModuleParser
    from harness.ir.printer import ModulePrinter


class Codec(Protocol):
    def begins(self, parser: ModuleParser) -> bool:
        """Whether the text goes on with this attribute; consumes nothing."""
        ...

    def parse(self, parser: ModuleParser) -> Attribute: ...

    def print(self, printer: ModulePrinter, value: Attribute) -> None: ...


_KEYWORD = re.compile(r"\s*([A-Za-z_]\w*)")
_MASK = re.compile(r"\s*([A-Za-z_]\w*(?:\s*\|\s*[A-Za-z_]\w*)*)")
_NUMBER = re.compile(r"\s*(-?\d+)")
_INDICES = re.compile(r"\s*\[((?:\s*-?\d+\s*,?)*)\]")
_POINTER_TYPE = re.compile(r"\s*!tt\.ptr<[^<>]*>\s*->")
_FLAGS = re.compile(r"\s*<([^<>]*)>")


@dataclass(frozen=True)
class EnumCodec:
    """A keyword; stored as an integer of `width` bits."""

    enum: Enum
    width: int = 32

    def begins(self, parser: ModuleParser) -> bool:
        match = _KEYWORD.match(parser.text, parser.at)
        return match is not None and match[1] in self.enum.values

    def parse(self, parser: ModuleParser) -> Attribute:
        match = parser.expect_pattern(_KEYWORD, f"a {self.enum.name}")
        value = self.enum.values.get(match[1])
        if value is None:
            parser.fail(
                f"{match[1]!r} is not a {self.enum.name}", match.start(1), f"one of: {', '.join(self.enum.values)}"
            )
        return parser.integer(value, self.width)

    def print(self, printer: ModulePrinter, value: Attribute) -> None:
        number = cast("IntegerAttr[IntegerType]", value).value.data
        printer.word(self.enum.keywords.get(number, str(number)))


class BareIntegerCodec:
    """A number without its type; stored as 32 bits."""

    def begins(self, parser: ModuleParser) -> bool:
        return _NUMBER.match(parser.text, parser.at) is not None

    def parse(self, parser: ModuleParser) -> Attribute:
        return parser.integer(int(parser.expect_pattern(_NUMBER, "a number")[1]), 32)

    def print(self, printer: ModulePrinter, value: Attribute) -> None:
        printer.word(str(cast("IntegerAttr[IntegerType]", value).value.data))


class IndexListCodec:
    """`[0, 16]`; stored as an array of 32-bit numbers."""

    def begins(self, parser: ModuleParser) -> bool:
        return parser.sees("[")

    def parse(self, parser: ModuleParser) -> Attribute:
        listed = parser.expect_pattern(_INDICES, "a list of numbers")[1]
        return DenseArrayBase.from_list(i32, [int(number) for number in listed.split(",") if number.strip()])

    def print(self, printer: ModulePrinter, value: Attribute) -> None:
        printer.glued(f"[{', '.join(map(str, cast('DenseArrayBase[IntegerType]', value).get_values()))}]")


class PointerTypeCodec:
    """`!tt.ptr<f16> ->`, which some releases write before the type of the elements; stored as the type."""

    def begins(self, parser: ModuleParser) -> bool:
        return _POINTER_TYPE.match(parser.text, parser.at) is not None

    def parse(self, parser: ModuleParser) -> Attribute:
        type_ = parser.value_type()
        parser.need("->")
        return type_

    def print(self, printer: ModulePrinter, value: Attribute) -> None:
        printer.word(f"{printer.type_text(value)} ->")


class TextCodec:
    """A string literal."""

    def begins(self, parser: ModuleParser) -> bool:
        return parser.sees('"')

    def parse(self, parser: ModuleParser) -> Attribute:
        value = parser.attribute()
        if not isinstance(value, StringAttr):
            parser.fail("a string is expected")
        return value

    def print(self, printer: ModulePrinter, value: Attribute) -> None:
        printer.word(printer.attribute_text(value))


class SymbolCodec:
    """`@name`"""

    def begins(self, parser: ModuleParser) -> bool:
        return parser.sees("@")

    def parse(self, parser: ModuleParser) -> Attribute:
        return SymbolRefAttr(parser.symbol())

    def print(self, printer: ModulePrinter, value: Attribute) -> None:
        printer.word(printer.attribute_text(value))


class FlagCodec:
    """A unit attribute that a keyword before it stands for."""

    def begins(self, parser: ModuleParser) -> bool:
        return True

    def parse(self, parser: ModuleParser) -> Attribute:
        return UnitAttr()

    def print(self, printer: ModulePrinter, value: Attribute) -> None:
        return None


class AnyCodec:
    """Any attribute, in its own notation, with its type."""

    def begins(self, parser: ModuleParser) -> bool:
        return True

    def parse(self, parser: ModuleParser) -> Attribute:
        return parser.attribute()

    def print(self, printer: ModulePrinter, value: Attribute) -> None:
        printer.word(printer.attribute_text(value))


@dataclass(frozen=True)
class MaskCodec:
    """Keywords of a bit mask joined by `|`; stored as an integer."""

    enum: Enum

    def begins(self, parser: ModuleParser) -> bool:
        return True

    def parse(self, parser: ModuleParser) -> Attribute:
        match = parser.expect_pattern(_MASK, f"a {self.enum.name}")
        value = 0
        for word in match[1].split("|"):
            if word.strip() not in self.enum.values:
                parser.fail(f"{word.strip()!r} is not a {self.enum.name}", match.start(1))
            value |= self.enum.values[word.strip()]
        return parser.integer(value, 32)

    def print(self, printer: ModulePrinter, value: Attribute) -> None:
        number = cast("IntegerAttr[IntegerType]", value).value.data
        whole = self.enum.keywords.get(number)
        bits = [word for word, bit in self.enum.values.items() if bit & number and bit.bit_count() == 1]
        printer.word(whole or "|".join(bits))


@dataclass(frozen=True)
class BitsCodec:
    """`<flag, flag>` after a keyword, such as `fastmath<nnan, contract>`; `build` takes the flags' names."""

    build: Callable[[list[str]], Attribute]
    names: Callable[[Attribute], list[str]]
    separator: str = ","

    def begins(self, parser: ModuleParser) -> bool:
        return parser.sees("<")

    def parse(self, parser: ModuleParser) -> Attribute:
        match = parser.expect_pattern(_FLAGS, "'<'")
        try:
            return self.build([flag.strip() for flag in match[1].split(",")])
        except ValueError:
            parser.fail(f"unknown flag in <{match[1]}>", match.start())

    def print(self, printer: ModulePrinter, value: Attribute) -> None:
        printer.glued(f"<{self.separator.join(self.names(value))}>")
