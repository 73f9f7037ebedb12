"""allowlist.txt: reading it. See docs/allowlist.md for the format.

# a comment stands on its own line
coverage_kernels/reduce/softmax.py::softmax[npu-fp32-62x1000]
coverage_kernels/elementwise/*[npu-*]
coverage_kernels/gemm/split_k.py::split_k[npu-fp8]  fails wrong-values: accumulates in fp16, #123
lit_tests/ttgir/remat.mlir  fails verifier at tritongpu-remove-layout-conversions: dominance, fixed in 3.7.0
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass, field
from pathlib import Path

from harness.cases.location import SourceLocation
from harness.errors import UsageError
from harness.verdicts.buckets import bucket_named

_LINE = re.compile(
    r"(?P<pattern>\S+)(?:\s+fails\s+(?P<bucket>[\w-]+)(?:\s+at\s+(?P<stage>[^\s:]+))?\s*:\s*(?P<reason>\S.*))?"
)
_SYNTAX = "a line is `NODEID` or `NODEID  fails BUCKET: reason` or `NODEID  fails BUCKET at STAGE: reason`"
_TARGET = re.compile(r"\[(?P<target>[^\]*?-]+)[\]-]")


@dataclass(frozen=True)
class KnownFailure:
    """How a case is known to fail. `stage` is "" where any stage will do."""

    bucket: str
    reason: str
    stage: str = ""

    def __str__(self) -> str:
        place = f" at {self.stage}" if self.stage else ""
        return f"fails {self.bucket}{place}: {self.reason}"


@dataclass(frozen=True)
class Entry:
    """One line that expects something: of the cases `pattern` matches, a pass or `known`.

    In a pattern `*` stands for any characters, `/` included, and `?` for one. Everything else is itself,
    brackets too, because every node id has them.
    """

    pattern: str
    line: int
    known: KnownFailure | None = None
    expression: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "expression", re.compile(_translated(self.pattern), re.DOTALL))

    @property
    def is_exact(self) -> bool:
        return not set(self.pattern) & set("*?")

    @property
    def target(self) -> str:
        """The target the pattern names in its brackets, or "" where it names none or any."""
        found = _TARGET.search(self.pattern)
        return found["target"] if found else ""

    def matches(self, node_id: str) -> bool:
        return self.expression.fullmatch(node_id) is not None

    def __str__(self) -> str:
        return f"{self.pattern}  {self.known}" if self.known else self.pattern


def parse_line(text: str, path: str, line: int) -> Entry | None:
    """The entry of one line, or None for a comment or a blank. Raises UsageError at path:line."""
    stripped = text.strip()
    if not stripped or stripped.startswith("#"):
        return None
    where = SourceLocation(path, line)
    found = _LINE.fullmatch(stripped)
    if found is None:
        raise UsageError(f"cannot read {stripped!r}", where, _SYNTAX)
    if found["bucket"] is None:
        return Entry(found["pattern"], line)
    try:
        bucket = bucket_named(found["bucket"])
    except UsageError as error:
        raise UsageError(error.what, where, error.hint) from error
    return Entry(found["pattern"], line, KnownFailure(bucket.name, found["reason"], found["stage"] or ""))


def read_lines(path: Path) -> list[str]:
    """The lines of the allowlist, endings kept. Raises UsageError where it cannot be read."""
    try:
        return list(io.StringIO(path.read_bytes().decode("utf-8"), newline=""))
    except FileNotFoundError as error:
        hint = "`harness allow --all-passing` makes one of every case that passes"
        raise UsageError(f"there is no allowlist {path}", hint=hint) from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise UsageError("the allowlist is not UTF-8", SourceLocation(str(path), line)) from error
    except OSError as error:
        raise UsageError(f"cannot read the allowlist {path}: {error.strerror}") from error


def parse(lines: list[str], path: str) -> list[Entry]:
    """All entries, in order. Raises UsageError at the first line that does not parse."""
    entries = (parse_line(text, path, number) for number, text in enumerate(lines, start=1))
    return [entry for entry in entries if entry is not None]


def _translated(pattern: str) -> str:
    wild = {"*": ".*", "?": "."}
    return "".join(wild.get(character) or re.escape(character) for character in pattern)
