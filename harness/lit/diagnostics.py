"""What MLIR says on stderr, and what `-verify-diagnostics` makes of it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from harness.cases.location import SourceLocation

# What the pass manager of a wheel adds to any failure of a pass, and triton-opt does not.
REPRODUCER_PHRASES = ("Failures have been detected while processing an MLIR pass pipeline", "Pipeline failed while")

# What MLIR's verifier says; a pass that gives up by itself says anything else.
VERIFIER_PHRASES = (
    "does not dominate this use",
    "failed to verify",
    "requires the same",
    "requires the result type",
    "op operand #",
    "op result #",
    "block with no terminator",
    "expects parent op",
    "control flow edge",  # a region yields another number or type of values than its op gives
)

_DIAGNOSTIC = re.compile(
    r"(?:loc\(\"(?P<quoted>.*?)\":(?P<l1>\d+):(?P<c1>\d+)\)|(?P<file>[^\s:]+):(?P<l2>\d+):(?P<c2>\d+)|(?P<other>loc\(.*\)))"
    r": (?P<severity>error|warning|remark|note): (?P<text>.*)"
)
_EXPECTED = re.compile(
    r"expected-(?P<severity>error|warning|remark|note)(?P<regex>-re)? *"
    r"(?P<place>@(?:[+-]\d+|above|below|unknown))? *\{\{(?P<text>.*)\}\}\s*$"
)


@dataclass(frozen=True)
class Diagnostic:
    """line is 0 where the diagnostic has no place in a file."""

    severity: str
    text: str
    file: str = ""
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}: " if self.line else ""
        return f"{place}{self.severity}: {self.text}"


@dataclass(frozen=True)
class Expectation:
    """A comment such as `// expected-error @+1 {{text}}`; `line` is where the diagnostic must point, 0 for nowhere."""

    severity: str
    text: str
    line: int
    written: int
    is_regex: bool = False

    def accepts(self, diagnostic: Diagnostic) -> bool:
        if (self.severity, self.line) != (diagnostic.severity, diagnostic.line):
            return False
        if self.is_regex:
            return re.search(self._pattern(), diagnostic.text) is not None
        return self.text in diagnostic.text

    def _pattern(self) -> str:
        """`-re`: literal text with regular expressions in double braces."""
        parts = re.split(r"\{\{(.*?)\}\}", self.text)
        return "".join(part if index % 2 else re.escape(part) for index, part in enumerate(parts))


def diagnostics_of(log: str) -> list[Diagnostic]:
    """The diagnostics in what the compiler wrote to stderr, in order."""
    found = []
    for match in map(_DIAGNOSTIC.match, log.splitlines()):
        if match is None:
            continue
        file = match["quoted"] or match["file"] or ""
        line, column = int(match["l1"] or match["l2"] or 0), int(match["c1"] or match["c2"] or 0)
        found.append(Diagnostic(match["severity"], match["text"], file, line, column))
    return found


def expectations_of(text: str, first_line: int = 1) -> list[Expectation]:
    """The `expected-...` comments of a piece of a file that begins at `first_line`.

    `above` and `below` are the nearest lines that hold no expectation themselves.
    """
    lines = text.splitlines()
    plain = [number for number, line in enumerate(lines) if not _EXPECTED.search(line)]
    found = []
    for number, line in enumerate(lines):
        match = _EXPECTED.search(line)
        if match is None:
            continue
        target = _target(match["place"] or "", number, plain)
        place = 0 if target is None else target + first_line
        found.append(Expectation(match["severity"], match["text"], place, number + first_line, bool(match["regex"])))
    return found


def disagreements(
    expected: Iterable[Expectation], got: Iterable[Diagnostic], with_notes: bool = True, only_expected: bool = False
) -> list[str]:
    """What is wrong between the two, a sentence each, in words as MLIR's own.

    with_notes     notes were printed: while it reads a module, a wheel prints errors alone
    only_expected  what nobody expects is not wrong
    """
    open_expectations = list(expected)
    sentences = []
    for diagnostic in got:
        match = next((one for one in open_expectations if one.accepts(diagnostic)), None)
        if match is None:
            if not only_expected and not diagnostic.text.startswith(REPRODUCER_PHRASES):
                place = f"line {diagnostic.line}: " if diagnostic.line else ""
                sentences.append(f'{place}unexpected {diagnostic.severity} "{diagnostic.text}"')
            continue
        open_expectations.remove(match)
    open_expectations = [one for one in open_expectations if with_notes or one.severity != "note"]
    sentences += [
        f'line {one.written}: expected {one.severity} "{one.text}" was not produced' for one in open_expectations
    ]
    return sentences


def first_diagnostic(log: str) -> tuple[str, SourceLocation | None]:
    """The first `FILE:LINE:COLUMN: error: TEXT` of MLIR's diagnostics, and where it points."""
    for line in log.splitlines():
        place, found, text = line.partition("error: ")
        if found:
            return text.strip(), _parse_location(place.rstrip(": "))
    return "", None


def is_verifier_message(text: str) -> bool:
    return any(phrase in text for phrase in VERIFIER_PHRASES)


def _target(place: str, number: int, plain: list[int]) -> int | None:
    """The line (counted from 0) that an expectation in line `number` is about; None for no line at all."""
    if place == "@unknown":
        return None
    if place == "@above":
        return max((one for one in plain if one < number), default=number)
    if place == "@below":
        return min((one for one in plain if one > number), default=number)
    return number + int(place[1:] or 0)


def _parse_location(text: str) -> SourceLocation | None:
    text = text.strip().removeprefix("loc(").removesuffix(")")
    file, _, rest = text.partition(":")
    numbers = rest.split(":")
    if not file or not all(number.isdigit() for number in numbers) or not numbers[0]:
        return None
    return SourceLocation(file.strip('"'), int(numbers[0]), int(numbers[1]) if len(numbers) > 1 else 0)
