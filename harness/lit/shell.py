"""The shell that RUN lines are written in: words, quotes, pipes, `&&`, `||`, `;` and redirections."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from harness.errors import ParseError

_REDIRECTION = re.compile(r"(?P<both>&>>?)|(?P<descriptor>\d?)(?P<operator>>>|>&|>|<)")
_CONNECTORS = ("&&", "||", ";")
_UNQUOTED_END = frozenset(" \t\n'\"\\|&;<>")
_UNSUPPORTED = re.compile(r"`|\$\(|\$\{?\w")


@dataclass(frozen=True)
class Redirection:
    """`descriptor operator target`: 1 > file, 2 >& 1, 0 < file, 1 >> file."""

    descriptor: int
    operator: str
    target: str


@dataclass(frozen=True)
class Command:
    words: tuple[str, ...]
    redirections: tuple[Redirection, ...] = ()


@dataclass(frozen=True)
class Step:
    """A pipeline, and the connector before it: "" for the first."""

    connector: str
    commands: tuple[Command, ...]


@dataclass
class _Draft:
    words: list[str] = field(default_factory=list)
    redirections: list[Redirection] = field(default_factory=list)


def parse_commands(text: str) -> list[Step]:
    """The steps of one RUN line. Raises ParseError for what is no command, or uses a shell's expansions."""
    reader = _Reader(text)
    steps: list[Step] = []
    connector = ""
    while True:
        commands = [reader.command()]
        while reader.take("|"):
            commands.append(reader.command())
        steps.append(Step(connector, tuple(commands)))
        found = next((one for one in _CONNECTORS if reader.take(one)), None)
        if found is None:
            break
        connector = found
        if connector == ";" and reader.at_end:
            break
    if not reader.at_end:
        raise ParseError(f"cannot read the command from {reader.rest!r} on")
    return steps


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    @property
    def at_end(self) -> bool:
        self._skip_blanks()
        return self._at == len(self._text)

    @property
    def rest(self) -> str:
        return self._text[self._at :]

    def take(self, operator: str) -> bool:
        """Whether the operator comes next, and no longer one that begins with it."""
        self._skip_blanks()
        if not self.rest.startswith(operator) or (operator == "|" and self.rest.startswith("||")):
            return False
        self._at += len(operator)
        return True

    def command(self) -> Command:
        draft = _Draft()
        while not self.at_end and self.rest[0] not in "|;" and not self.rest.startswith("&&"):
            if not self._redirection(draft):
                draft.words.append(self._word())
        if not draft.words:
            raise ParseError(f"a command is missing in {self._text!r}")
        return Command(tuple(draft.words), tuple(draft.redirections))

    def _redirection(self, draft: _Draft) -> bool:
        match = _REDIRECTION.match(self.rest)
        if match is None:
            return False
        self._at += match.end()
        self._skip_blanks()
        target = self._word()
        if match["both"]:
            draft.redirections += [Redirection(1, match["both"][1:], target), Redirection(2, ">&", "1")]
            return True
        default = 0 if match["operator"] == "<" else 1
        draft.redirections.append(Redirection(int(match["descriptor"] or default), match["operator"], target))
        return True

    def _word(self) -> str:
        parts: list[str] = []
        start = self._at
        while self._at < len(self._text) and self.rest[0] not in " \t\n|&;<>":
            parts.append(self._part())
        if self._at == start:
            raise ParseError(f"cannot read the command from {self.rest!r} on")
        return "".join(parts)

    def _part(self) -> str:
        first = self.rest[0]
        if first in "'\"":
            return self._quoted(first)
        if first == "\\":
            self._at += 2
            return self._text[self._at - 1 : self._at]
        start = self._at
        while self._at < len(self._text) and self._text[self._at] not in _UNQUOTED_END:
            self._at += 1
        return self._checked(self._text[start : self._at])

    def _quoted(self, quote: str) -> str:
        escaped = r"(?:[^\"\\]|\\.)*" if quote == '"' else r"[^']*"
        match = re.compile(f"{quote}({escaped}){quote}", re.DOTALL).match(self._text, self._at)
        if match is None:
            raise ParseError(f"a quote is not closed in {self._text!r}")
        self._at = match.end()
        if quote == "'":
            return match[1]
        return re.sub(r"\\([\"\\$`])", r"\1", self._checked(match[1]))

    def _checked(self, word: str) -> str:
        found = _UNSUPPORTED.search(word)
        if found:
            raise ParseError(f"a RUN line expands no {found[0]!r}: lit's own shell has no variables")
        return word

    def _skip_blanks(self) -> None:
        while self._at < len(self._text) and self._text[self._at] in " \t\n":
            self._at += 1
