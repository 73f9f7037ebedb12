"""Source locations: reading them, and telling the kernel's line from one.

A location is a file position, a name around one, a call site (callee at caller), or several fused ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, TypeVar, cast, get_args

from xdsl.dialects.builtin import (
    ArrayAttr,
    CallSiteLoc,
    FileLineColLoc,
    FusedLoc,
    NameLoc,
    NoneAttr,
    StringAttr,
    UnknownLoc,
)
from xdsl.ir import Attribute, Operation, ParametrizedAttribute
from xdsl.utils.lexer import Input
from xdsl.utils.mlir_lexer import StringLiteral

from harness.cases.location import SourceLocation
from harness.ir import plain
from harness.ir.lexemes import ALIAS_NAME, QUOTED

if TYPE_CHECKING:
    from harness.ir.reader import Reader

Location = UnknownLoc | FileLineColLoc | NameLoc | CallSiteLoc | FusedLoc
_KINDS = frozenset(get_args(Location))

_LOC = re.compile(r"\s*loc\(")
_ALIAS = re.compile(rf"\s*(#{ALIAS_NAME})")
_OP_ALIAS = re.compile(rf"\s*loc\((#{ALIAS_NAME})\)")
_TEXT = re.compile(rf"\s*({QUOTED})")
_SIMPLE = re.compile(
    rf"\s*loc\((?:({QUOTED})(?::(\d+):(\d+)|\((#{ALIAS_NAME})\))?"
    rf"|callsite\((#{ALIAS_NAME}) at (#{ALIAS_NAME})\))\)"
)
_POSITION = re.compile(r":(\d+):(\d+)(?:\s+to\s+(?:\d+)?:\d+)?")
_WORD = re.compile(r"\s*(unknown|callsite|fused)\b")
# Frames of Triton's own library (tl.sum and the like) are not the user's line.
_LIBRARY = re.compile(r"[/\\]triton[/\\](language|experimental|_internal_testing)[/\\]|triton_helpers\.py$")


class LocationReader:
    """Reads `loc(...)` for one parser."""

    def __init__(self, parser: Reader) -> None:
        self._parser = parser
        self._strings: dict[str, StringAttr] = {}
        self._none = NoneAttr()
        self.unknown = UnknownLoc()

    def optional(self) -> Location | None:
        """The location that comes next, or None. Most are aliases."""
        parser = self._parser
        match = _OP_ALIAS.match(parser.text, parser.at)
        if match is not None:
            parser.at = match.end()
            return self._alias(match[1], match.start(1))
        return self.read() if _LOC.match(parser.text, parser.at) else None

    def read(self) -> Location:
        """`loc(...)`"""
        match = _SIMPLE.match(self._parser.text, self._parser.at)
        if match is not None:
            return self._simple(match)
        self._parser.expect_pattern(_LOC, "a location")
        location = self._body()
        self._parser.need(")")
        return location

    def _simple(self, match: re.Match[str]) -> Location:
        """Nearly all locations are of these three kinds, and made of aliases."""
        self._parser.at = match.end()
        text, line, column, named, callee, caller = match.groups()
        if line is not None:
            return self._position(text, int(line), int(column))
        if named is not None:
            return _built(NameLoc, self._string(text), self._alias(named, match.start(4)))
        if text is not None:
            return _built(NameLoc, self._string(text), self._none)
        parts = self._alias(callee, match.start(5)), self._alias(caller, match.start(6))
        return _built(CallSiteLoc, *parts)

    def _position(self, quoted: str, line: int, column: int) -> Location:
        return _built(FileLineColLoc, self._string(quoted), plain.index(line), plain.index(column))

    def here(self, at: int) -> Location:
        """The location of an op that states none: its place in the IR text."""
        place = self._parser.place(at)
        file = self._string(f'"{place.file}"', place.file)
        return _built(FileLineColLoc, file, plain.index(place.line), plain.index(place.column))

    def _body(self) -> Location:
        parser = self._parser
        if (match := _ALIAS.match(parser.text, parser.at)) is not None:
            parser.at = match.end()
            return self._alias(match[1], match.start(1))
        if (match := _TEXT.match(parser.text, parser.at)) is not None:
            parser.at = match.end()
            return self._after_text(match[1])
        if (match := _WORD.match(parser.text, parser.at)) is not None:
            parser.at = match.end()
            return self._word(match[1])
        raise parser.error("a location is expected")

    def _alias(self, name: str, at: int) -> Location:
        location = self._parser.alias(name, at)
        if type(location) not in _KINDS:  # their metaclass makes isinstance slow
            self._parser.fail(f"{name} is not a location", at)
        return cast(Location, location)

    def _after_text(self, quoted: str) -> Location:
        parser = self._parser
        match = _POSITION.match(parser.text, parser.at)
        if match is not None:
            parser.at = match.end()
            return self._position(quoted, int(match[1]), int(match[2]))
        if not parser.accept("("):
            return _built(NameLoc, self._string(quoted), self._none)
        inner = self._body()
        parser.need(")")
        return _built(NameLoc, self._string(quoted), inner)

    def _word(self, word: str) -> Location:
        if word == "unknown":
            return self.unknown
        if word == "callsite":
            return self._call_site()
        return self._fused()

    def _call_site(self) -> Location:
        parser = self._parser
        parser.need("(")
        callee = self._body()
        parser.need("at")
        caller = self._body()
        parser.need(")")
        return _built(CallSiteLoc, callee, caller)

    def _fused(self) -> Location:
        parser = self._parser
        metadata: Attribute = NoneAttr()
        if parser.accept("<"):
            metadata = parser.attribute()
            parser.need(">")
        parser.need("[")
        found = [self._body()]
        while parser.accept(","):
            found.append(self._body())
        parser.need("]")
        return FusedLoc(ArrayAttr(found), metadata)

    def _string(self, quoted: str, text: str | None = None) -> StringAttr:
        known = self._strings.get(quoted)
        if known is None:
            text = _unquoted(quoted) if text is None else text
            known = self._strings[quoted] = StringAttr(text)
        return known


_FIELDS: dict[type[ParametrizedAttribute], tuple[str, ...]] = {
    FileLineColLoc: ("filename", "line", "column"),
    NameLoc: ("desc", "location"),
    CallSiteLoc: ("callee", "caller"),
}


L = TypeVar("L", bound=ParametrizedAttribute)


def _built(kind: type[L], *values: Attribute) -> L:
    """The attribute, without xDSL's verification of its parameters: they are right by construction, and
    checking them was a quarter of the time a module takes to read."""
    location = object.__new__(kind)
    for name, value in zip(_FIELDS[kind], values, strict=True):
        object.__setattr__(location, name, value)
    return location


def _unquoted(quoted: str) -> str:
    if "\\" not in quoted:
        return quoted[1:-1]
    return StringLiteral(0, len(quoted), Input(quoted, "")).string_contents


def source_location(op: Operation) -> SourceLocation | None:
    """The user's line an op came from; None where the IR does not know.

    Through names, call sites and fused locations. Of the frames of an inlined call it is the innermost
    that is not in Triton's own library: `tl.sum(x)` is the line that says so, not a line of standard.py.
    """
    return location_of(op.location)


def location_of(location: Attribute) -> SourceLocation | None:
    """As `source_location`, of a location attribute."""
    frames = list(_frames(location))
    for frame in frames:
        if not _LIBRARY.search(frame.file):
            return frame
    return frames[-1] if frames else None


def _position(location: FileLineColLoc) -> SourceLocation:
    """Triton counts the columns of Python from 0, MLIR those of its own text from 1."""
    file = location.filename.data
    first = 0 if file.endswith(".mlir") else 1
    return SourceLocation(file, location.line.data, location.column.data + first)


def _frames(location: Attribute) -> Iterator[SourceLocation]:
    """File positions, innermost call first."""
    if isinstance(location, FileLineColLoc):
        yield _position(location)
    for part in parts_of(location):
        yield from _frames(part)


def parts_of(location: Attribute) -> tuple[Attribute, ...]:
    """The locations that a location is made of; of a call site the callee comes first."""
    if isinstance(location, NameLoc):
        return () if isinstance(location.location, NoneAttr) else (location.location,)
    if isinstance(location, CallSiteLoc):
        return location.callee, location.caller
    if isinstance(location, FusedLoc) and isinstance(location.locations, ArrayAttr):
        return tuple(location.locations)
    return ()
