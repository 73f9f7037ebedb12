"""Writing locations: `#loc7`, defined once, wherever an op names one."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import CallSiteLoc, FileLineColLoc, FusedLoc, NameLoc, NoneAttr, UnknownLoc
from xdsl.ir import Attribute

from harness.ir.locations import parts_of


class LocationAliases:
    """The aliases of one module. An alias is numbered after those it is made of, so definitions can be read in
    order; MLIR looks an op's alias up at the end of the file but every other one where it stands, so what
    block arguments refer to is defined before the module, and the rest after it, as Triton prints them."""

    def __init__(self, attribute_text: Callable[[Attribute], str]) -> None:
        self._attribute_text = attribute_text
        self._names: dict[Attribute, str] = {}
        self._bodies: dict[Attribute, str] = {}
        self._early: set[Attribute] = set()

    def name(self, location: Attribute) -> str:
        known = self._names.get(location)
        if known is None:
            body = self._body(location)
            count = len(self._names)
            known = self._names[location] = f"#loc{count}" if count else "#loc"
            self._bodies[location] = body
        return known

    def written_out(self, location: Attribute) -> str:
        """The location itself, in terms of aliases that are defined before the module."""
        for part in parts_of(location):
            self._define_early(part)
        return self._body(location)

    def definitions(self) -> tuple[str, str]:
        """The lines before the module and those after it."""
        before: list[str] = []
        after: list[str] = []
        for location, name in self._names.items():
            lines = before if location in self._early else after
            lines.append(f"{name} = loc({self._bodies[location]})\n")
        return "".join(before), "".join(after)

    def _define_early(self, location: Attribute) -> None:
        if location in self._early:
            return
        self._early.add(location)
        for part in parts_of(location):
            self._define_early(part)

    def _body(self, location: Attribute) -> str:
        if isinstance(location, UnknownLoc):
            return "unknown"
        if isinstance(location, FileLineColLoc):
            return f"{self._attribute_text(location.filename)}:{location.line.data}:{location.column.data}"
        if isinstance(location, NameLoc):
            name = self._attribute_text(location.desc)
            return name if isinstance(location.location, NoneAttr) else f"{name}({self.name(location.location)})"
        if isinstance(location, CallSiteLoc):
            return f"callsite({self.name(location.callee)} at {self.name(location.caller)})"
        if isinstance(location, FusedLoc):
            parts = ", ".join(self.name(part) for part in parts_of(location))
            metadata = location.metadata
            return f"fused{'' if isinstance(metadata, NoneAttr) else f'<{self._attribute_text(metadata)}>'}[{parts}]"
        raise ValueError(f"{location} is not a location")
