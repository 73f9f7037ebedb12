"""What REQUIRES, UNSUPPORTED and XFAIL are about: expressions over the features of the installed release."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata

from packaging.version import Version

from harness.cases.lit_case import Condition
from harness.cases.location import SourceLocation
from harness.errors import CaseError

_TOKEN = re.compile(r"\s*(?:(?P<operator>&&|\|\||[!()])|(?P<name>(?:[-+=.\w]|\{\{.+?\}\})+))")
_RELEASE = re.compile(r"triton-(?P<before>before-)?(?P<release>\d+\.\d+)")


@dataclass(frozen=True)
class Features:
    """What a release of Triton has: `triton-3.8` is any 3.8, `triton-before-3.8` any older one.

    Beside those, only `textual-pipelines`, where the wheel exports what runs a pipeline given as text.
    """

    release: Version
    textual_pipelines: Callable[[], bool] = bool

    @classmethod
    def installed(cls, textual_pipelines: Callable[[], bool] = bool) -> Features:
        return cls(Version(metadata.version("triton")), textual_pipelines)

    def has(self, name: str) -> bool:
        """Whether the release has a feature; one that nobody knows it has not."""
        if name == "true":
            return True
        if name == "textual-pipelines":
            return self.textual_pipelines()
        match = _RELEASE.fullmatch(name)
        if match is None:
            return False
        ours, theirs = self.release.release[:2], Version(match["release"]).release[:2]
        return ours < theirs if match["before"] else ours == theirs

    @staticmethod
    def knows(name: str) -> bool:
        """Whether a name says something about a release: only then can it excuse a listed case."""
        return name in ("true", "false", "textual-pipelines") or _RELEASE.fullmatch(name) is not None


@dataclass(frozen=True)
class Answer:
    """What an expression comes to; `certain` when nothing but releases went into it."""

    holds: bool
    certain: bool = True


def evaluate(condition: Condition, features: Features, path: str) -> Answer:
    """Raises CaseError, at the line of the condition, for what is no expression."""
    if condition.text == "*":
        return Answer(True)
    parser = _Parser(_tokens(condition, path), features)
    try:
        holds = parser.disjunction()
        if parser.tokens:
            raise ValueError(f"{parser.tokens[0]!r} is one too many")
    except ValueError as error:
        where = SourceLocation(path, condition.line)
        raise CaseError(f"cannot read the condition {condition.text!r}: {error}", where) from error
    return Answer(holds, parser.certain)


def _tokens(condition: Condition, path: str) -> list[str]:
    tokens, at, text = [], 0, condition.text.rstrip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            where = SourceLocation(path, condition.line)
            raise CaseError(f"cannot read the condition {text!r} from {text[at:]!r} on", where)
        tokens.append(match["operator"] or match["name"])
        at = match.end()
    return tokens


class _Parser:
    """Both sides of an operator are always read: the text must be an expression, whatever the release is."""

    def __init__(self, tokens: list[str], features: Features) -> None:
        self.tokens = tokens
        self.certain = True
        self._features = features

    def disjunction(self) -> bool:
        value = self._conjunction()
        while self._take("||"):
            value |= self._conjunction()
        return value

    def _conjunction(self) -> bool:
        value = self._negation()
        while self._take("&&"):
            value &= self._negation()
        return value

    def _negation(self) -> bool:
        if self._take("!"):
            return not self._negation()
        if not self._take("("):
            return self._name()
        value = self.disjunction()
        if not self._take(")"):
            raise ValueError("a parenthesis is not closed")
        return value

    def _name(self) -> bool:
        if not self.tokens or self.tokens[0] in ("&&", "||", ")"):
            raise ValueError("a feature is missing")
        name = self.tokens.pop(0)
        self.certain &= Features.knows(name)
        return self._features.has(name)

    def _take(self, token: str) -> bool:
        if self.tokens and self.tokens[0] == token:
            self.tokens.pop(0)
            return True
        return False
