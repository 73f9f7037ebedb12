"""The manual's tables are the code's: instructions, keys of a machine description, the presets' numbers."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from harness.npu.isa.opcodes import OPCODES
from harness.npu.machine import load_machine

MANUAL = Path(__file__).parents[2] / "docs" / "npu.md"


def instruction_rows() -> list[str]:
    """A row of the manual for every opcode."""
    return [
        f"| {code.number} | `{code.name}` | {code.engine.value} | {_names(code.results)} | {_names(code.operands)} "
        f"| {_names(code.immediates)} |"
        for code in OPCODES.values()
    ]


def key_rows(sources: Mapping[str, str]) -> list[str]:
    """A row for every number of a description, with what the presets have and where that comes from."""
    machines = [load_machine(name) for name in ("default", "tiny", "wide")]
    keys = [key for key, _ in _numbers(machines[0])]
    values = [dict(_numbers(machine)) for machine in machines]
    return [f"| `{key}` | {' | '.join(str(one[key]) for one in values)} | {sources[key]} |" for key in keys]


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "-"


def _numbers(record: Any, section: str = "") -> Iterator[tuple[str, object]]:
    """Every key with its value; lists and tables by how many they have."""
    for field in dataclasses.fields(record):
        value = getattr(record, field.name)
        if dataclasses.is_dataclass(value):
            yield from _numbers(value, f"{field.name}.")
        elif field.name != "name":
            yield f"{section}{field.name}", f"{len(value)} of them" if isinstance(value, tuple) else value


def _rows_under(heading: str) -> list[str]:
    """The rows of the first table under a heading, without the two of its head."""
    section = MANUAL.read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return [line for line in section.splitlines() if line.startswith("|")][2:]


def test_the_table_of_instructions_is_that_of_the_code():
    rows = _rows_under("Instructions")
    assert rows == instruction_rows()


def test_every_number_of_the_presets_is_in_the_manual_with_its_source():
    rows = _rows_under("The numbers")
    sources = {row.split("`")[1]: row.rstrip("| ").rsplit(" | ", 1)[1] for row in rows}
    assert rows == key_rows(sources)
    assert all(re.search(r"\[\d\]|ours|issue|chosen", source) for source in sources.values()), sources
