"""What has been read before, kept by its text.

A module says the same things again and again, and the module after the next pass says most of them once more: types,
layouts, dictionaries, whole ops but for the names of their values. All of these are immutable, so where the text alone
decides what they are it is read once. An alias (`#blocked`) stands for its definition in such a text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from xdsl.dialects.builtin import UNKNOWN_LOC, DenseIntOrFPElementsAttr
from xdsl.ir import Attribute, Operation, SSAValue

V = TypeVar("V")

_NAME = re.compile(r"%([\w$.-]+(?:#\d+)?)")
_MOST = 4096
_MOST_BYTES = 4096


class Bounded(dict[str, V]):
    """Starts afresh when it is full: nothing in it is needed, and a session reads any number of modules."""

    def keep(self, key: str, value: V) -> None:
        if len(self) >= _MOST:
            self.clear()
        self[key] = value


class Recipe(NamedTuple):
    """An op but for the values it uses: `order` says which of the names in its text each operand is."""

    op_type: type[Operation]
    order: tuple[int, ...]
    operand_types: tuple[Attribute, ...]
    result_types: tuple[Attribute, ...]
    properties: Mapping[str, Attribute]
    attributes: Mapping[str, Attribute]

    def operands(self, values: Sequence[SSAValue]) -> list[SSAValue] | None:
        """The operands, or None where one is not of the type this op takes."""
        found = []
        for index, type_ in zip(self.order, self.operand_types, strict=True):
            value = values[index]
            if value.type is not type_ and value.type != type_:
                return None
            found.append(value)
        return found

    def build(self, operands: Sequence[SSAValue]) -> Operation:
        return self.op_type.create(
            operands=operands,
            result_types=self.result_types,
            properties=self.properties,
            attributes=self.attributes,
            location=UNKNOWN_LOC,
        )

    @property
    def large(self) -> bool:
        """Whether keeping it would keep a large constant."""
        value = self.properties.get("value")
        return isinstance(value, DenseIntOrFPElementsAttr) and len(value.data.data) > _MOST_BYTES


def recipe_of(op: Operation, values: Sequence[SSAValue]) -> Recipe | None:
    """How to make this op again, from the values that its text names in this order. None where the text may say more
    than operands and attributes, or not which name is which operand."""
    if op.regions or op.successors:
        return None
    operands = tuple(op.operands)
    places = {value: place for place, value in enumerate(values)}
    if len(places) != len(values) or places.keys() != set(operands):
        return None
    return Recipe(
        type(op),
        tuple([places[operand] for operand in operands]),
        tuple([operand.type for operand in operands]),
        tuple([result.type for result in op.results]),
        dict(op.properties),
        dict(op.attributes),
    )


def names_apart(text: str) -> tuple[str, list[str]]:
    """The text of an op, which is one line, with line ends for the names of its values; and these names."""
    parts = _NAME.split(text)
    return "\n".join(parts[::2]), parts[1::2]


@dataclass
class Memo:
    """Shared by all modules; the keys hold no alias."""

    attributes: Bounded[Attribute] = field(default_factory=Bounded)
    types: Bounded[Attribute] = field(default_factory=Bounded)
    dictionaries: Bounded[Mapping[str, Attribute]] = field(default_factory=Bounded)
    recipes: Bounded[Recipe] = field(default_factory=Bounded)
