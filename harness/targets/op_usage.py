"""Which ops a module holds, and on which types: read off its text, so that every run can afford it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

# An op at the place of its name, as in harness.targets.operation, with the keyword that follows it.
_OP = re.compile(r'^\s*(?:%[^=]*=\s*)?"?(?P<name>[a-z]\w*\.[a-z_][\w.]*)"?(?:\s+(?P<keyword>[a-z]\w*)\b)?')
_TYPE = re.compile(r"(?<=[\s<(,x*])(f64|f32|f16|bf16|f8E\w+|i1|i8|i16|i32|i64)(?=[\s>,)]|$)")
_ATTRIBUTES = re.compile(r"<?\{[^{}]*\}>?")
_FORMATS = re.compile(r"\b[lr]hs = (\w+)")

_STRUCTURE = {"tt.func"}  # in every module, and its types are the arguments'
_FIRST_TYPE = {"tt.dot"}
_LAST_TYPE = {"arith.select", "tt.atomic_cas"}  # a mask or condition stands before the operand
_PAIR = {
    *("arith.extf", "arith.truncf", "arith.extsi", "arith.extui", "arith.trunci", "arith.sitofp", "arith.uitofp"),
    *("arith.fptosi", "arith.fptoui", "tt.fp_to_fp", "tt.bitcast"),
}
_KEYWORD_ONLY = {"tt.get_program_id", "tt.get_num_programs"}
_KEYWORD_AND_TYPES = {"arith.cmpi", "arith.cmpf"}
_KEYWORD_WITH_LAST_TYPE = {"tt.atomic_rmw"}


def ops_used(texts: Iterable[str]) -> dict[str, list[str]]:
    """By op: the element types it appears on, as MLIR writes them, sorted.

    Casts give pairs (`f16->f32`), comparisons their predicates too, atomics their kind and type
    (`fadd f32`), program ids their axis, scaled dots their formats. Ops without types give [].
    """
    used: dict[str, set[str]] = {}
    for text in texts:
        _read(text, used)
    return {name: sorted(types) for name, types in sorted(used.items())}


def _read(text: str, used: dict[str, set[str]]) -> None:
    regions: list[str] = []  # ops whose types stand behind their region
    for line in text.splitlines():
        line = line.partition(" loc(")[0].rstrip()
        if line.lstrip().startswith("})") and regions:
            name = regions.pop()
            used[name].update(_variants(name, "", line))
            continue
        found = _OP.match(line)
        if found is None or found["name"] in _STRUCTURE:
            continue
        name = found["name"]
        used.setdefault(name, set()).update(_variants(name, found["keyword"] or "", line))
        if line.endswith("({"):
            regions.append(name)


def _variants(name: str, keyword: str, line: str) -> list[str]:
    if name == "tt.dot_scaled":
        return _FORMATS.findall(line)
    types = _TYPE.findall(_ATTRIBUTES.sub("", line))
    for names, choose in _CHOICES:
        if name in names:
            return choose(keyword, types)
    return types


def _pair(keyword: str, types: list[str]) -> list[str]:
    return [f"{types[0]}->{types[-1]}"] if types else []


_CHOICES: tuple[tuple[set[str], Callable[[str, list[str]], list[str]]], ...] = (
    (_FIRST_TYPE, lambda keyword, types: types[:1]),
    (_LAST_TYPE, lambda keyword, types: types[-1:]),
    (_PAIR, _pair),
    (_KEYWORD_ONLY, lambda keyword, types: [keyword]),
    (_KEYWORD_AND_TYPES, lambda keyword, types: [keyword, *types]),
    (_KEYWORD_WITH_LAST_TYPE, lambda keyword, types: [f"{keyword} {one}" for one in types[-1:]]),
)
