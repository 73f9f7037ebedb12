"""The assembly format of an op: one string that is both its parser and its printer.

The notation is the one MLIR's operation definitions use, so a format can be checked against them:

    `text`                  punctuation or a keyword
    $name                   an operand (or a list of them), or an attribute with a codec
    type($name)             the type of an operand or result (a list where there are several)
    short-type($name)       the same without the dialect's name: `<f16>` for `!tt.ptr<f16>`
    functional-type(a, b)   `(types of a) -> types of b`; `operands` and `results` mean all of them
    operands, type(operands)
    attr-dict               the attributes that the format does not print elsewhere
    ( ... $name^ ... )?     printed where the anchor `$name` is present, parsed where its first element matches
    oilist( ... | ... )     optional clauses, each begun by a keyword, in any order

Types that a format does not print are found by `Rule`s from those it does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from xdsl.dialects.builtin import DenseArrayBase, i32
from xdsl.ir import Attribute, Operation, ParametrizedAttribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    OptOperandDef,
    OptResultDef,
    VarOperandDef,
    VarResultDef,
)

if TYPE_CHECKING:
    from harness.ir.codecs import Codec
    from harness.ir.parser import ModuleParser, Use
    from harness.ir.printer import ModulePrinter


@dataclass(frozen=True)
class Rule:
    """The type is `derive(type of source)`; with no `derive` it is the same type."""

    source: str
    derive: Callable[[Attribute], Attribute] | None = None


Types = Mapping[str, "Rule | Attribute"]


class OpSyntax(Protocol):
    """How an op is read and printed. `Syntax` is the declarative kind; ops with a syntax of their own
    (functions, loops, branches) bring two functions."""

    def parse(self, parser: ModuleParser, op_type: type[Operation]) -> Operation: ...

    def print(self, printer: ModulePrinter, op: Operation) -> None: ...


@dataclass(frozen=True)
class CustomSyntax:
    """A syntax given as two functions. What follows the op's name is theirs."""

    parse: Callable[[ModuleParser, type[Operation]], Operation]
    print: Callable[[ModulePrinter, Operation], None]


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

    def present(self, op: Operation, syntax: Syntax) -> bool: ...

    def print(self, printer: ModulePrinter, op: Operation, syntax: Syntax) -> None: ...


_SPACELESS_BEFORE = frozenset(",)]>")
_SPACELESS_AFTER = frozenset("([")


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

    def present(self, op: Operation, syntax: Syntax) -> bool:
        return True

    def print(self, printer: ModulePrinter, op: Operation, syntax: Syntax) -> None:
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

    def present(self, op: Operation, syntax: Syntax) -> bool:
        return bool(syntax.operands(op, self.name))

    def print(self, printer: ModulePrinter, op: Operation, syntax: Syntax) -> None:
        printer.word(printer.values(syntax.operands(op, self.name)))


class AllOperands:
    """`operands`: every operand, comma-separated."""

    def parse(self, parser: ModuleParser, parsed: Parsed) -> None:
        parsed.operands["operands"] = parser.uses()

    def begins(self, parser: ModuleParser) -> bool:
        return parser.sees_value()

    def present(self, op: Operation, syntax: Syntax) -> bool:
        return bool(op.operands)

    def print(self, printer: ModulePrinter, op: Operation, syntax: Syntax) -> None:
        printer.word(printer.values(op.operands))


class AllOperandTypes:
    """`type(operands)`: one type per operand."""

    def parse(self, parser: ModuleParser, parsed: Parsed) -> None:
        parsed.types["operands"] = parser.value_types()

    def begins(self, parser: ModuleParser) -> bool:
        return True

    def present(self, op: Operation, syntax: Syntax) -> bool:
        return bool(op.operands)

    def print(self, printer: ModulePrinter, op: Operation, syntax: Syntax) -> None:
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

    def present(self, op: Operation, syntax: Syntax) -> bool:
        value = op.properties.get(self.name)
        return value is not None and value != syntax.defaults.get(self.name)

    def print(self, printer: ModulePrinter, op: Operation, syntax: Syntax) -> None:
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
        return True

    def present(self, op: Operation, syntax: Syntax) -> bool:
        return bool(syntax.types_of(op, self.name))

    def print(self, printer: ModulePrinter, op: Operation, syntax: Syntax) -> None:
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

    def present(self, op: Operation, syntax: Syntax) -> bool:
        return True

    def print(self, printer: ModulePrinter, op: Operation, syntax: Syntax) -> None:
        (type_,) = syntax.types_of(op, self.name)
        printer.word(printer.type_text(type_).removeprefix(f"!{self.kind.name}"))


