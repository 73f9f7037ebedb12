"""A lit case: a `.mlir` file with RUN lines, as LLVM's test runner reads them.

    // RUN: triton-opt %s -split-input-file --triton-combine | FileCheck %s
    // REQUIRES: triton-3.8 || triton-3.9
    // XFAIL: triton-before-3.9

Only the directives are read here; what the commands mean is `harness.lit`'s business.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from harness.cases.location import SourceLocation
from harness.errors import CaseError

SUFFIX = ".mlir"

# Folders whose files other cases use, as upstream calls them.
_HELPER_FOLDERS = frozenset({"Inputs"})

_DIRECTIVE = re.compile(
    r"(?<![\w-])(?P<keyword>RUN|REQUIRES|UNSUPPORTED|XFAIL|DEFINE|REDEFINE|END)(?P<mark>[:.])(?P<text>.*)"
)
_CONDITIONS = ("REQUIRES", "UNSUPPORTED", "XFAIL")
_DEFINITION = re.compile(r"\s*(?P<name>%\{[A-Za-z_][-\w:]*\})\s*=\s*(?P<value>.*)", re.DOTALL)


@dataclass(frozen=True)
class Condition:
    """One expression over features, of a REQUIRES, UNSUPPORTED or XFAIL line."""

    line: int
    text: str


@dataclass(frozen=True)
class RunLine:
    """A command, continuation lines joined; `line` is where it begins."""

    line: int
    text: str


@dataclass(frozen=True)
class Definition:
    """`DEFINE: %{name} = value`: from here on, `name` stands for `value`."""

    line: int
    name: str
    value: str


@dataclass(frozen=True)
class LitCase:
    """script  RUN lines and definitions, in the file's order"""

    path: Path
    script: tuple[RunLine | Definition, ...]
    requires: tuple[Condition, ...] = ()
    unsupported: tuple[Condition, ...] = ()
    xfail: tuple[Condition, ...] = ()

    @property
    def where(self) -> SourceLocation:
        """Of its first RUN line."""
        return SourceLocation(str(self.path), next(one.line for one in self.script if isinstance(one, RunLine)))

    @classmethod
    def load(cls, path: Path) -> LitCase:
        """Raises CaseError at a line of the file: no RUN line, one that never ends, a definition that is none."""
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise CaseError(f"the case file cannot be read: {error}", SourceLocation(str(path), 1)) from error
        return parse_lit_case(text, path)


def parse_lit_case(text: str, path: Path) -> LitCase:
    """The case that a file's text is. Raises CaseError as `LitCase.load` does."""
    script: list[RunLine | Definition] = []
    conditions: dict[str, list[Condition]] = {keyword: [] for keyword in _CONDITIONS}
    for line, keyword, content in _joined(text, path):
        if keyword in _CONDITIONS:
            conditions[keyword] += [Condition(line, one.strip()) for one in content.split(",") if one.strip()]
        elif keyword == "RUN":
            script.append(RunLine(line, content.strip()))
        else:
            script.append(_definition(line, content, path))
    if not any(isinstance(one, RunLine) for one in script):
        hint = "write // RUN: triton-opt %s --PASS | FileCheck %s"
        raise CaseError("the file has no RUN line", SourceLocation(str(path), 1), hint)
    requires, unsupported, xfail = (tuple(conditions[keyword]) for keyword in _CONDITIONS)
    return LitCase(path, tuple(script), requires, unsupported, xfail)


def is_lit_file(path: Path) -> bool:
    """Whether a file in a folder of lit cases is one; `Inputs` holds what other cases read."""
    return path.suffix == SUFFIX and not path.name.startswith("_") and not _HELPER_FOLDERS & set(path.parts)


def lit_files(folder: Path) -> list[Path]:
    """Every lit case under `folder`, sorted."""
    return sorted(path for path in folder.rglob(f"*{SUFFIX}") if is_lit_file(path))


def _joined(text: str, path: Path) -> list[tuple[int, str, str]]:
    """(line, keyword, text) of each directive, continuation lines put together."""
    found: list[tuple[int, str, str]] = []
    open_keyword = ""
    for number, line in enumerate(text.splitlines(), start=1):
        match = _DIRECTIVE.search(line)
        if match is None:
            continue
        keyword, content = match["keyword"], match["text"].strip()
        if (keyword == "END") != (match["mark"] == "."):
            continue
        if keyword == "END":
            break
        if open_keyword and keyword == open_keyword:
            start, _, begun = found.pop()
            found.append((start, keyword, f"{begun} {content.removesuffix(chr(92)).strip()}"))
        elif open_keyword:
            raise CaseError(f"{open_keyword} goes on in no further line", SourceLocation(str(path), found[-1][0]))
        else:
            found.append((number, keyword, content.removesuffix("\\").strip()))
        open_keyword = keyword if content.endswith("\\") else ""
    if open_keyword:
        raise CaseError(
            f"{open_keyword} ends in a backslash, and nothing follows", SourceLocation(str(path), found[-1][0])
        )
    return found


def _definition(line: int, content: str, path: Path) -> Definition:
    match = _DEFINITION.fullmatch(content)
    if match is None:
        where = SourceLocation(str(path), line)
        raise CaseError(f"cannot read the definition {content!r}", where, "write DEFINE: %{name} = value")
    return Definition(line, match["name"], match["value"].strip())
