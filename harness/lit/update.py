"""`harness opt --update`: the check lines of a case, written anew from what the compiler prints, for review.

What the compiler numbers or names by chance becomes a variable: SSA values, blocks and aliases of attributes.
Everything else is taken as it is printed, line by line; a person then keeps the lines that the case is about.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from harness.cases.lit_case import Definition, LitCase
from harness.cases.location import SourceLocation
from harness.errors import UsageError
from harness.lit.conditions import Features
from harness.lit.execution import CommandResult, execute, plan
from harness.lit.shell import parse_commands
from harness.lit.substitutions import Substitutions
from harness.lit.tools import FILECHECK, OPT

_PREFIXES = re.compile(r"-{1,2}check-prefix(?:es)?=(?P<names>\S+)")
_SUFFIXES = "(?:-LABEL|-NEXT|-SAME|-DAG|-NOT|-EMPTY|-COUNT-\\d+)?"
_FUNCTION = re.compile(r"^\s*(?P<op>[\w.]*func)\b.*?@(?P<name>[\w$.]+)")
_NAME = re.compile(r"%[\w$.-]+|\^\w+|#[A-Za-z_]\w*(?![\w.])")
_ALIAS = re.compile(r"^(?P<name>#[A-Za-z_]\w*) = ")


# What is checked of one function, by its name; "" stands for what comes before the first.
Section = tuple[str, list[str]]


def update_file(path: Path) -> bool:
    """Rewrites the file; whether anything changed. Raises UsageError, at a line, for what cannot be updated."""
    case = LitCase.load(path)
    before = path.read_text(encoding="utf-8")
    text = before
    for prefix, output in _outputs(case).items():
        text = _rewritten(text, prefix, check_lines(output, prefix))
    if text != before:
        path.write_text(text, encoding="utf-8")
    return text != before


def check_lines(output: str, prefix: str) -> list[Section]:
    """The check lines for printed IR, function by function, and before each module's those for its aliases."""
    names = _Names()
    sections: list[Section] = [("", [])]
    for line in output.splitlines():
        stripped = line.strip()
        found = _FUNCTION.match(line)
        if alias := _ALIAS.match(stripped):
            names.forget_alias(alias["name"])  # of the module before
            # -DAG, for aliases come in no order that means anything.
            _open(sections, "").append(f"// {prefix}-DAG: {names.in_text(stripped)}")
        elif found:
            names.forget_values()
            arguments = names.in_text(stripped[stripped.index("(") + 1 :])
            label = f"// {prefix}-LABEL: {found['op']}{_visibility(line)} @{found['name']}("
            sections.append((found["name"], [label, f"// {prefix}-SAME: {arguments}"]))
        elif _is_inside(sections, line):
            sections[-1][1].append(f"// {prefix}-NEXT: {names.in_text(stripped)}")
    return [section for section in sections if section[1]]


def _open(sections: list[Section], name: str) -> list[str]:
    """The lines of the last section if it is of that name, else of a new one."""
    if sections[-1][0] != name:
        sections.append((name, []))
    return sections[-1][1]


def _is_inside(sections: list[Section], line: str) -> bool:
    """Whether a line is one of a function's body: its own closing brace, and its module's, say nothing."""
    stripped = line.strip()
    if not sections[-1][0] or not stripped or stripped.startswith(("//", "module")):
        return False
    return stripped != "}" or line.startswith("    ")


def _visibility(line: str) -> str:
    match = re.search(r"func (public|private)\b", line)
    return f" {match[1]}" if match else ""


class _Names:
    """Variables for what the compiler names. Those of aliases begin with $, so that they outlive a function."""

    def __init__(self) -> None:
        self._variables: dict[str, str] = {}

    def forget_values(self) -> None:
        self._variables = {name: one for name, one in self._variables.items() if name.startswith("#")}

    def forget_alias(self, name: str) -> None:
        self._variables.pop(name, None)

    def in_text(self, text: str) -> str:
        """The text as a check line; `{{` and `[[` of its own are escaped."""
        text = re.sub(r"\{\{|\[\[", lambda match: "{{" + re.escape(match[0]) + "}}", text)
        return _NAME.sub(lambda match: self._variable(match[0]), text)

    def _variable(self, name: str) -> str:
        sigil = name[0]
        if name in self._variables:
            return f"{sigil}[[{self._variables[name]}]]"
        if sigil == "#" or not name[1:].isdigit():
            plain = re.sub(r"\W", "_", name[1:]).upper()
            variable = f"${plain}" if sigil == "#" else plain
        else:
            variable = f"V{sum(1 for one in self._variables.values() if re.fullmatch('V[0-9]+', one))}"
        self._variables[name] = variable
        return f"{sigil}[[{variable}:[A-Za-z0-9_]+]]"


def _outputs(case: LitCase) -> dict[str, str]:
    """What FileCheck is given to read for each prefix; of several prefixes of one RUN line, the last."""
    found: dict[str, str] = {}
    for where, prefix, output in _checked_commands(case):
        if found.setdefault(prefix, output) != output:
            raise UsageError(f"two RUN lines print different things for {prefix}", where, "give each its own prefix")
    if not found:
        raise UsageError("no RUN line pipes triton-opt into FileCheck", case.where)
    return found


def _checked_commands(case: LitCase) -> Iterator[tuple[SourceLocation, str, str]]:
    with tempfile.TemporaryDirectory(prefix="lit-") as folder:
        substitutions = Substitutions(case.path, Path(folder), Features.installed().has)
        for line in case.script:
            if isinstance(line, Definition):
                substitutions.defined[line.name] = line.value
                continue
            where = SourceLocation(str(case.path), line.line)
            results = execute(plan(parse_commands(substitutions.apply(line.text))), Path(folder))
            for source, check in pairwise(results):
                if (source.call.tool, check.call.tool) == (OPT, FILECHECK):
                    _check_ran(source, where)
                    yield where, _prefix(check.call.words), check.input


def _check_ran(source: CommandResult, where: SourceLocation) -> None:
    if source.failed:
        lines = source.stderr.strip().splitlines() or ["it says nothing"]
        raise UsageError(f"triton-opt failed: {lines[0]}", where, "there is nothing to check yet")


def _prefix(words: Sequence[str]) -> str:
    names = [match["names"] for match in map(_PREFIXES.fullmatch, words) if match]
    return names[-1].split(",")[-1] if names else "CHECK"


def _rewritten(text: str, prefix: str, sections: Sequence[Section]) -> str:
    """The file with the check lines of one prefix replaced: each function's stand right above it."""
    old = re.compile(rf"^\s*//\s*{re.escape(prefix)}{_SUFFIXES}:")
    pending = list(sections)
    lines: list[str] = []
    for line in (one for one in text.splitlines() if not old.match(one)):
        found = _FUNCTION.match(line)
        begins = _ALIAS.match(line) or line.startswith("module") or found
        if begins and pending and not pending[0][0]:
            lines += pending.pop(0)[1]
        section = next((one for one in pending if found and one[0] == found["name"]), None)
        if section:
            pending.remove(section)
            indent = line[: len(line) - len(line.lstrip())]
            lines += [indent + check for check in section[1]]
        lines.append(line)
    # Functions that only the compiler's output has.
    lines += [check for _, checks in pending for check in checks]
    return "\n".join(lines) + "\n"