class FunctionalType:
    """`(types) -> types` of all operands and all results."""

    def parse(self, parser: ModuleParser, parsed: Parsed) -> None:
        parsed.types["operands"], parsed.types["results"] = parser.functional_type()

    def begins(self, parser: ModuleParser) -> bool:
        return True

    def present(self, op: Operation, syntax: Syntax) -> bool:
        return True

    def print(self, printer: ModulePrinter, op: Operation, syntax: Syntax) -> None:
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

    def present(self, op: Operation, syntax: Syntax) -> bool:
        return True

    def print(self, printer: ModulePrinter, op: Operation, syntax: Syntax) -> None:
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

    def present(self, op: Operation, syntax: Syntax) -> bool:
        return self.anchor.present(op, syntax)

    def print(self, printer: ModulePrinter, op: Operation, syntax: Syntax) -> None:
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

    def present(self, op: Operation, syntax: Syntax) -> bool:
        return True

    def print(self, printer: ModulePrinter, op: Operation, syntax: Syntax) -> None:
        for clause in self.clauses:
            if all(element.present(op, syntax) for element in clause):
                for element in clause:
                    element.print(printer, op, syntax)


@dataclass(frozen=True)
class Segment:
    """One operand or result group of an op, in the order of its definition."""

    name: str
    optional: bool
    variadic: bool


