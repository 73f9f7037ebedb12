"""The elements an assembly format is made of; each reads and prints its piece."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from xdsl.ir import Attribute, Operation, ParametrizedAttribute, SSAValue

if TYPE_CHECKING:
    from collections.abc import Mapping

    from harness.ir.codecs import Codec
    from harness.ir.parser import ModuleParser
    from harness.ir.printer import ModulePrinter
    from harness.ir.reader import Use


class OpShape(Protocol):
    """What an element asks about the op it belongs to."""

    @property
    def defaults(self) -> Mapping[str, Attribute]: ...

    def operands(self, op: Operation, name: str) -> Sequence[SSAValue]: ...

    def types_of(self, op: Operation, name: str) -> list[Attribute]: ...

    def unprinted(self, op: Operation) -> dict[str, Attribute]: ...


class Parsed:
    """What the elements of a format have read of one op so far."""

    __slots__ = ("attributes", "operands", "properties", "types")

    def __init__(self) -> None:
        self.operands: dict[str, list[Use]] = {}
        self.types: dict[str, list[Attribute]] = {}
        self.properties: dict[str, Attribute] = {}
        self.attributes: dict[str, Attribute] = {}


class Element(Protocol):
    def parse(self, parser: ModuleParser, parsed: Parsed) -> None: ...

    def begins(self, parser: ModuleParser) -> bool:
        """Whether the text goes on with this element; consumes nothing."""
        ...

    def present(self, op: Operation, syntax: OpShape) -> bool: ...

    def print(self, printer: ModulePrinter, op: Operation, syntax: OpShape) -> None: ...


class Literal:
    """Punctuation or a keyword."""

    def __init__(self, text: str) -> None:
        self.text = text
        boundary = r"(?![\w$.])" if text[-1].isalnum() else ""
        self.pattern = re.compile(rf"\s*{re.escape(text)}{boundary}")

    def parse(self, parser: ModuleParser, parsed: Parsed) -> None:
        parser.expect_pattern(self.pattern, self.text)

    def begins(self, parser: ModuleParser) -> bool:
        return self.pattern.match(parser.text, parser.at) is not None

    def present(self, op: Operation, syntax: OpShape) -> bool:
        return True

    def print(self, printer: ModulePrinter, op: Operation, syntax: OpShape) -> None:
        printer.punctuation(self.text)


@dataclass(frozen=True)
class OperandElement:
    """`$name` of an operand; a comma-separated list where the op has a variable number."""

    name: str
    variadic: bool

    def parse(self, parser: ModuleParser, parsed: Parsed) -> None:
        parsed.operands[self.name] = parser.uses() if self.variadic else [parser.use()]

    def begins(self, parser: ModuleParser) -> bool:
        return parser.sees_value()

    def present(self, op: Operation, syntax: OpShape) -> bool:
        return bool(syntax.operands(op, self.name))

    def print(self, printer: ModulePrinter, op: Operation, syntax: OpShape) -> None:
        printer.word(printer.values(syntax.operands(op, self.name)))


class AllOperands:
    """`operands`: every operand, comma-separated."""

    def parse(self, parser: ModuleParser, parsed: Parsed) -> None:
        parsed.operands["operands"] = parser.uses()

    def begins(self, parser: ModuleParser) -> bool:
        return parser.sees_value()

    def present(self, op: Operation, syntax: OpShape) -> bool:
        return bool(op.operands)

    def print(self, printer: ModulePrinter, op: Operation, syntax: OpShape) -> None:
        printer.word(printer.values(op.operands))


class AllOperandTypes:
    """`type(operands)`: one type per operand."""

    def parse(self, parser: ModuleParser, parsed: Parsed) -> None:
        parsed.types["operands"] = parser.value_types()

    def begins(self, parser: ModuleParser) -> bool:
        return True

    def present(self, op: Operation, syntax: OpShape) -> bool:
        return bool(op.operands)

    def print(self, printer: ModulePrinter, op: Operation, syntax: OpShape) -> None:
        printer.word(printer.type_list([value.type for value in op.operands]))


@dataclass(frozen=True)
class AttributeElement:
    """`$name` of an attribute, in the notation of its codec."""

    name: str
    codec: Codec

    def parse(self, parser: ModuleParser, parsed: Parsed) -> None:
        parsed.properties[self.name] = self.codec.parse(parser)

    def begins(self, parser: ModuleParser) -> bool:
        return self.codec.begins(parser)

    def present(self, op: Operation, syntax: OpShape) -> bool:
        value = op.properties.get(self.name)
        return value is not None and value != syntax.defaults.get(self.name)

    def print(self, printer: ModulePrinter, op: Operation, syntax: OpShape) -> None:
        value = op.properties.get(self.name, syntax.defaults.get(self.name))
        if value is not None:
            self.codec.print(printer, value)


@dataclass(frozen=True)
class TypeElement:
    """`type($name)` of an operand or result."""

    name: str
    variadic: bool

    def parse(self, parser: ModuleParser, parsed: Parsed) -> None:
        parsed.types[self.name] = parser.value_types() if self.variadic else [parser.value_type()]

    def begins(self, parser: ModuleParser) -> bool:
        return parser.sees_type()

    def present(self, op: Operation, syntax: OpShape) -> bool:
        return bool(syntax.types_of(op, self.name))

    def print(self, printer: ModulePrinter, op: Operation, syntax: OpShape) -> None:
        printer.word(printer.type_list(syntax.types_of(op, self.name)))


@dataclass(frozen=True)
class ShortTypeElement:
    """`short-type($name)`: the parameters of a type whose kind the op fixes; the full type reads too."""

    name: str
    kind: type[ParametrizedAttribute]

    def parse(self, parser: ModuleParser, parsed: Parsed) -> None:
        parsed.types[self.name] = [parser.short_type(self.kind)]

    def begins(self, parser: ModuleParser) -> bool:
        return True

    def present(self, op: Operation, syntax: OpShape) -> bool:
        return True

    def print(self, printer: ModulePrinter, op: Operation, syntax: OpShape) -> None:
        (type_,) = syntax.types_of(op, self.name)
        printer.word(printer.type_text(type_).removeprefix(f"!{self.kind.name}"))


class FunctionalType:
    """`(types) -> types` of all operands and all results."""

    def parse(self, parser: ModuleParser, parsed: Parsed) -> None:
        parsed.types["operands"], parsed.types["results"] = parser.functional_type()

    def begins(self, parser: ModuleParser) -> bool:
        return True

    def present(self, op: Operation, syntax: OpShape) -> bool:
        return True

    def print(self, printer: ModulePrinter, op: Operation, syntax: OpShape) -> None:
        printer.functional_type(op)


@dataclass(frozen=True)
class AttributeDictionary:
    """`attr-dict`, with the keyword `attributes` before it where `keyword` is set."""

    keyword: bool = False

    def parse(self, parser: ModuleParser, parsed: Parsed) -> None:
        if self.keyword and not parser.accept("attributes"):
            return
        parser.attribute_dictionary(parsed.attributes)

    def begins(self, parser: ModuleParser) -> bool:
        return True

    def present(self, op: Operation, syntax: OpShape) -> bool:
        return True

    def print(self, printer: ModulePrinter, op: Operation, syntax: OpShape) -> None:
        printer.attribute_dictionary(syntax.unprinted(op), "attributes" if self.keyword else "")


@dataclass(frozen=True)
class Group:
    """`( ... )?`"""

    elements: Sequence[Element]
    anchor: Element

    def parse(self, parser: ModuleParser, parsed: Parsed) -> None:
        if not self.elements[0].begins(parser):
            return
        for element in self.elements:
            element.parse(parser, parsed)

    def begins(self, parser: ModuleParser) -> bool:
        return self.elements[0].begins(parser)

    def present(self, op: Operation, syntax: OpShape) -> bool:
        return self.anchor.present(op, syntax)

    def print(self, printer: ModulePrinter, op: Operation, syntax: OpShape) -> None:
        if not self.present(op, syntax):
            return
        for element in self.elements:
            element.print(printer, op, syntax)


@dataclass(frozen=True)
class AnyOrder:
    """`oilist( ... )`: clauses in any order, printed in the order of the format."""

    clauses: Sequence[Sequence[Element]]

    def parse(self, parser: ModuleParser, parsed: Parsed) -> None:
        while (clause := self._next(parser)) is not None:
            for element in clause:
                element.parse(parser, parsed)

    def _next(self, parser: ModuleParser) -> Sequence[Element] | None:
        return next((clause for clause in self.clauses if clause[0].begins(parser)), None)

    def begins(self, parser: ModuleParser) -> bool:
        return self._next(parser) is not None

    def present(self, op: Operation, syntax: OpShape) -> bool:
        return True

    def print(self, printer: ModulePrinter, op: Operation, syntax: OpShape) -> None:
        for clause in self.clauses:
            if all(element.present(op, syntax) for element in clause):
                for element in clause:
                    element.print(printer, op, syntax)
