"""Text patterns: the last resort, for logs of external toolchains where nothing typed decides."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

from harness.verdicts.buckets import bucket_named


@dataclass(frozen=True)
class Pattern:
    """`expression` is searched in one line at a time; `name` is what the summary calls the match."""

    name: str
    expression: re.Pattern[str]
    bucket: str


@dataclass(frozen=True)
class PatternTable:
    """Ordered patterns, and the expressions of lines that only inform and therefore never match."""

    informational: tuple[re.Pattern[str], ...]
    patterns: tuple[Pattern, ...]

    @classmethod
    def from_json(cls, text: str) -> PatternTable:
        """Reads the data file. Raises UsageError for a bucket nobody knows."""
        data = json.loads(text)
        patterns = tuple(
            Pattern(entry["name"], re.compile(entry["pattern"]), bucket_named(entry["bucket"]).name)
            for entry in data["patterns"]
        )
        return cls(tuple(re.compile(line) for line in data["informational"]), patterns)

    def telling_lines(self, log: str) -> list[str]:
        """The lines of `log` that may say what went wrong."""
        return [line for line in log.splitlines() if line.strip() and not self._is_informational(line)]

    def match(self, logs: Iterable[str]) -> tuple[Pattern, str] | None:
        """The first pattern, in the table's order, that matches a telling line; and that line."""
        lines = [line for log in logs for line in self.telling_lines(log)]
        for pattern in self.patterns:
            for line in lines:
                if pattern.expression.search(line):
                    return pattern, line.strip()
        return None

    def _is_informational(self, line: str) -> bool:
        return any(expression.search(line) for expression in self.informational)


@lru_cache(maxsize=1)
def standard_patterns() -> PatternTable:
    """The table in `patterns.json`, beside this file."""
    text = resources.files("harness.verdicts").joinpath("patterns.json").read_text(encoding="utf-8")
    return PatternTable.from_json(text)
