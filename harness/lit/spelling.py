"""Whether a flag that the wheel does not have is one that any release has, or a misspelt one.

`flags.json` holds every name: `passes`, with their options, of Triton 3.6 to 3.9; `others`, which no wheel has but
triton-opt and MLIR know, or older releases had; `options`, which are triton-opt's and no passes. Only a name that
is none of these, and nearly one of them, is misspelt: what a newer release may have brought is nobody's mistake.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from harness.errors import UsageError

if TYPE_CHECKING:
    from harness.lit.compiler import PassRequest

# Real names are three edits from one another and more, or stand in the table; a slip of the fingers is one or two.
_MOST_EDITS = 2
_LONG = 6  # letters, from which on a name may have that many
# In a pipeline, `name{options}`; what is followed by a parenthesis is an op that passes are nested in.
_IN_PIPELINE = re.compile(r"(?P<name>[A-Za-z][\w.-]*)(?![\w.-]*\()(?:\{(?P<options>[^{}]*)\})?")


@dataclass(frozen=True)
class KnownFlags:
    """passes  by name, the options of each; options  of triton-opt itself"""

    passes: Mapping[str, frozenset[str]]
    options: frozenset[str]

    @classmethod
    def of_any_release(cls) -> KnownFlags:
        return _read()

    def with_passes(self, wheel: Mapping[str, Collection[str]]) -> KnownFlags:
        """With those of a wheel, which may be newer than the table."""
        merged = {name: self.passes.get(name, frozenset()) | set(found) for name, found in wheel.items()}
        return KnownFlags({**self.passes, **merged}, self.options)

    def check(self, request: PassRequest) -> None:
        """Raises UsageError where a pass, an option of one, or a flag is misspelt."""
        for name, options in _named(request):
            self.check_flag(name)
            known = self.passes.get(name, frozenset())
            for option in options:
                close = _closest(option, known)
                if close:
                    raise UsageError(f"--{name} has no option {option!r}", hint=f"did you mean {close}?")

    def has(self, request: PassRequest) -> bool:
        """Whether some release has every pass and option that is asked for."""
        return all(
            name in self.options or (name in self.passes and self.passes[name].issuperset(options))
            for name, options in _named(request)
        )

    def check_flag(self, name: str) -> None:
        """Raises UsageError where it is nearly a pass or a flag, and none."""
        close = _closest(name, self.passes.keys() | self.options)
        if close:
            raise UsageError(f"no release of Triton has a pass or option --{name}", hint=f"did you mean --{close}?")


def _closest(name: str, known: Collection[str]) -> str:
    """The known name that a misspelt one was meant to be; "" for one that is known, or like none."""
    if name in known:
        return ""
    most = _MOST_EDITS if len(name) >= _LONG else 1
    near = difflib.get_close_matches(name, sorted(known), n=5)
    edits = {one: edit_distance(name, one) for one in near}
    return next((one for one in near if edits[one] == min(edits.values()) and edits[one] <= most), "")


def edit_distance(one: str, other: str) -> int:
    """Letters left out, put in, changed, or changed over with their neighbour."""
    rows = [list(range(len(other) + 1))]
    for i, a in enumerate(one, start=1):
        row = [i]
        for j, b in enumerate(other, start=1):
            best = min(rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (a != b))
            if i > 1 and j > 1 and (a, one[i - 2]) == (other[j - 2], b):
                best = min(best, rows[-2][j - 2] + 1)
            row.append(best)
        rows.append(row)
    return rows[-1][-1]


def _named(request: PassRequest) -> Iterator[tuple[str, Sequence[str]]]:
    """(pass, names of its options) of everything that a request asks for."""
    if not request.pipeline:
        yield request.flag, list(request.given)
        return
    for match in _IN_PIPELINE.finditer(request.pipeline):
        yield match["name"], [word.partition("=")[0] for word in (match["options"] or "").split()]


@cache
def _read() -> KnownFlags:
    data = json.loads(resources.files("harness.lit").joinpath("flags.json").read_text(encoding="utf-8"))
    passes = {name: frozenset(options) for name, options in data["passes"].items()}
    return KnownFlags({**dict.fromkeys(data["others"], frozenset()), **passes}, frozenset(data["options"]))
