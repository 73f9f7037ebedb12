"""Whether the libraries still have their own functions and classes, where a case file may have put others.

Cases of one file have one author, who may patch what they share. Those of another file must not meet it.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

# What kernels, references and the harness compute with.
_LIBRARIES = frozenset({"harness", "numpy", "torch", "triton", "xdsl"})


@dataclass(frozen=True)
class Callables:
    """(a module's or a class's names, those of them that can be called) for each there is. What is imported later is
    not in it, and what merely caches or counts can change freely."""

    places: tuple[tuple[Mapping[str, Any], Mapping[str, Any]], ...] = ()

    @classmethod
    def found_now(cls) -> Callables:
        """Those of every library that is imported: some 40,000, in 80 ms."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a deprecated value says so when it is looked at
            return cls(tuple((names, _callable_ones(names)) for names in _namespaces()))

    def are_in_place(self) -> bool:
        return all(names.get(name) is value for names, found in self.places for name, value in found.items())


def _namespaces() -> Iterator[Mapping[str, Any]]:
    classes: dict[int, type] = {}
    for module in [value for name, value in sys.modules.items() if _is_of_library(name)]:
        if not isinstance(module, ModuleType):
            continue
        yield vars(module)
        classes.update((id(value), value) for value in _classes_of(module))
    yield from map(vars, classes.values())


def _classes_of(module: ModuleType) -> list[type]:
    return [value for value in vars(module).values() if isinstance(value, type) and _is_of_library(value.__module__)]


def _is_of_library(module: object) -> bool:
    return isinstance(module, str) and module.partition(".")[0] in _LIBRARIES


def _callable_ones(names: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in names.items() if callable(value)}
