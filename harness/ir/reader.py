"""Reading pieces of IR text: values, types, attributes, aliases, and the position in the text they share.

xDSL's own parser is right but costs 0.4 ms an op, most of it in one token object per character or two. Here the
text is read with regular expressions, and what repeats in a kernel (types, dictionaries, constants) is read
once and kept by its text. Everything below that level (attributes of all kinds, affine maps) is still
xDSL's: `delegate` hands the position over and takes it back.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, NoReturn, TypeVar

from xdsl.dialects.builtin import IntegerAttr, IntegerType, NoneAttr, StringAttr, TensorType
from xdsl.ir import Attribute, ParametrizedAttribute, SSAValue
from xdsl.parser import Parser
from xdsl.parser.core import ForwardDeclaredValue
from xdsl.utils.lexer import Input
from xdsl.utils.mlir_lexer import MLIRLexer

from harness.cases.location import SourceLocation
from harness.errors import ParseError, UnsupportedOp
from harness.ir import plain
from harness.ir.constants import SPLAT, BitsElement, splat
from harness.ir.lexemes import ALIAS_NAME, NAME, QUOTED
from harness.ir.locations import LocationReader, location_of
from harness.ir.registry import Registry

T = TypeVar("T")


class Use(NamedTuple):
    """A value where it is used: `%name` or `%name#result`, at `at` in the text."""

    name: str
    result: int
    at: int


_COMMENT = re.compile(rf"{QUOTED}|//[^\n]*")
_SPACE = re.compile(r"\s*")
_USE = re.compile(r"\s*%([\w$.-]+)(?:#(\d+))?")
_TYPE = re.compile(rf"\s*(!?{NAME})")
_BRACKET = re.compile(r"[<>\n]")
_TENSOR = re.compile(rf"tensor<((?:\d+x)+)([a-z]\w*|!tt\.ptr<[^<>,]*>)(?:, (#{ALIAS_NAME}))?>")
_NO_ENCODING = NoneAttr()
_ATTRIBUTE_NAME = re.compile(rf"#{ALIAS_NAME}")
_DICTIONARY = re.compile(rf'\s*(\{{(?:[^{{}}"\n]|{QUOTED})*\}})')
_CONSTANT = re.compile(r"\s*((?:true|false|-?[\w.+-]+ : \w+))(?=\s+loc\(|\s*\n)")
_SYMBOL = re.compile(rf'\s*@(?:({NAME})|"([^"\n]*)")')


class _Lexer(MLIRLexer):
    """xDSL's pattern for strings takes exponential time on one that is not closed; this one is linear."""

    _unescaped_characters_regex = re.compile(r'"(?:[^"\\\n\v\f]|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*"')


