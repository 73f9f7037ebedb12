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
    custom<Name>            an element of the op's own

Types that a format does not print are found by `Rule`s from those it does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from xdsl.dialects.builtin import UNKNOWN_LOC, DenseArrayBase, i32
from xdsl.ir import Attribute, Operation, ParametrizedAttribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    OptOperandDef,
    OptResultDef,
    VarOperandDef,
    VarResultDef,
)

from harness.ir.elements import (
    AllOperands,
    AllOperandTypes,
    AnyOrder,
    AttributeDictionary,
    AttributeElement,
    Element,
    FunctionalType,
    Group,
    Literal,
    OperandElement,
    Parsed,
    ShortTypeElement,
    TypeElement,
)

if TYPE_CHECKING:
    from harness.ir.codecs import Codec
    from harness.ir.parser import ModuleParser
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

    @property
    def parse(self) -> Callable[[ModuleParser, type[Operation]], Operation]: ...

    @property
    def print(self) -> Callable[[ModulePrinter, Operation], None]: ...


@dataclass(frozen=True)
class CustomSyntax:
    """A syntax given as two functions. What follows the op's name is theirs."""

    parse: Callable[[ModuleParser, type[Operation]], Operation]
    print: Callable[[ModulePrinter, Operation], None]


@dataclass(frozen=True)
class Segment:
    """One operand or result group of an op, in the order of its definition."""

    name: str
    optional: bool
    variadic: bool


def _segment(name: str, kind: object) -> Segment:
    optional = isinstance(kind, (OptOperandDef, OptResultDef))
    return Segment(name, optional, isinstance(kind, (VarOperandDef, VarResultDef)) and not optional)


@dataclass
class Syntax:
    """A declarative format for `op_type`.

    types   rules for the operands and results whose type the format does not print
    codecs  how each attribute that the format names is written
    kinds   the kind of each type that the format prints short
    customs the elements of the op's own
    """

    op_type: type[IRDLOperation]
    format: str
    types: Types = field(default_factory=dict)
    codecs: Mapping[str, Codec] = field(default_factory=dict)
    kinds: Mapping[str, type[ParametrizedAttribute]] = field(default_factory=dict)
    customs: Mapping[str, Element] = field(default_factory=dict)

    def __post_init__(self) -> None:
        definition = self.op_type.get_irdl_definition()
        self.operand_segments = [_segment(name, kind) for name, kind in definition.operands]
        self.result_segments = [_segment(name, kind) for name, kind in definition.results]
        self.property_names = frozenset(definition.properties)
        self.defaults: dict[str, Attribute] = {
            name: default for name, kind in definition.properties.items() if (default := kind.default_value) is not None
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
            operands=operands,
            result_types=results,
            properties=parsed.properties,
            attributes=parsed.attributes,
            location=UNKNOWN_LOC,  # until its own is read: xDSL would look this one up with an import
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
                types += self._derived_all(parser, parsed, segment)
        return types

    def _derived_all(self, parser: ModuleParser, parsed: Parsed, segment: Segment) -> list[Attribute]:
        """A list of results has the types of the list that its rule names."""
        rule = self.types[segment.name]
        if segment.variadic and isinstance(rule, Rule):
            return parsed.types.get(rule.source, [])
        return [self._derived(parser, parsed, segment.name)]

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
        r"|custom<(?P<custom>\w+)>|\$(?P<name>\w+)|(?P<operands>operands)|(?P<mark>\)\?|[()^|]))"
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
                raise ValueError(f"{self.syntax.op_type.name}: cannot read its format at {self.text[self.at :]!r}")
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
        if match["custom"]:
            return self.syntax.customs[match["custom"]]
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
