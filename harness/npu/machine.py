"""The machine that programs are lowered to, simulated on and timed for: its description, read from TOML.

`docs/npu.md` explains every key, with the source of every number of the presets.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import hashlib
import json
import math
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, cast, get_type_hints

from harness.cases.location import SourceLocation
from harness.errors import UsageError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # pyright: ignore[reportMissingImports]

EXCHANGES = ("none", "neighbour", "full")
SPECIAL_FUNCTIONS = ("exp", "exp2", "log", "log2", "tanh", "erf", "sin", "cos", "rsqrt", "sqrt")
# What the matrix unit may multiply: MLIR's names, tf32 for f32 operands read with fewer bits of mantissa.
MATRIX_TYPES = (
    *("i1", "i8", "i16", "i32", "f64", "f32", "tf32", "f16", "bf16"),
    *("f8E5M2", "f8E4M3FN", "f8E5M2FNUZ", "f8E4M3FNUZ", "f8E4M3B11FNUZ", "f6E2M3FN", "f6E3M2FN", "f4E2M1FN"),
)


@dataclass(frozen=True)
class _Whole:
    """A whole number from `low` to `high`."""

    low: int
    high: int
    power_of_two: bool = False

    def fault(self, value: object) -> str:
        if not isinstance(value, int) or isinstance(value, bool):
            return f"must be a whole number, not {_kind(value)}"
        if not self.low <= value <= self.high:
            return f"must be from {self.low} to {self.high}, not {value}"
        if self.power_of_two and value & (value - 1):
            return f"must be a power of two, not {value}"
        return ""


@dataclass(frozen=True)
class _Rate:
    """A positive number, whole or not, up to `high`."""

    high: float

    def fault(self, value: object) -> str:
        if not isinstance(value, int | float) or isinstance(value, bool):
            return f"must be a number, not {_kind(value)}"
        if not (0 < value <= self.high):
            return f"must be above 0 and at most {self.high:g}, not {value}"
        return ""


@dataclass(frozen=True)
class _Name:
    """One of `known`."""

    known: tuple[str, ...]

    def fault(self, value: object) -> str:
        if value in self.known:
            return ""
        return f"must be one of {', '.join(self.known)}, not {value!r}{_meant(value, self.known)}"


@dataclass(frozen=True)
class _Names:
    """A list of some of `known`, each once."""

    known: tuple[str, ...]

    def fault(self, value: object) -> str:
        if not isinstance(value, list):
            return f"must be a list of names, not {_kind(value)}"
        for one in value:
            if fault := _Name(self.known).fault(one):
                return fault
        return "names one twice" if len(set(value)) < len(value) else ""


@dataclass(frozen=True)
class _Table:
    """A table from some of `known` to whole numbers."""

    known: tuple[str, ...]
    value: _Whole

    def fault(self, value: object) -> str:
        if not isinstance(value, dict) or not value:
            return f"must be a table with an entry at least, not {_kind(value)}"
        for key, entry in value.items():
            if fault := _Name(self.known).fault(key) or self.value.fault(entry):
                return f"has {key} = {entry!r}, which {fault}"
        return ""


@dataclass(frozen=True)
class _Text:
    """A name a person gives."""

    def fault(self, value: object) -> str:
        if isinstance(value, str) and re.fullmatch(r"[A-Za-z0-9][\w.-]*", value):
            return ""
        return f"must be a name of letters, digits, '-', '_' and '.', not {value!r}"


_Rule = _Whole | _Rate | _Name | _Names | _Table | _Text


# Cycles, or nanoseconds.
_Duration = Annotated[int, _Whole(0, 1_000_000)]


@dataclass(frozen=True)
class Scalar:
    """The scalar unit, which also hands the instructions to the engines.

    registers     64-bit registers
    latency       cycles until the result of an instruction can be used
    queue_depth   instructions that wait at each engine before the scalar unit has to
    """

    registers: Annotated[int, _Whole(16, 65536)]
    latency: _Duration
    queue_depth: Annotated[int, _Whole(1, 1024)]


@dataclass(frozen=True)
class Vector:
    """The vector unit.

    register_bits        per lane: it takes register_bits / element bits elements of each lane a cycle
    latency              cycles from the last element in to the last one out
    software_operations  vector instructions that an elementary function takes which no unit computes
    """

    register_bits: Annotated[int, _Whole(64, 65536, power_of_two=True)]
    latency: _Duration
    software_operations: Annotated[int, _Whole(1, 10_000)]


@dataclass(frozen=True)
class Special:
    """The special function unit.

    functions                       that it computes; the others are computed by the vector unit, in software
    elements_per_cycle, latency     of a function, per lane
    divisions_per_cycle, division_latency   of divisions and remainders, per lane
    """

    functions: Annotated[tuple[str, ...], _Names(SPECIAL_FUNCTIONS)]
    elements_per_cycle: Annotated[float, _Rate(4096)]
    latency: _Duration
    divisions_per_cycle: Annotated[float, _Rate(4096)]
    division_latency: _Duration


@dataclass(frozen=True)
class Matrix:
    """The matrix unit: an array of rows x columns multipliers that holds b[rows, columns].

    latency       cycles from a row of `a` going in to its products coming out: fill and drain
    load_cycles   for the next b, while the array works on the one before
    passes        per element type the times that every row of `a` goes through the array, as pairs
    """

    rows: Annotated[int, _Whole(1, 4096, power_of_two=True)]
    columns: Annotated[int, _Whole(1, 4096, power_of_two=True)]
    latency: _Duration
    load_cycles: _Duration
    passes: Annotated[tuple[tuple[str, int], ...], _Table(MATRIX_TYPES, _Whole(1, 4096))]

    def passes_of(self, element: str) -> int | None:
        """Of operands of that type; None where the array does not multiply it."""
        return dict(self.passes).get(element)


@dataclass(frozen=True)
class Exchange:
    """How lanes hand data to each other.

    kind      "full": any permutation in one go; "neighbour": shifts by one lane; "none": through DRAM only
    bits      per lane and cycle
    latency   cycles, of a permutation or of a shift by one lane
    """

    kind: Annotated[str, _Name(EXCHANGES)]
    bits: Annotated[int, _Whole(8, 65536, power_of_two=True)]
    latency: _Duration


@dataclass(frozen=True)
class Dma:
    """The transfer engines of a core.

    engines          in each direction
    bytes_per_cycle  of each engine
    latency          cycles of an engine's own for a transfer, before the DRAM's
    setup_cycles     for which a descriptor occupies its engine at least
    dimensions       of a descriptor at most
    elements_per_cycle   of gather and scatter lists
    """

    engines: Annotated[int, _Whole(1, 64)]
    bytes_per_cycle: Annotated[float, _Rate(1 << 20)]
    latency: _Duration
    setup_cycles: _Duration
    dimensions: Annotated[int, _Whole(1, 4)]
    elements_per_cycle: Annotated[float, _Rate(4096)]


@dataclass(frozen=True)
class Dram:
    """The memory that all cores share.

    gigabytes_per_second   10^9 bytes, reads and writes together
    burst_bytes            that an access moves at least
    atomic_ns              for which a read-modify-write of one element occupies its engine
    """

    gigabytes_per_second: Annotated[float, _Rate(1_000_000)]
    latency_ns: _Duration
    burst_bytes: Annotated[int, _Whole(1, 4096, power_of_two=True)]
    atomic_ns: _Duration


@dataclass(frozen=True)
class Machine:
    """A machine description, validated.

    cores              each runs one program of the grid at a time; they share the DRAM
    lanes              of the vector unit, each with its own scratchpad of `scratchpad_bytes`
    uniform_bytes      of the scratchpad that all lanes share
    """

    name: Annotated[str, _Text()]
    cores: Annotated[int, _Whole(1, 1024)]
    clock_mhz: Annotated[float, _Rate(100_000)]
    lanes: Annotated[int, _Whole(1, 4096, power_of_two=True)]
    scratchpad_bytes: Annotated[int, _Whole(256, 1 << 30, power_of_two=True)]
    uniform_bytes: Annotated[int, _Whole(256, 1 << 30, power_of_two=True)]
    scalar: Scalar
    vector: Vector
    special: Special
    matrix: Matrix
    exchange: Exchange
    dma: Dma
    dram: Dram

    @property
    def dram_bytes_per_cycle(self) -> float:
        """Of all cores together."""
        return self.dram.gigabytes_per_second * 1000 / self.clock_mhz

    @property
    def dram_latency(self) -> int:
        """In cycles."""
        return self.cycles(self.dram.latency_ns)

    def cycles(self, nanoseconds: int) -> int:
        """As many cycles as cover that time."""
        return math.ceil(nanoseconds * self.clock_mhz / 1000)

    @functools.lru_cache(maxsize=16)  # noqa: B019
    def fingerprint(self) -> str:
        """A digest of everything in the description: part of the key of whatever is compiled for the machine."""
        return hashlib.sha256(json.dumps(dataclasses.asdict(self), sort_keys=True).encode()).hexdigest()


@functools.lru_cache
def presets() -> tuple[str, ...]:
    """The names of the machines that come with the package."""
    files = (resources.files("harness.npu") / "machines").iterdir()
    return tuple(sorted(file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml")))


def load_machine(name_or_path: str | Path) -> Machine:
    """The preset of that name, or the machine that a TOML file describes.

    A file gives every key, or names in `base` a preset (or a file beside it) and gives what differs: sections are
    laid over key by key, a list or table (`special.functions`, `matrix.passes`) replaces the other.
    Raises UsageError with the file, the line where it can be told, and what was expected.
    """
    if isinstance(name_or_path, str) and name_or_path in presets():
        return _preset(name_or_path)
    text, path = _read(name_or_path, Path())
    return machine_from_toml(text, path)


@functools.lru_cache
def _preset(name: str) -> Machine:
    """Part of the package, and asked for several times in a case."""
    text, path = _read(name, Path())
    return machine_from_toml(text, path)


def machine_from_toml(text: str, path: str) -> Machine:
    """The machine that the text of a TOML file describes; `path` is the file's, for messages and for its base.

    Raises UsageError, as load_machine.
    """
    source = _Source(text, path)
    values = _with_base(source, ())
    return _record(Machine, values, source, "")


def _read(name_or_path: str | Path, folder: Path) -> tuple[str, str]:
    """The text and the path of a preset or of a file, looked for from `folder`."""
    name = str(name_or_path)
    if name in presets():
        file = resources.files("harness.npu") / "machines" / f"{name}.toml"
        return file.read_text(encoding="utf-8"), str(file)
    path = folder / name
    if path.suffix != ".toml" and not path.is_file():
        hint = f"machines are {', '.join(presets())}, or the path of a .toml file"
        raise UsageError(f"there is no machine {name!r}{_meant(name, presets())}", hint=hint)
    try:
        return path.read_text(encoding="utf-8"), str(path)
    except (OSError, ValueError) as error:  # ValueError: bytes that are no UTF-8, a NUL in the path
        raise UsageError(f"cannot read the machine {path}: {error}") from error


class _Source:
    """A TOML file: its tables, and where its keys stand."""

    def __init__(self, text: str, path: str) -> None:
        self.path = path
        self._lines = text.splitlines()
        try:
            self.values: dict[str, Any] = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            line = re.search(r"line (\d+)", str(error))
            number = int(line[1]) if line else len(self._lines) or 1
            raise UsageError(f"not TOML: {error}", SourceLocation(path, number)) from error

    def line(self, section: str, key: str) -> SourceLocation:
        """Of the key, else of its section, else the file's first."""
        whole = _dotted(section, key)
        found, current = 1, ""
        for number, text in enumerate(self._lines, 1):
            if header := _HEADER.match(text):
                current = _unquoted(header[1])
                found = number if current in (section, whole) and current else found
            elif named := _KEY.match(text):
                name = _dotted(current, _unquoted(named[1]))
                if name == whole or (name.startswith(f"{whole}.") and not current.startswith(whole)):
                    return SourceLocation(self.path, number)
                # An inline table is on its section's line.
                found = number if name == section and section else found
        return SourceLocation(self.path, found)


