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
_COUNT = re.compile(r":\d+")  # of the results of one name
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
    """The lines of ops with an effect, and of definitions that come after a use."""
    values = _Values()
    for line in lines:
        results = _RESULTS.match(line)
        if results is None:
            if _FUNCTION.match(line) is not None:
                values.forget()
            yield values.named(line)
            continue
        names, rest = _NAME.findall(results[1]), results[2]
        meaning = values.meaning(rest)
        if meaning is None:
            expression = values.named(rest)
            yield f"{values.define(names)}{':'.join(_COUNT.findall(results[1]))} = {expression}"
        else:
            yield from values.stand_for(names, meaning)


class _Values:
    """What values are called in a key: a number, or a digest of what they are computed from."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._used: set[str] = set()  # numbered where they were used, or as a block's argument
        self._count = 0

    def forget(self) -> None:
        """A function sees no value of another."""
        self._names.clear()
        self._used.clear()

    def named(self, text: str) -> str:
        return _NAME.sub(self._value, text)

    def _value(self, match: re.Match[str]) -> str:
        name = match[0]
        if name not in self._names:
            self._names[name] = self._number()
            self._used.add(name)
        return self._names[name]

    def _number(self) -> str:
        self._count += 1
        return f"%{self._count}"

    def meaning(self, op: str) -> str | None:
        """What an op's results stand for; None where they need numbers of their own."""
        converted = _CONVERSION.match(op)
        if converted is not None:
            return self.named(converted[1])
        name = _OP_NAME.match(op)
        if name is None or not _is_pure(name[0]) or op.endswith("{"):
            return None
        return "%" + hashlib.blake2b(self.named(op).encode(), digest_size=12).hexdigest()

    def define(self, names: list[str]) -> str:
        """Gives the results of an op with an effect numbers of their own, which are returned."""
        for name in names:
            if name not in self._used:
                self._names[name] = self._number()
        return ", ".join(self._names[name] for name in names)

    def stand_for(self, names: list[str], meaning: str) -> Iterator[str]:
        """Binds results to a meaning. One that was used before, and has a number, is told to be the same."""
        for position, name in enumerate(names):
            whole = meaning if len(names) == 1 else f"{meaning}.{position}"
            if name in self._used:
                self._used.discard(name)
                yield f"{self._names[name]} = {whole}"
            self._names[name] = whole


def _is_pure(name: str) -> bool:
    return is_pure_name(name) or name.startswith("ttg.memdesc_")
