"""Which modules are the same program to the executor, which knows no layouts: read off their text, unparsed.

Most passes of a pipeline change only how tensors are spread over threads, in which order independent ops stand, or in
which stage of a software pipeline they are to run. Parsing, planning and running such a module again would say
nothing new.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator

from harness.executor.analysis import is_pure_name

_SHORT_LOCATION = re.compile(r" ?loc\((?:#loc\d*|unknown)\)")
_QUOTED = r"\"(?:[^\"\\]|\\.)*\""
_LOCATION = re.compile(
    rf" ?loc\((?:[^()\"]|{_QUOTED}|\((?:[^()\"]|{_QUOTED}|\((?:[^()\"]|{_QUOTED}|\([^()]*\))*\))*\))*\)"
)
_LAYOUTS = "slice|dot_op|blocked|linear|nvidia_mma|amd_mfma|amd_wmma"
_DEFINED_LOCATION = re.compile(r"^#loc\d* = .*\n", re.MULTILINE)
_DEFINED_LAYOUT = re.compile(rf"^#\w+ = #ttg\.(?:{_LAYOUTS})<.*\n", re.MULTILINE)
# Layouts written out, the innermost first.
_LAYOUT = re.compile(rf"#ttg\.(?:{_LAYOUTS})<\{{[^<>]*\}}>")
_OF_TENSOR = re.compile(r"(tensor<(?:[^<>,]|<[^<>]*>)*), #\w+>")
# What only later passes read. A loop's body, an op's result: nothing of it is a value.
_HINT = re.compile(
    r"(?:loop\.stage|loop\.cluster|tt\.latency|tt\.self_latency|tt\.scheduled_max_stage|ttg\.partition"
    r"|tt\.divisibility|tt\.contiguity|tt\.constancy) = [^,{}]*(?:, )?"
)
_NO_ATTRIBUTES = re.compile(r" ?\{(?:, )?\}")
_MODULE = re.compile(r"^module attributes \{[^\n]*\} \{$", re.MULTILINE)
_DEAD_BLOCK = re.compile(r"^ *\^bb\d+(?:\([^()\n]*\))?:  // no predecessors\n(?:(?! *\^bb| *\}$).*\n)*", re.MULTILINE)
_SYMBOL = r"@(?:\"[^\"]*\"|[\w.$-]+)"
_FUNCTION = re.compile(rf"^ *tt\.func (?:(?P<visibility>public|private) )?(?P<name>{_SYMBOL})", re.MULTILINE)
_CALL = re.compile(rf"tt\.call ({_SYMBOL})")
_NAME = re.compile(r"%[\w$.-]+")
_RESULTS = re.compile(r"^ *(%[\w$.-]+(?::\d+)?(?:, %[\w$.-]+)*) = (.*)$")
_OP_NAME = re.compile(r"[\w.]+")
_CONVERSION = re.compile(r"ttg\.convert_layout (%[\w$.-]+(?:#\d+)?)")


def without_locations(text: str) -> str:
    """The text of a module, or of lines of one, without locations."""
    text = _SHORT_LOCATION.sub("", _DEFINED_LOCATION.sub("", text))
    return _LOCATION.sub("", text) if "loc(" in text else text


def without_layouts(text: str) -> str:
    """Likewise without the layouts of tensors."""
    text = _DEFINED_LAYOUT.sub("", text)
    while (inner := _LAYOUT.sub("#L", text)) != text:
        text = inner
    return _OF_TENSOR.sub(r"\1>", text)


def without_hints(text: str) -> str:
    """Likewise without what only later passes read: the scheduler's attributes, and what is known of integers."""
    return _NO_ATTRIBUTES.sub("", _HINT.sub("", text).replace(", }", "}"))


def program_key(text: str) -> str:
    """Equal for two modules only if they are the same program: the same effects, in the same order, of the same values.

    Layouts of tensors, conversions between them, locations, names of values, the scheduler's hints and the place
    of ops that have no effect are left out; all else, layouts of shared memory included, counts.
    """
    text = without_hints(without_layouts(without_locations(text)))
    text = _DEAD_BLOCK.sub("", _MODULE.sub("module {", text))
    return "\n".join(_numbered(_reachable(text).splitlines()))


def _reachable(text: str) -> str:
    """The module without the functions that no public one calls."""
    starts = list(_FUNCTION.finditer(text))
    if len(starts) < 2:
        return text
    ends = [*(start.start() for start in starts[1:]), len(text)]
    bodies = {start["name"]: text[start.start() : end] for start, end in zip(starts, ends, strict=True)}
    wanted = [start["name"] for start in starts if start["visibility"] != "private"]
    for name in wanted:
        wanted += [callee for callee in dict.fromkeys(_CALL.findall(bodies.get(name, ""))) if callee not in wanted]
    return text[: starts[0].start()] + "".join(bodies.get(name, "") for name in wanted)


def _numbered(lines: list[str]) -> Iterator[str]:
    """The lines of ops with an effect. A value is its number, or what it is computed from, as a digest."""
    values: dict[str, str] = {}
    count = 0

    def value(match: re.Match[str]) -> str:
        nonlocal count
        name = match[0]
        if name not in values:
            values[name] = f"%{count}"
            count += 1
        return values[name]

    for line in lines:
        results = _RESULTS.match(line)
        if results is None:
            yield _NAME.sub(value, line)
            continue
        names, rest = results[1], results[2]
        converted = _CONVERSION.match(rest)
        if converted is not None:
            values[names] = _NAME.sub(value, converted[1])
            continue
        expression = _NAME.sub(value, rest)
        op_name = _OP_NAME.match(rest)
        if op_name is not None and _is_pure(op_name[0]) and not rest.endswith("{"):
            digest = hashlib.blake2b(expression.encode(), digest_size=12).hexdigest()
            for position, name in enumerate(_NAME.findall(names)):
                values[name] = f"%{digest}.{position}"
            continue
        for name in _NAME.findall(names):
            values[name] = f"%{count}"
            count += 1
        yield f"{_NAME.sub(value, names)} = {expression}"


def _is_pure(name: str) -> bool:
    return is_pure_name(name) or name.startswith("ttg.memdesc_")