# [section], [[section]], and what stands before a key's "=".
_HEADER = re.compile(r"""\s*\[{1,2}\s*([\w."'\s-]+?)\s*\]""")
_KEY = re.compile(r"""\s*([\w."'\s-]+?)\s*=""")


def _unquoted(key: str) -> str:
    return re.sub(r"""["'\s]""", "", key)


def _with_base(source: _Source, seen: tuple[str, ...]) -> dict[str, Any]:
    """The values of a file over those of its base; a section is laid over key by key."""
    base = source.values.pop("base", None)
    if base is None:
        return source.values
    where = source.line("", "base")
    if not isinstance(base, str):
        raise UsageError(f"base must be the name of a machine, not {_kind(base)}", where)
    if source.path in seen:
        raise UsageError(f"{source.path} is its own base", where)
    try:
        text, path = _read(base, Path(source.path).parent)
    except UsageError as error:
        raise UsageError(error.what, where, error.hint) from error
    base_source = _Source(text, path)
    below = _with_base(base_source, (*seen, source.path))
    _record(Machine, below, base_source, "")  # so that its mistakes are told at its own lines
    return below | {key: _over(below.get(key), value) for key, value in source.values.items()}


def _over(below: object, value: object) -> object:
    if isinstance(below, dict) and isinstance(value, dict):
        return below | value
    return value


