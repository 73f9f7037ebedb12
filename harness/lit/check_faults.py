"""FileCheck failures that say nothing about the compiler: the check lines themselves are wrong."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from harness.cases.evidence import Failure
from harness.cases.location import SourceLocation
from harness.errors import CaseError
from harness.lit.execution import CommandResult
from harness.lit.tools import cannot_check

# As LLVM's FileCheck has it, and as PyPI's.
_UNDEFINED = re.compile(r"undefined variable: (?P<name>\$?\w+)|Variable (?P<other>\$?\w+) referenced before assignment")
_NO_CHECKS = re.compile(r"[Nn]o check strings found with prefix(?:es)? (?P<names>.*)")
_NOT_A_PATTERN = re.compile(r"Malformed regex expression|Invalid (?:substitution|regex) block|Can't translate posix")

_PLACED = re.compile(
    r"^(?P<file>.+?):(?P<line>\d+)(?::(?P<column>\d+))?(?:: error: | (?=Invalid ))(?P<text>.*)$", re.MULTILINE
)
_DIRECTIVE = re.compile(r"^\s*(?://+|#+|;+)\s*(?P<name>[A-Za-z][\w-]*):")
_DEFINED = re.compile(r"\[\[#?(?:%[^,\]]*,)?\s*(?P<name>\$?\w+):")
_SUFFIXES = ("", "-LABEL", "-NEXT", "-SAME", "-DAG", "-NOT", "-EMPTY", "-COUNT-1")
_SUFFIX = re.compile(r"-(?:LABEL|NEXT|SAME|DAG|NOT|EMPTY|COUNT-\d+)$")
_LIT_KEYWORDS = frozenset({"RUN", "REQUIRES", "UNSUPPORTED", "XFAIL", "DEFINE", "REDEFINE", "END", "COM"})
_DEFAULT_PREFIX = "CHECK"
_CLOSE = 0.7


class Placed(NamedTuple):
    """An error of FileCheck's and the check line that it is about."""

    where: SourceLocation
    text: str


def first_error(log: str) -> Placed | None:
    """The first error with a place; column 0 where FileCheck gives none."""
    match = _PLACED.search(log)
    if match is None:
        return None
    place = SourceLocation(match["file"], int(match["line"]), int(match["column"] or 0))
    return Placed(place, match["text"])


def author_fault(cause: CommandResult, where: SourceLocation) -> Failure | None:
    """The failure of whoever wrote the check lines; None where they are well-formed. `where` is the RUN line."""
    missing = _NO_CHECKS.search(cause.stderr)
    if missing:
        return _no_checks(re.findall(r"[\w-]+", missing["names"]), cause.call.words, where)
    error = first_error(cause.stderr)
    undefined = error and _UNDEFINED.search(error.text)
    if error and undefined:
        return _undefined(undefined["name"] or undefined["other"], error.where)
    if error and (cannot_check(cause.call, cause.status, cause.stderr) or _NOT_A_PATTERN.search(error.text)):
        return _failure(f"the check line cannot be read: {error.text}", error.where, log=cause.stderr)
    if cannot_check(cause.call, cause.status, cause.stderr):
        said = cause.stderr.strip().splitlines() or ["it says nothing"]
        return _failure(f"FileCheck cannot check: {said[0]}", where, log=cause.stderr)
    return None


def _no_checks(prefixes: Sequence[str], words: Sequence[str], where: SourceLocation) -> Failure:
    """No line has one of the prefixes: it is misspelt there, or in the RUN line that asks for it."""
    prefix, named = prefixes[0], ": or ".join(prefixes)
    file = _check_file(words, where)
    near = _nearest(prefix, file)
    if prefix == _DEFAULT_PREFIX and near is not None:
        line, written, meant = near
        what = f"{written}: is no check, and no line of the file says {prefix}:"
        return _failure(what, SourceLocation(file, line), f"write {meant}:")
    what = f"no line of the file says {named}:, which this RUN line checks"
    if near is not None:
        line, written, meant = near
        hint = f"line {line} says {written}: write --check-prefix={_stem(written)}, or {meant}: there"
        return _failure(what, where, hint)
    others = sorted({_stem(name) for _, name in _directives(file) if name.isupper()})
    if others:
        return _failure(what, where, f"the file has {', '.join(others)}: name it with --check-prefix")
    return _failure(what, where, f"write // {prefix}: and what must be printed")


def _undefined(name: str, where: SourceLocation) -> Failure:
    what = f"the variable {name} is used, and no check line has defined it there"
    known = {match["name"] for _, text in _lines(where.file) for match in _DEFINED.finditer(text)}
    close = difflib.get_close_matches(name, sorted(known - {name}), n=1, cutoff=_CLOSE)
    if name in known:
        return _failure(
            what, where, "only lines above it count, and with --enable-var-scope those since the last -LABEL"
        )
    hint = f"did you mean {close[0]}?" if close else f"define it in a line above, as in [[{name}:[a-z0-9_]+]]"
    return _failure(what, where, hint)


def _failure(what: str, where: SourceLocation, hint: str = "", log: str = "") -> Failure:
    return Failure("collect", CaseError.__name__, what, where, hint, log=log)


def _check_file(words: Sequence[str], where: SourceLocation) -> str:
    files = [word for word in words[1:] if not word.startswith("-") and Path(word).is_file()]
    return files[0] if files else where.file


def _nearest(prefix: str, file: str) -> tuple[int, str, str] | None:
    """(line, what is written there, what may have been meant) of the line most like a check of the prefix."""
    found = [
        (difflib.SequenceMatcher(None, name.upper(), meant).ratio(), -line, name, meant)
        for line, name in _directives(file)
        for meant in (prefix + suffix for suffix in _SUFFIXES)
    ]
    ratio, line, name, meant = max(found, default=(0.0, 0, "", ""))
    return (-line, name, meant) if ratio >= _CLOSE else None


def _directives(file: str) -> Iterator[tuple[int, str]]:
    """(line, NAME) of every comment that begins as a directive does, `// NAME:`, lit's own left out."""
    for number, text in _lines(file):
        match = _DIRECTIVE.match(text)
        if match and match["name"] not in _LIT_KEYWORDS:
            yield number, match["name"]


def _lines(file: str) -> Iterator[tuple[int, str]]:
    try:
        yield from enumerate(Path(file).read_text(encoding="utf-8").splitlines(), start=1)
    except (OSError, UnicodeDecodeError):
        return


def _stem(name: str) -> str:
    return _SUFFIX.sub("", name)
