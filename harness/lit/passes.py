"""The passes of the installed wheel: flags and options, read off its bindings.

A binding such as `passes.ttgpuir.add_pipeline(pm, 3, False)` adds one pass; the pass manager then prints the
pass's flag with every option. Which argument sets which option shows when the argument changes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

# Two values of each kind of argument, and how each prints. 0 and "" say "not set" to some passes.
_PROBES: Mapping[str, tuple[Any, Any]] = {"int": (7, 11), "str": ("first", "second"), "bool": (False, True)}
_ANCHORED = re.compile(r"any\((?:[\w.]+\()?(?P<flag>[\w-]+)(?:\{(?P<options>.*?)\})?\)*$", re.DOTALL)
_OPTION = re.compile(r"([\w-]+)=(\{.*?\}|\S*)")
_INTEGERS = ("int", "SupportsInt", "SupportsIndex")
# Defaults that Triton declares for passes which no release can be asked about: their factories want arguments.
_DECLARED: Mapping[str, Mapping[str, str]] = {
    "convert-builtin-func-to-llvm": {"ftz": "true"},
    "convert-triton-amdgpu-to-llvm": {"ftz": "true"},
}


@dataclass(frozen=True)
class PassBinding:
    """A binding of the wheel: the pass it adds and what it lets one say.

    parameters  kinds of its arguments, in order: "int", "str" or "bool"
    options     the option that each argument sets; "" where it sets none that shows
    fixed       every other option, with the value that the binding gives it
    """

    name: str
    flag: str
    add: Callable[..., Any] = field(repr=False, compare=False)
    parameters: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    fixed: Mapping[str, str] = field(default_factory=dict)

    def arguments(self, given: Mapping[str, str]) -> list[Any] | None:
        """What to call it with for these options; None where it cannot say them, or needs others too."""
        others = {name: value for name, value in given.items() if name not in self.options}
        if any(self.fixed.get(name) != value for name, value in others.items()):
            return None
        known = {**_DECLARED.get(self.flag, {}), **given}
        if "" in self.options or not set(self.options) <= set(known):
            return None
        try:
            return [_READ[kind](known[name]) for kind, name in zip(self.parameters, self.options, strict=True)]
        except (ValueError, KeyError):
            return None


def pass_bindings(libtriton: ModuleType, context: Any) -> dict[str, list[PassBinding]]:
    """Every binding that adds a pass, by flag. A few milliseconds; starts no thread."""
    found: dict[str, list[PassBinding]] = {}
    for name, function in _functions(libtriton, "libtriton"):
        parameters = _parameters(function.__doc__ or "")
        binding = None if parameters is None else _probed(libtriton, context, name, function, parameters)
        if binding is not None:
            found.setdefault(binding.flag, []).append(binding)
    return found


def _functions(module: ModuleType, name: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    for attribute in sorted(vars(module)):
        value = getattr(module, attribute)
        if isinstance(value, ModuleType):
            yield from _functions(value, f"{name}.{attribute}")
        elif not attribute.startswith("_") and callable(value) and "pass_manager" in (value.__doc__ or ""):
            yield f"{name}.{attribute}", value


def _parameters(signature: str) -> tuple[str, ...] | None:
    """The kinds of the arguments after the pass manager; None for a function that adds no pass as text could."""
    match = re.search(r"\((?P<inner>.*)\) -> None", signature.strip().splitlines()[0])
    if match is None:
        return None
    kinds = [part.partition(":")[2].partition("=")[0].strip() for part in match["inner"].split(", ") if ":" in part]
    if not kinds or "pass_manager" not in kinds[0]:
        return None
    plain = [_kind(text) for text in kinds[1:]]
    return None if None in plain else tuple(one for one in plain if one)


def _kind(text: str) -> str | None:
    if text in ("bool", "str"):
        return text
    return "int" if any(word in text for word in _INTEGERS) else None


def _probed(
    libtriton: ModuleType, context: Any, name: str, function: Callable[..., Any], parameters: tuple[str, ...]
) -> PassBinding | None:
    def printed(values: list[Any]) -> tuple[str, dict[str, str]] | None:
        manager = libtriton.ir.pass_manager(context)
        try:
            function(manager, *values)
        except TypeError:  # its documentation does not say how it is called
            return None
        return parse_printed(manager.get_pipeline_str())

    first = [_PROBES[kind][0] for kind in parameters]
    base = printed(first)
    if base is None:
        return None
    flag, defaults = base
    options = []
    for place, kind in enumerate(parameters):
        changed = printed([*first[:place], _PROBES[kind][1], *first[place + 1 :]])
        options.append(_difference(defaults, changed[1] if changed else {}))
    fixed = {option: value for option, value in defaults.items() if option not in options}
    return PassBinding(name, flag, function, parameters, tuple(options), fixed)


def parse_printed(pipeline: str) -> tuple[str, dict[str, str]] | None:
    """Flag and options of the one pass in a printed pipeline, whatever op it is nested in; None for several passes."""
    match = _ANCHORED.match(pipeline.strip())
    if match is None:
        return None
    return match["flag"], dict(_OPTION.findall(match["options"] or ""))


def _difference(one: Mapping[str, str], other: Mapping[str, str]) -> str:
    """The one option that differs; "" if none or several do."""
    names = [name for name in one if one[name] != other.get(name)]
    return names[0] if len(names) == 1 else ""


def _read_bool(text: str) -> bool:
    return {"true": True, "1": True, "": True, "false": False, "0": False}[text.lower()]


_READ: Mapping[str, Callable[[str], Any]] = {"int": int, "str": str, "bool": _read_bool}
