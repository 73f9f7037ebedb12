"""The names of the C++ symbols that a shared library exports, from its ELF tables."""

from __future__ import annotations

import mmap
import re
import struct
from pathlib import Path

_DYNAMIC_SYMBOLS = 11  # SHT_DYNSYM
_SECTION = struct.Struct("<IIQQQQIIQQ")

# A namespace is written in small letters in MLIR; what is not is a class, whose functions take a `this`.
_NAMESPACE = re.compile(r"[a-z][a-z0-9_]*|LLVM")

# Functions of a factory's form that make something else.
_NO_PASSES = frozenset({"createDataFlowSolver"})


def exported_symbols(library: Path) -> list[str]:
    """Every name in the table of dynamic symbols. Raises ValueError for a file that is no 64-bit ELF library."""
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        if content[:5] != b"\x7fELF\x02":
            raise ValueError(f"{library} is no 64-bit ELF library")
        return _names(content)


def pass_factories(symbols: list[str]) -> list[str]:
    """Functions `create...()` without parameters in MLIR's and Triton's namespaces: each makes one pass."""
    return sorted(name for name in symbols if name.startswith("_ZN4mlir") and name.endswith("Ev") and _is_factory(name))


def _names(content: mmap.mmap) -> list[str]:
    (table,) = struct.unpack_from("<Q", content, 0x28)
    size, count, _ = struct.unpack_from("<HHH", content, 0x3A)
    sections = [_SECTION.unpack_from(content, table + index * size) for index in range(count)]
    symbols = next((one for one in sections if one[1] == _DYNAMIC_SYMBOLS), None)
    if symbols is None:
        return []
    _, _, _, _, start, length, *_ = sections[symbols[6]]
    return [name.decode() for name in content[start : start + length].split(b"\0") if name.startswith(b"_Z")]


def _is_factory(symbol: str) -> bool:
    parts, rest = _nested_name(symbol)
    if not parts or rest != "Ev":
        return False
    *scope, name = parts
    in_namespaces = all(_NAMESPACE.fullmatch(part) for part in scope) and "impl" not in scope
    return in_namespaces and re.fullmatch(r"create[A-Z]\w*", name) is not None and name not in _NO_PASSES


def _nested_name(symbol: str) -> tuple[list[str], str]:
    """`_ZN4mlir6triton4makeEv` is mlir, triton, make and the rest, `Ev`."""
    rest, parts = symbol.removeprefix("_ZN"), []
    while digits := re.match(r"\d+", rest):
        end = digits.end() + int(digits[0])
        parts.append(rest[digits.end() : end])
        rest = rest[end:]
    return parts, rest
