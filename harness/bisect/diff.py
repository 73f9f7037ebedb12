"""What a pass did to a module, as the smallest difference of the texts: no locations, no renumbered values."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from harness.bisect.program import without_hints, without_layouts, without_locations
from harness.cases.location import SourceLocation

_NAME = re.compile(r"%[\w$.-]+")
_OP_NAME = re.compile(r"^\s*(?:%[^=]*= )?\"?([a-z]\w*\.[\w.]+)")
_DEFINITION = re.compile(r"^(#loc\d*) = loc\((.*)\)$", re.MULTILINE)
_TRAILING = re.compile(r" loc\((.*)\)$")
_PART = re.compile(r"(?P<alias>#loc\d*)|\"(?P<file>(?:[^\"\\]|\\.)*)\":(?P<line>\d+):(?P<column>\d+)")
_ARITHMETIC = ("arith.", "tt.splat", "tt.broadcast", "tt.expand_dims", "tt.addptr", "tt.make_range")
# Triton's own library is not the user's line.
_LIBRARY = re.compile(r"[/\\]triton[/\\](?:language|experimental)[/\\]")


@dataclass(frozen=True)
class ChangedLine:
    """A line that a pass took away ("-") or brought in ("+"), with the op it is and the kernel's line it came from."""

    sign: str
    text: str
    op: str
    where: SourceLocation | None


@dataclass(frozen=True)
class ModuleDiff:
    """lines    a unified diff, without its file headers
    changed  what of it is "-" or "+"
    """

    lines: tuple[str, ...]
    changed: tuple[ChangedLine, ...]

    def ops(self) -> list[str]:
        """`-2 tt.load`, `+2 ttg.async_wait`: ops by how many more or fewer there are, then those that changed. What
        only computes indices comes last."""
        count: Counter[str] = Counter()
        for one in self.changed:
            if one.op:
                count[one.op] += {"-": -1, "+": 1}[one.sign]
        ordered = sorted(count.items(), key=lambda item: (item[0].startswith(_ARITHMETIC), item[0]))
        told = [f"{number:+d} {op}" for op, number in ordered if number]
        rewritten = [op for op, number in ordered if not number]
        return told + [f"rewritten {op}" for op in rewritten]

    def places(self) -> list[SourceLocation]:
        """Lines of the kernel that the changed ops came from, those with most of them first."""
        lines = Counter((one.where.file, one.where.line) for one in self.changed if one.where)
        return [SourceLocation(file, line) for (file, line), _ in lines.most_common()]


def module_diff(before: str, after: str, context: int = 1) -> ModuleDiff:
    """From one module to the next. Layouts of tensors and hints are left out unless nothing else has changed."""
    plain = _diff(before, after, lambda text: without_hints(without_layouts(text)), context)
    return plain if plain.changed else _diff(before, after, lambda text: text, context)


@dataclass(frozen=True)
class _Line:
    text: str
    where: SourceLocation | None


def _diff(before: str, after: str, simplify: Callable[[str], str], context: int) -> ModuleDiff:
    old, new = _lines_of(before, simplify), _lines_of(after, simplify)
    texts = [line.text for line in old]
    renamed = _renamed(texts, [line.text for line in new])
    matcher = difflib.SequenceMatcher(None, texts, renamed, autojunk=False)
    shown: list[str] = []
    changed: list[ChangedLine] = []
    for group in matcher.get_grouped_opcodes(context):
        shown.append("@@")
        for tag, i, j, k, m in group:
            if tag == "equal":
                shown += [f"  {text}" for text in texts[i:j]]
                continue
            shown += [f"- {text}" for text in texts[i:j]] + [f"+ {text}" for text in renamed[k:m]]
            changed += [_changed("-", text, line) for text, line in zip(texts[i:j], old[i:j], strict=True)]
            changed += [_changed("+", text, line) for text, line in zip(renamed[k:m], new[k:m], strict=True)]
    return ModuleDiff(tuple(shown), tuple(changed))


def _changed(sign: str, text: str, line: _Line) -> ChangedLine:
    op = _OP_NAME.match(text)
    return ChangedLine(sign, text, op[1] if op else "", line.where)


def _renamed(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """The new lines with the old names of values, wherever lines that differ only in names stand side by side."""
    shapes = [[_NAME.sub("%", line) for line in lines] for lines in (old, new)]
    matcher = difflib.SequenceMatcher(None, *shapes, autojunk=False)
    names: dict[str, str] = {}
    taken: set[str] = set()
    for block in matcher.get_matching_blocks():
        for offset in range(block.size):
            pairs = zip(_NAME.findall(new[block.b + offset]), _NAME.findall(old[block.a + offset]), strict=True)
            for after, before in pairs:
                if after not in names and before not in taken:
                    names[after] = before
                    taken.add(before)
    known = {name for line in old for name in _NAME.findall(line)}

    def rename(match: re.Match[str]) -> str:
        name = match[0]
        if name not in names:
            names[name] = name if name not in known else _fresh(name, known)
            known.add(names[name])
        return names[name]

    return [_NAME.sub(rename, line) for line in new]


def _fresh(name: str, known: set[str]) -> str:
    number = 1
    while f"{name}.new{number}" in known:
        number += 1
    return f"{name}.new{number}"


def _lines_of(text: str, simplify: Callable[[str], str]) -> list[_Line]:
    places = _Places(dict(_DEFINITION.findall(text)))
    body = [line for line in text.splitlines() if not line.startswith("#loc")]
    plain = [simplify(f"{without_locations(line)}\n").rstrip("\n") for line in body]
    return [_Line(one, places.of(line)) for one, line in zip(plain, body, strict=True) if one.strip()]


@dataclass(frozen=True)
class _Places:
    """The locations that a module defines, by their alias."""

    definitions: dict[str, str]

    def of(self, line: str) -> SourceLocation | None:
        """The kernel's line, of a line of the module: the innermost frame that is not in Triton's library."""
        found = _TRAILING.search(line)
        frames = list(self._frames(found[1])) if found else []
        own = [frame for frame in frames if not _LIBRARY.search(frame.file)]
        return next(iter([*own, *frames[-1:]]), None)

    def _frames(self, text: str) -> Iterator[SourceLocation]:
        for part in _PART.finditer(text):
            if part["alias"]:
                yield from self._frames(self.definitions.get(part["alias"], ""))
            else:
                yield SourceLocation(part["file"], int(part["line"]), int(part["column"]) + 1)
