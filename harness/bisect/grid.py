"""The filled grid, for people: rows of cases by release, the first bad and the first good one, as text or Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from harness.bisect.cells import CaseName, Cell
from harness.bisect.matrix import Cells, Place

_BROKEN = ("wrong", "crash")
# The process was gone or out of time: the release's doing only where other releases get the case further.
_ENDED = ("died", "timeout")
_SURVIVED = ("match", "not executed", *_BROKEN)
# Nothing but the case's own code runs in these.
_OF_THE_CASE = ("collect", "reference")


@dataclass(frozen=True)
class Row:
    """Cases of one template that came to the same everywhere.

    cells  by release, oldest first
    """

    file: str
    label: str
    target: str
    cells: Mapping[str, Cell]

    @property
    def is_bad(self) -> bool:
        return any(map(self.breaks, self.cells.values()))

    @property
    def is_undecided(self) -> bool:
        """Whether it ended its process, or ran out of time, and no release is to blame for it."""
        return any(cell.verdict in _ENDED and not self.breaks(cell) for cell in self.cells.values())

    def breaks(self, cell: Cell) -> bool:
        """Whether a cell of the row is its release's doing."""
        if cell.verdict not in _ENDED:
            return cell.verdict in _BROKEN
        survives = any(one.verdict in _SURVIVED for one in self.cells.values())
        return survives and cell.stage not in _OF_THE_CASE

    @property
    def first_bad(self) -> str:
        """The oldest release that breaks it; "" where none does."""
        return next((release for release, cell in self.cells.items() if self.breaks(cell)), "")

    @property
    def first_good(self) -> str:
        """The oldest release behind the last bad one that is known to be right; "" where there is none of either."""
        good = ""
        if not self.is_bad:
            return good
        for release, cell in self.cells.items():
            if self.breaks(cell):
                good = ""
            elif cell.verdict == "match" and not good:
                good = release
        return good

    @property
    def guilty(self) -> str:
        """The passes that break it, with the releases where not all bad ones agree."""
        passes: dict[str, list[str]] = {}
        for release, cell in self.cells.items():
            if self.breaks(cell):
                passes.setdefault(cell.guilty or "-", []).append(release)
        if len(passes) < 2:
            return "".join(passes)
        return "; ".join(f"{name} ({', '.join(releases)})" for name, releases in passes.items())

    @property
    def detail(self) -> str:
        """What was seen with the newest release that is bad, or that came to no verdict."""
        told = [cell.detail for cell in self.cells.values() if self.breaks(cell)]
        return (told or [cell.detail for cell in self.cells.values()])[-1]


def rows(cells: Cells, releases: Sequence[str]) -> list[Row]:
    """In the order of the cells; cases that differ in parameters alone share a row where they came to the same."""
    found: dict[tuple[CaseName, str], dict[str, Cell]] = {}
    for place in cells:
        found.setdefault((place.case, place.target), {})
    for case, target in found:
        found[case, target] = {release: cells[Place(case, target, release)] for release in releases}
    merged = []
    for (file, name, target), group in groupby(
        found.items(), key=lambda one: (one[0][0].file, one[0][0].name, one[0][1])
    ):
        merged += _merged(file, name, target, [(case.parameter_id, row) for (case, _), row in group])
    return merged


def _merged(file: str, name: str, target: str, group: Sequence[tuple[str, dict[str, Cell]]]) -> Iterator[Row]:
    alike: dict[tuple[tuple[str, ...], ...], list[int]] = {}
    for number, (_, row) in enumerate(group):
        alike.setdefault(tuple(map(_kind, row.values())), []).append(number)
    for numbers in alike.values():
        ids = [group[number][0] for number in numbers]
        label = name if len(alike) == 1 else f"{name}[{'], ['.join(ids)}]"
        yield Row(file, label, target, group[numbers[0]][1])


def _kind(cell: Cell) -> tuple[str, ...]:
    """What cells have in common that came to the same; how a process ended is all that there is of one."""
    return (cell.verdict, cell.guilty, cell.detail if cell.verdict in _ENDED else "")


def text(found: Sequence[Row], releases: Sequence[str]) -> str:
    """A table for each target, and the reason of every cell that is no match."""
    parts = []
    for target, group in groupby(found, key=lambda row: row.target):
        head = [target, *releases, "bad from", "good from", "pass"]
        table = [head, *(_line(row, releases) for row in group)]
        widths = [max(len(line[column]) for line in table) for column in range(len(head))]
        padded = ("  ".join(map(str.ljust, line, widths)).rstrip() for line in table)
        parts.append("\n".join(padded))
    notes = _seen(found)
    unsure = [note for row in found for note in _unsure(row)]
    return "\n\n".join([*parts, *("\n".join(dict.fromkeys(lines)) for lines in (notes, unsure) if lines)]) + "\n"


def _seen(found: Sequence[Row]) -> list[str]:
    """A line for each way in which cases break, with the targets it was seen on."""
    targets: dict[tuple[str, str], list[str]] = {}
    for row in found:
        if row.is_bad:
            targets.setdefault((row.label, row.detail), []).append(row.target)
    return [f"{label} ({', '.join(names)}): {detail}" for (label, detail), names in targets.items()]


def _line(row: Row, releases: Sequence[str]) -> list[str]:
    verdicts = [row.cells[release].verdict for release in releases]
    return [row.label, *verdicts, row.first_bad, row.first_good, row.guilty]


def _page_line(row: Row, releases: Sequence[str]) -> list[str]:
    cells = [row.cells[release] for release in releases]
    verdicts = [f"**{cell.verdict}**" if row.breaks(cell) else cell.verdict for cell in cells]
    label, *_, first_bad, first_good, guilty = (one.replace("|", "\\|") for one in _line(row, releases))
    return [label, *verdicts, first_bad, first_good, guilty]


def _unsure(row: Row) -> Iterator[str]:
    """Cells that say nothing about the case; what holds for a whole release, or for several alike, is said once."""
    alike: dict[tuple[str, str, str], list[str]] = {}
    for release, cell in row.cells.items():
        if cell.verdict == "unsupported":
            yield f"triton {release}, {row.target}: unsupported: {cell.detail}"
        elif cell.verdict != "match" and not row.breaks(cell):
            alike.setdefault((cell.verdict, cell.detail, cell.stage), []).append(release)
    for (verdict, detail, stage), releases in alike.items():
        blamed = f"; no release is to blame: {_why_nobody(stage)}" if verdict in _ENDED else ""
        yield f"{row.label}, {row.target}, triton {', '.join(releases)}: {verdict}: {detail}{blamed}"


def _why_nobody(stage: str) -> str:
    return "the case's own code ran" if stage in _OF_THE_CASE else "the case gets no further on any other"


def markdown(found: Sequence[Row], releases: Sequence[str]) -> str:
    """The tables of `text`, for a page."""
    parts = []
    for target, group in groupby(found, key=lambda row: row.target):
        head = ["case", *releases, "bad from", "good from", "pass"]
        lines = [head, ["---"] * len(head), *(_page_line(row, releases) for row in group)]
        parts.append(f"## {target}\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines))
    notes = [f"- {note}" for note in _seen(found)]
    unsure = [f"- {note}" for row in found for note in _unsure(row)]
    for title, lines in (("What was seen", notes), ("Without a verdict", unsure)):
        if lines:
            parts.append(f"## {title}\n\n" + "\n".join(dict.fromkeys(lines)))
    return "\n\n".join(parts) + "\n"
