"""Names in printed IR: aliases of attributes and types, `#blocked = #ttg.blocked<{...}>`, and those of values."""

from __future__ import annotations

import re

_DEFINITION = re.compile(r"^(?P<name>[#!][A-Za-z_]\w*) = (?P<value>.*)\n", re.MULTILINE)
_USE = re.compile(r"[#!][A-Za-z_]\w*(?![\w.])")


def with_local_scope(text: str) -> str:
    """The text as `-mlir-print-local-scope` has it: every alias written out, and none defined."""
    values: dict[str, str] = {}

    def written_out(match: re.Match[str]) -> str:
        return values.get(match[0], match[0])

    for match in _DEFINITION.finditer(text):  # each is defined before it is used
        values[match["name"]] = _USE.sub(written_out, match["value"])
    return _USE.sub(written_out, _DEFINITION.sub("", text))


_VALUE = re.compile(r"\"(?:[^\"\\]|\\.)*\"|%[\w$.-]+")


def with_names_of(text: str, other: str) -> str:
    """The text with its values called as in `other`, the same module printed with or without its locations."""
    names = (match[0] for match in _VALUE.finditer(other) if match[0].startswith("%"))
    return _VALUE.sub(lambda match: next(names) if match[0].startswith("%") else match[0], text)
