"""Where something stands in a kernel's source: the address every message ends in."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class SourceLocation:
    """A position in a source file; lines and columns count from 1, as editors do."""

    file: str
    line: int
    column: int = 0

    def __str__(self) -> str:
        if not self.column:
            return f"{self.file}:{self.line}"
        return f"{self.file}:{self.line}:{self.column}"
