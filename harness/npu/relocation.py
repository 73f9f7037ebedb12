"""A cached program's locations, told in the paths of the files at hand.

Triton's cache knows a kernel by its text and line, not by its file: of two copies of a project, the second is
served the program that the first one compiled, whose locations name the first one's files.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path, PurePath

from harness.errors import HarnessError


def relocate(error: HarnessError, compiled: str | None, actual: str | None) -> None:
    """Moves the error's place out of the copy whose kernel is the file `compiled`, into the copy where the same
    kernel is `actual`; a place that both copies share, or that only the first one has, stays."""
    if error.where is None or compiled is None or actual is None or compiled == actual:
        return
    old, new = _roots(PurePath(compiled), PurePath(actual))
    place = PurePath(error.where.file)
    if not place.is_relative_to(old):
        return
    moved = new / place.relative_to(old)
    if Path(moved).exists():
        error.where = dataclasses.replace(error.where, file=str(moved))


def _roots(compiled: PurePath, actual: PurePath) -> tuple[PurePath, PurePath]:
    """The folders of the two copies: what is left of two paths without the parts they end in alike."""
    while compiled.name == actual.name and compiled.name:
        compiled, actual = compiled.parent, actual.parent
    return compiled, actual