def _record(kind: type[Any], values: dict[str, Any], source: _Source, section: str) -> Any:
    """A record from its table. Raises UsageError for a key that is unknown, missing or out of its range."""
    hints = get_type_hints(kind, include_extras=True)
    for key in values:
        if key not in hints:
            known = list(hints) if section else [*hints, "base"]
            what = f"unknown key {_dotted(section, key)!r}{_meant(key, known)}"
            raise UsageError(what, source.line(section, key), hint=f"known: {', '.join(known)}")
    if missing := [name for name in hints if name not in values]:
        what = f"{', '.join(_dotted(section, name) for name in missing)} not given"
        raise UsageError(what, source.line(section, ""), hint='or start from a preset: base = "default"')
    return kind(**{key: _value(hint, values[key], source, section, key) for key, hint in hints.items()})


def _value(hint: Any, value: Any, source: _Source, section: str, key: str) -> Any:
    """The value of a field: a section's record, or what its rule, in the field's type, lets through."""
    if dataclasses.is_dataclass(hint):
        if not isinstance(value, dict):
            what = f"{key} must be a section, not {_kind(value)}"
            raise UsageError(what, source.line(section, key), hint=f"its header is [{key}]")
        return _record(cast("type[Any]", hint), value, source, key)
    rule: _Rule = hint.__metadata__[0]
    if fault := rule.fault(value):
        where = _line_of_fault(rule, value, source, section, key)
        raise UsageError(f"{_dotted(section, key)} {fault}", where)
    if isinstance(value, list):
        return tuple(value)
    return tuple(sorted(value.items())) if isinstance(value, dict) else value


def _line_of_fault(rule: _Rule, value: Any, source: _Source, section: str, key: str) -> SourceLocation:
    """Of the entry where the rule is about a table."""
    if not isinstance(rule, _Table) or not isinstance(value, dict):
        return source.line(section, key)
    wrong = (entry for entry in value.items() if rule.fault(dict([entry])))
    return source.line(_dotted(section, key), next(wrong, ("", 0))[0])


def _dotted(section: str, key: str) -> str:
    return f"{section}.{key}" if section else key


def _kind(value: object) -> str:
    """What the value is, as its author would say, and the value where it is short."""
    if isinstance(value, bool):
        return f"a truth value ({str(value).lower()})"
    if isinstance(value, list):
        return "a list of sections ([[...]])" if value and all(isinstance(one, dict) for one in value) else "a list"
    if isinstance(value, dict):
        return "a table with no entry" if not value else "a table"
    names: dict[type, str] = {int: "a whole number", float: "a number with decimals", str: "text in quotes"}
    return f"{names.get(type(value), 'a date or time')} ({_shortened(value)})"


def _shortened(value: object, most: int = 40) -> str:
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, str) else str(value)
    return text if len(text) <= most else f"{text[:most]}..."


def _meant(name: object, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(str(name), list(known), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
