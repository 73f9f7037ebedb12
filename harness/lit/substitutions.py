"""lit's substitutions: `%s`, `%t` and the others, `%{name}` from DEFINE lines, and `%if`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness.errors import ParseError

# As in lit, what follows a one-letter name is the name's tail: %t2 and %t.mlir are files beside %t.
_NAMED = re.compile(r"%(?:%|\{[-\w:]+\}|basename_t|[sSpTt])")
_IF = re.compile(r"%if\s+(?P<condition>.+?)\s*%\{")
_ELSE = re.compile(r"\s*%else\s*%\{")
_MAX_DEPTH = 20


@dataclass
class Substitutions:
    """The substitutions of one case: those of its file and its folder for temporary files, and its definitions."""

    path: Path
    folder: Path
    holds: Callable[[str], bool]
    defined: dict[str, str] = field(default_factory=dict)

    def _table(self) -> Mapping[str, str]:
        """`%t` is a name of the case's own: nothing else writes there."""
        temporary = self.folder / f"{self.path.name}.tmp"
        return {
            "%%": "%",
            "%s": str(self.path),
            "%S": str(self.path.parent),
            "%p": str(self.path.parent),
            "%{s:basename}": self.path.name,
            "%{s:stem}": self.path.stem,
            "%t": str(temporary),
            "%{t:stem}": temporary.stem,
            "%basename_t": temporary.name,
            "%T": str(self.folder),
            "%{pathsep}": ":",
            "%{fs-sep}": "/",
        }

    def apply(self, text: str) -> str:
        """The command that is run. Raises ParseError for a substitution nobody defined."""
        text = self._expanded(self._choose(text))
        table = self._table()
        unknown = next((name for name in _NAMED.findall(text) if name not in table), None)
        if unknown:
            raise ParseError(f"nothing defines the substitution {unknown}", hint="DEFINE: %{name} = value")
        return _NAMED.sub(lambda match: table[match[0]], text)

    def _expanded(self, text: str) -> str:
        """With definitions, which may use one another, put in."""
        for _ in range(_MAX_DEPTH):
            for name, value in self.defined.items():
                text = text.replace(name, value)
            if not any(name in text for name in self.defined):
                return text
        raise ParseError("the definitions go round in circles")

    def _choose(self, text: str) -> str:
        """Each `%if CONDITION %{THEN%} %else %{OTHERWISE%}` as the one that counts."""
        match = _IF.search(text)
        if match is None:
            return text
        then, rest = _braced(text[match.end() :])
        otherwise = ""
        if found := _ELSE.match(rest):
            otherwise, rest = _braced(rest[found.end() :])
        chosen = then if self.holds(match["condition"]) else otherwise
        return text[: match.start()] + self._choose(chosen) + self._choose(rest)


def _braced(text: str) -> tuple[str, str]:
    """What stands before the closing `%}`, and what after it."""
    depth, at = 1, 0
    for match in re.finditer(r"%\{|%\}", text):
        # %{name} is a substitution, not a brace.
        is_name = match[0] == "%{" and re.match(r"[-\w:]+\}", text[match.end() :])
        depth += 0 if is_name else (1 if match[0] == "%{" else -1)
        at = match.end()
        if depth == 0:
            return text[: match.start()], text[at:]
    raise ParseError(f"%{{ is not closed in {text!r}")