class Reader(Parser):
    """The text, and how far it has been read: `text` and `at`, an offset into it."""

    def __init__(self, registry: Registry, text: str, name: str) -> None:
        self.text = _blank_comments(text)
        self.at = 0
        self.file = name
        self.registry = registry
        self._line_starts: list[int] | None = None
        self._types: dict[str, Attribute] = {}
        self._texts: dict[str, Attribute] = {}
        self._dictionaries: dict[str, Mapping[str, Attribute]] = {}
        self._derived: dict[tuple[Callable[[Attribute], Attribute], int], tuple[Attribute, Attribute]] = {}
        self._integers: dict[tuple[int, int], Attribute] = {}
        self._aliases: dict[str, int] = {}
        self._alias_ends: dict[str, int] = {}
        self._alias_texts: dict[str, str] = {}
        self._plain_aliases = True
        super().__init__(registry.context(), "", name)
        # Nothing is lexed before `delegate` asks for it: the first token may be malformed too.
        self._parser_state.lexer = _Lexer(Input(self.text, name))
        self.locations = LocationReader(self)

    # Aliases: `#loc3 = loc(...)`, `#blocked = #ttg.blocked<...>`, `!type = ...`. They may be used before they are
    # defined, so their places are found first and each is read when it is first wanted.

    _ALIAS = re.compile(rf"^([#!]{ALIAS_NAME})[ \t]*=[ \t]*", re.MULTILINE)
    forward_at: dict[str, int]

    def find_aliases(self) -> None:
        self.forward_at = {}
        for match in self._ALIAS.finditer(self.text):
            if match[1] in self._aliases:
                self.fail(f"{match[1]} is defined twice", match.start())
            self._aliases[match[1]] = match.end()
        self._plain_aliases = not any(name[0] == "!" or "." in name for name in self._aliases)

    def skip_alias(self) -> None:
        match = self._ALIAS.match(self.text, self.at)
        if match is None:
            self.fail("an alias definition is expected")
        self.alias(match[1], self.at)
        self.at = self._alias_ends[match[1]]

    def alias(self, name: str, used_at: int) -> Attribute:
        """What the alias stands for."""
        known = self.attribute_aliases.get(name)
        if known is not None:
            return known
        start = self._aliases.pop(name, None)
        if start is None:
            self.fail(f"{name} is not defined, or is defined by itself", used_at)
        back = self.at
        self.at = start
        value = self.locations.read() if self.text.startswith("loc(", start) else self._definition(name)
        self._alias_ends[name] = self.at
        self.attribute_aliases[name] = value
        self.at = back
        return value

    def _definition(self, name: str) -> Attribute:
        """What an alias of an attribute or a type stands for."""
        end = self.line_end(self.at)
        key = self.without_aliases(self.text[self.at : end]) if self.text.startswith("#", self.at) else None
        known = None if key is None else self.registry.memo.attributes.get(key)
        if known is None:
            known = self.attribute()
            if key is None or not self._stopped_after(end):
                return known
            self.registry.memo.attributes.keep(key, known)
        self.at = end
        self._alias_texts[name] = str(key)
        return known

    def without_aliases(self, text: str) -> str | None:
        """The text with definitions for aliases, which means the same in every module; None where that is not sure."""
        if not self._plain_aliases:
            return None
        if "#" not in text:
            return text
        names = set() if '"' in text else set(_ATTRIBUTE_NAME.findall(text))
        # A name with a dialect is no alias; of an alias only a definition that fills a line is known by its text.
        if not names or any("." not in name and name not in self._alias_texts for name in names):
            return None
        return _ATTRIBUTE_NAME.sub(lambda match: self._alias_texts.get(match[0], match[0]), text)

    def _parse_extended_type_or_attribute(self, attr_or_dialect_name: str, is_type: bool):  # pyright: ignore
        """xDSL meets an alias here; one that is defined further down is read now."""
        name = ("!" if is_type else "#") + attr_or_dialect_name
        if name in self._aliases and name not in self.attribute_aliases:
            resume = self.pos
            self.alias(name, resume)
            self._resume_from(resume)
        return super()._parse_extended_type_or_attribute(attr_or_dialect_name, is_type)

    # Errors and places

    def error(self, what: str, at: int | None = None, hint: str = "") -> ParseError:
        """The error to raise about the text at an offset, or where reading stands."""
        return ParseError(what, self.place(self._next() if at is None else at), hint)

    def fail(self, what: str, at: int | None = None, hint: str = "") -> NoReturn:
        raise self.error(what, at, hint)

    def _next(self) -> int:
        """Where the next thing that is not space begins."""
        match = _SPACE.match(self.text, self.at)
        return match.end() if match else self.at

    def place(self, at: int) -> SourceLocation:
        """Line and column of an offset in the IR text."""
        if self._line_starts is None:
            self._line_starts = [0, *(match.end() for match in re.finditer("\n", self.text))]
        line = bisect.bisect_right(self._line_starts, at)
        return SourceLocation(self.file, line, at - self._line_starts[line - 1] + 1)

    def unsupported(self, what: str, at: int) -> UnsupportedOp:
        """The error to raise, at the kernel's line where the text still tells it, else at the IR's."""
        return UnsupportedOp(what, self._kernel_line(at) or self.place(at), "no definition in harness/ir/dialects")

    def _kernel_line(self, at: int) -> SourceLocation | None:
        line = self.text[at : self.line_end(at)]
        start = line.rfind(" loc(")
        if start < 0:
            return None
        self.at = at + start + 1
        return location_of(self.locations.read())

    # Handing over to xDSL and back

    def delegate(self, parse: Callable[[], T]) -> T:
        self._resume_from(self.at)
        value = parse()
        self.at = self.pos
        return value

    # Pieces of text

    def line_end(self, at: int) -> int:
        end = self.text.find("\n", at)
        return end if end >= 0 else len(self.text)

    def at_end(self) -> bool:
        self.at = self._next()
        return self.at >= len(self.text)

    def expect_pattern(self, pattern: re.Pattern[str], what: str) -> re.Match[str]:
        match = pattern.match(self.text, self.at)
        if match is None:
            self.fail(f"{what!r} is expected" if len(what) < 8 else f"{what} is expected")
        self.at = match.end()
        return match

    def accept(self, text: str) -> bool:
        """Consumes `text` if it comes next. A keyword must end there."""
        start = self._next()
        end = start + len(text)
        if not self.text.startswith(text, start):
            return False
        if text[-1].isalnum() and self.text[end : end + 1].isalnum():
            return False
        self.at = end
        return True

    def sees(self, text: str) -> bool:
        start = self._next()
        return self.text.startswith(text, start)

    def need(self, text: str) -> None:
        if not self.accept(text):
            self.fail(f"{text!r} is expected")

    def symbol(self) -> str:
        match = self.expect_pattern(_SYMBOL, "a symbol name")
        return match[1] or match[2]

    # Values

    def sees_value(self) -> bool:
        return _USE.match(self.text, self.at) is not None

    def use(self) -> Use:
        match = _USE.match(self.text, self.at)
        if match is None:
            self.fail("a value is expected")
        self.at = match.end()
        return Use(match[1], int(match[2]) if match[2] else 0, match.start(1) - 1)

    def uses(self) -> list[Use]:
        """A comma-separated list of values, maybe empty."""
        if not self.sees_value():
            return []
        found = [self.use()]
        while self._comma_then_value():
            found.append(self.use())
        return found

    _COMMA_VALUE = re.compile(r"\s*,(?=\s*%)")

    def _comma_then_value(self) -> bool:
        match = self._COMMA_VALUE.match(self.text, self.at)
        if match is None:
            return False
        self.at = match.end()
        return True

    def resolve(self, use: Use, type_: Attribute) -> SSAValue:
        """The value used, which must have this type."""
        values = self.ssa_values.get(use.name)
        if values is None:
            return self._forward(use, type_)
        if use.result >= len(values):
            self.fail(f"%{use.name} has {len(values)} results, not {use.result + 1}", use.at)
        value = values[use.result]
        if value.type is not type_ and value.type != type_:
            self.fail(f"%{use.name} has type {value.type} but is used as {type_}", use.at)
        return value

    def _forward(self, use: Use, type_: Attribute) -> SSAValue:
        self.forward_at.setdefault(use.name, use.at)
        references = self.forward_ssa_references.setdefault(use.name, {})
        if use.result not in references:
            references[use.result] = ForwardDeclaredValue(type_)
        return references[use.result]

    def define(self, name: str, values: Sequence[SSAValue], at: int) -> None:
        """Binds a name to the results or the argument it was written for."""
        if name in self.ssa_values:
            self.fail(f"%{name} is defined twice", at)
        self.ssa_values[name] = tuple(values)
        if not name.isdecimal():
            _hint(name, values)
        if name in self.forward_ssa_references:
            self._replace_forward(name, values, at)

    def _replace_forward(self, name: str, values: Sequence[SSAValue], at: int) -> None:
        for index, placeholder in self.forward_ssa_references.pop(name).items():
            if index >= len(values) or values[index].type != placeholder.type:
                self.fail(f"%{name} is used before its definition with another type", at)
            placeholder.replace_all_uses_with(values[index])

    # Types and attributes

    def value_type(self) -> Attribute:
        match = _TYPE.match(self.text, self.at)
        if match is None:
            return self.delegate(self.parse_type)
        start, end = match.start(1), self._type_end(match.end())
        key = self.text[start:end]
        known = self._types.get(key)
        if known is None:
            shared = self.without_aliases(key)
            known = None if shared is None else self.registry.memo.types.get(shared)
            if known is None:
                known = self._new_type(key, start)
                if not self._stopped_after(end):
                    return known
                if shared is not None:
                    self.registry.memo.types.keep(shared, known)
            self._types[key] = known
        self.at = end
        return known

    def _type_end(self, at: int) -> int:
        """Past the `<...>` that begins here, if one does. A guess: only a read that stops there is kept."""
        if not self.text.startswith("<", at):
            return at
        depth = 0
        for bracket in _BRACKET.finditer(self.text, at):
            depth += {"<": 1, ">": -1}.get(bracket[0], -depth)
            if depth == 0:
                return bracket.end()
        return at

    def _new_type(self, text: str, start: int) -> Attribute:
        """Tensors are most of a kernel's types; the rest is xDSL's."""
        if (scalar := plain.scalar_type(text)) is not None:
            self.at = start + len(text)
            return scalar
        tensor = _TENSOR.fullmatch(text)
        encoding = _NO_ENCODING if tensor is None or tensor[3] is None else self.attribute_aliases.get(tensor[3])
        if tensor is None or encoding is None:
            return self.delegate(self.parse_type)
        self.at = start + tensor.start(2)
        element = self.value_type()
        self.at = start + len(text)
        return plain.tensor(element, tuple(int(extent) for extent in tensor[1][:-1].split("x")), encoding)

    def _stopped_after(self, end: int) -> bool:
        """Whether a delegated read stopped where a pattern did; the position is then just after it."""
        if self.at != end and _SPACE.match(self.text, end).end() != self.at:  # pyright: ignore[reportOptionalMemberAccess]
            return False
        self.at = end
        return True

    def sees_type(self) -> bool:
        """Whether a type comes next; functions' types are never asked for."""
        return _TYPE.match(self.text, self.at) is not None

    def value_types(self) -> list[Attribute]:
        found = [self.value_type()]
        while self.accept(","):
            found.append(self.value_type())
        return found

    def short_type(self, kind: type[ParametrizedAttribute]) -> Attribute:
        """`<parameters>` of a type of this kind, or the whole type."""
        if not self.sees("<"):
            return self.value_type()
        return self.delegate(lambda: kind.new(kind.parse_parameters(self)))

    def functional_type(self) -> tuple[list[Attribute], list[Attribute]]:
        """`(types) -> type` or `(types) -> (types)`"""
        inputs = self.type_tuple()
        self.need("->")
        return inputs, self.result_types()

    def result_types(self) -> list[Attribute]:
        """One type, or several in parentheses."""
        return self.type_tuple() if self.sees("(") else [self.value_type()]

    def type_tuple(self) -> list[Attribute]:
        self.need("(")
        if self.accept(")"):
            return []
        found = self.value_types()
        self.need(")")
        return found

    def derived(self, derive: Callable[[Attribute], Attribute], source: Attribute) -> Attribute:
        """`derive(source)`, worked out once per type. The source is kept so that its id stays its own."""
        key = (derive, id(source))
        known = self._derived.get(key)
        if known is None:
            known = self._derived[key] = (derive(source), source)
        return known[0]

    def integer(self, value: int, width: int) -> Attribute:
        key = (value, width)
        if key not in self._integers:
            self._integers[key] = IntegerAttr(value, IntegerType(width))
        return self._integers[key]

    def integer_type(self, width: int) -> Attribute:
        return IntegerType(width)

    def string_attribute(self, text: str) -> Attribute:
        return StringAttr(text)

    def attribute(self) -> Attribute:
        if (match := SPLAT.match(self.text, self.at)) is not None:
            return self._splat(match)
        match = _CONSTANT.match(self.text, self.at)
        if match is None:
            return self.delegate(self.parse_attribute)
        known = self._texts.get(match[1])
        if known is None:
            known = plain.number(match[1])
        if known is not None:
            self.at = match.end()
            return known
        value = self.delegate(self.parse_attribute)
        if self._stopped_after(match.end()):
            self._texts[match[1]] = value
        return value

    def _splat(self, match: re.Match[str]) -> Attribute:
        """`dense<element> : tensor type`"""
        self.at = match.end()
        type_ = self.value_type()
        key = f"{match[1]}:{id(type_)}"
        known = self._texts.get(key)
        if known is None:
            known = self._texts[key] = self._new_splat(match, type_)
        return known

    def _new_splat(self, match: re.Match[str], type_: Attribute) -> Attribute:
        if not isinstance(type_, TensorType):
            self.fail(f"{type_} is not a tensor type", match.start())
        try:
            return splat(match[1], type_)
        except Exception as error:
            self.fail(f"{match[1]} is not a value of {type_}: {first_line(error)}", match.start(1))

    def _parse_tensor_literal_element(self):
        """xDSL meets an element of a dense literal here; hexadecimal ones are bits."""
        token = self._current_token
        element = super()._parse_tensor_literal_element()
        if not token.text.startswith("0x"):
            return element
        return BitsElement(element.is_negative, element.value, element.span)

    def attribute_dictionary(self, into: dict[str, Attribute]) -> None:
        """`{name = value, ...}`, if it comes next."""
        match = _DICTIONARY.match(self.text, self.at)
        if match is None:
            if self.sees("{"):
                into.update(self.delegate(self.parse_optional_attr_dict))
            return
        known = self._dictionaries.get(match[1])
        if known is None:
            known = self._dictionaries[match[1]] = self._new_dictionary(match[1])
        self.at = match.end()
        into.update(known)

    def _new_dictionary(self, text: str) -> Mapping[str, Attribute]:
        key = self.without_aliases(text)
        known = None if key is None else self.registry.memo.dictionaries.get(key)
        if known is None:
            known = plain.dictionary(text)
            if known is None:
                known = self.delegate(self.parse_optional_attr_dict)
            if key is not None:
                self.registry.memo.dictionaries.keep(key, known)
        return known


_UNIQUE = re.compile(r"(_\d+)+$")


def _hint(name: str, values: Sequence[SSAValue]) -> None:
    """Gives the values their written name, without the number that made it unique."""
    hint = _UNIQUE.sub("", name) or "_"
    if not SSAValue.is_valid_name(hint):
        return
    for value in values:
        value.name_hint = hint


def _blank_comments(text: str) -> str:
    """The text with spaces for comments, so that offsets stay and no pattern has to know of them."""
    if "//" not in text:
        return text
    return _COMMENT.sub(lambda match: match[0] if match[0][0] == '"' else " " * len(match[0]), text)


def first_line(error: Exception) -> str:
    text = getattr(error, "msg", None) or str(error) or type(error).__name__
    return str(text).strip().splitlines()[0]