@dataclass
class Syntax:
    """A declarative format for `op_type`.

    types   rules for the operands and results whose type the format does not print
    codecs  how each attribute that the format names is written
    kinds   the kind of each type that the format prints short
    """

    op_type: type[IRDLOperation]
    format: str
    types: Types = field(default_factory=dict)
    codecs: Mapping[str, Codec] = field(default_factory=dict)
    kinds: Mapping[str, type[ParametrizedAttribute]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        definition = self.op_type.get_irdl_definition()
        self.operand_segments = [
            Segment(name, isinstance(kind, OptOperandDef), isinstance(kind, VarOperandDef) and not isinstance(kind, OptOperandDef))
            for name, kind in definition.operands
        ]
        self.result_segments = [
            Segment(name, isinstance(kind, OptResultDef), isinstance(kind, VarResultDef) and not isinstance(kind, OptResultDef))
            for name, kind in definition.results
        ]
        self.property_names = frozenset(definition.properties)
        self.defaults: dict[str, Attribute] = {
            name: kind.default_value
            for name, kind in definition.properties.items()
            if getattr(kind, "default_value", None) is not None
        }
        self.sized = any(isinstance(option, AttrSizedOperandSegments) for option in definition.options)
        self._sizes: dict[tuple[int, ...], Attribute] = {}
        self._printed: set[str] = {"operandSegmentSizes"}
        self.elements = _FormatReader(self.format, self).read()

    # Reading

    def parse(self, parser: ModuleParser, op_type: type[Operation]) -> Operation:
        parsed = Parsed()
        for element in self.elements:
            element.parse(parser, parsed)
        operands = self._operands(parser, parsed)
        results = parsed.types.get("results") or self._result_types(parser, parsed)
        if parsed.attributes:
            self._sort_attributes(parsed)
        return op_type.create(
            operands=operands, result_types=results, properties=parsed.properties, attributes=parsed.attributes
        )

    def _operands(self, parser: ModuleParser, parsed: Parsed) -> list:
        all_types = parsed.types.get("operands")
        if all_types is not None:
            return self._listed_operands(parser, parsed, all_types)
        values = []
        sizes = []
        for segment in self.operand_segments:
            uses = parsed.operands.get(segment.name, ())
            sizes.append(len(uses))
            if not uses:
                continue
            types = parsed.types.get(segment.name) or [self._derived(parser, parsed, segment.name)] * len(uses)
            if len(types) != len(uses):
                parser.fail(f"{len(uses)} operands but {len(types)} types")
            for use, type_ in zip(uses, types, strict=True):
                values.append(parser.resolve(use, type_))
        if self.sized:
            parsed.properties["operandSegmentSizes"] = self._segment_sizes(tuple(sizes))
        return values

    def _listed_operands(self, parser: ModuleParser, parsed: Parsed, types: list[Attribute]) -> list:
        uses = parsed.operands.get("operands")
        if uses is None:
            uses = [use for segment in self.operand_segments for use in parsed.operands.get(segment.name, ())]
        if len(types) != len(uses):
            parser.fail(f"{len(uses)} operands but {len(types)} types")
        if self.sized:
            sizes = tuple(len(parsed.operands.get(segment.name, ())) for segment in self.operand_segments)
            parsed.properties["operandSegmentSizes"] = self._segment_sizes(sizes)
        return [parser.resolve(use, type_) for use, type_ in zip(uses, types, strict=True)]

    def _segment_sizes(self, sizes: tuple[int, ...]) -> Attribute:
        if sizes not in self._sizes:
            self._sizes[sizes] = DenseArrayBase.from_list(i32, sizes)
        return self._sizes[sizes]

    def _result_types(self, parser: ModuleParser, parsed: Parsed) -> list[Attribute]:
        types: list[Attribute] = []
        for segment in self.result_segments:
            given = parsed.types.get(segment.name)
            if given is not None:
                types += given
            elif segment.name in self.types:
                types.append(self._derived(parser, parsed, segment.name))
        return types

    def _derived(self, parser: ModuleParser, parsed: Parsed, name: str) -> Attribute:
        rule = self.types[name]
        if not isinstance(rule, Rule):
            return rule
        source = parsed.types.get(rule.source)
        known = source[0] if source else self._derived(parser, parsed, rule.source)
        return known if rule.derive is None else parser.derived(rule.derive, known)

    def _sort_attributes(self, parsed: Parsed) -> None:
        """Moves what the definition calls a property out of the attributes."""
        for name in self.property_names & parsed.attributes.keys():
            parsed.properties[name] = parsed.attributes.pop(name)

    # Printing

    def print(self, printer: ModulePrinter, op: Operation) -> None:
        for element in self.elements:
            element.print(printer, op, self)

    def operands(self, op: Operation, name: str) -> Sequence:
        value = getattr(op, name)
        if value is None:
            return ()
        return value if isinstance(value, (tuple, list)) else (value,)

    def types_of(self, op: Operation, name: str) -> list[Attribute]:
        value = getattr(op, name)
        if value is None:
            return []
        values = value if isinstance(value, (tuple, list)) else (value,)
        return [item.type for item in values]

    def unprinted(self, op: Operation) -> dict[str, Attribute]:
        """The attributes left for `attr-dict`: not printed elsewhere and not at their default."""
        left = {
            name: value
            for name, value in op.properties.items()
            if name not in self._printed and value != self.defaults.get(name)
        }
        return left | op.attributes


class _FormatReader:
    """Turns the format string into elements, once per op at import of its dialect."""

    TOKEN = re.compile(
        r"\s*(?:`(?P<literal>[^`]*)`|(?P<functional>functional-type)\([^()]*\)|(?P<alltypes>type\(operands\))"
        r"|short-type\(\$(?P<short>\w+)\)|type\(\$(?P<type>\w+)\)|(?P<keyworddict>attr-dict-with-keyword)|(?P<dict>attr-dict)|(?P<oilist>oilist\()"
        r"|\$(?P<name>\w+)|(?P<operands>operands)|(?P<mark>\)\?|[()^|]))"
    )

    def __init__(self, text: str, syntax: Syntax) -> None:
        self.text = text.strip()
        self.syntax = syntax
        self.at = 0
        self.mark = ""

    def read(self) -> list[Element]:
        elements, _ = self._sequence()
        return elements

    def _sequence(self) -> tuple[list[Element], Element | None]:
        """Elements up to a closing mark, which is left in `self.mark`; and the anchored one."""
        elements: list[Element] = []
        anchor: Element | None = None
        while self.at < len(self.text):
            match = self.TOKEN.match(self.text, self.at)
            if match is None:
                raise ValueError(f"{self.syntax.op_type.name}: cannot read its format at {self.text[self.at:]!r}")
            self.at = match.end()
            self.mark = match["mark"] or ""
            if self.mark == "^":
                anchor = elements[-1]
            elif self.mark == "(":
                inner, inner_anchor = self._sequence()
                elements.append(Group(inner, inner_anchor or inner[0]))
            elif self.mark:
                break
            else:
                elements.append(self._element(match))
        return elements, anchor

    def _element(self, match: re.Match[str]) -> Element:
        if match["literal"] is not None:
            return Literal(match["literal"])
        if match["name"]:
            return self._named(match["name"])
        if match["type"]:
            return TypeElement(match["type"], self._variadic(match["type"]))
        if match["short"]:
            return ShortTypeElement(match["short"], self.syntax.kinds[match["short"]])
        if match["oilist"]:
            return self._any_order()
        if match["functional"]:
            return FunctionalType()
        if match["operands"]:
            return AllOperands()
        if match["alltypes"]:
            return AllOperandTypes()
        return AttributeDictionary(keyword=match["keyworddict"] is not None)

    def _any_order(self) -> Element:
        clauses = []
        self.mark = "|"
        while self.mark == "|":
            clause, _ = self._sequence()
            clauses.append(clause)
        return AnyOrder(clauses)

    def _named(self, name: str) -> Element:
        codec = self.syntax.codecs.get(name)
        if codec is None:
            return OperandElement(name, self._variadic(name))
        self.syntax._printed.add(name)
        return AttributeElement(name, codec)

    def _variadic(self, name: str) -> bool:
        segments = (*self.syntax.operand_segments, *self.syntax.result_segments)
        for segment in segments:
            if segment.name == name:
                return segment.variadic
        raise ValueError(f"{self.syntax.op_type.name}: its format names {name!r}, which it does not have")
