"""What a kernel is told whose values do not fit into a scratchpad."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.ir import Operation, SSAValue

from harness.cases.location import SourceLocation
from harness.errors import Refusal
from harness.executor.types import element
from harness.ir import source_location
from harness.npu.lowering.placed import is_tile, shape_of

if TYPE_CHECKING:
    from harness.npu.machine import Machine

_NAMED = 3  # values in the message
_SPACES = {
    "scratchpad": "bytes of each lane's scratchpad",
    "uniform": "bytes of the uniform scratchpad",
    "registers": "scalar registers",
}

Held = tuple[int, int, int, list[SSAValue]]  # size, first and last position, the values that share it


def refuse(space: str, used: int, budget: int, held: list[Held], machine: Machine) -> None:
    """Raises Refusal: usage, budget, the largest values that live together, and a block size that would fit."""
    at = _fullest(held)
    together = sorted((one for one in held if one[1] <= at <= one[2]), key=lambda one: (-one[0], one[1]))
    named = "; ".join(_told(size, values) for size, _, _, values in together[:_NAMED])
    where = next((place for _, _, _, values in together if (place := _place(values))), None)
    what = f"the kernel needs {used} {_SPACES[space]}, and machine {machine.name!r} has {budget}; the largest: {named}"
    raise Refusal(what, where, _advice(space, used, budget, together))


def _fullest(held: list[Held]) -> int:
    """A position where most bytes are alive."""
    changes = sorted(change for size, start, end, _ in held for change in ((start, 0, size), (end, 1, -size)))
    most, total, at = 0, 0, 0
    for position, _, change in changes:
        total += change
        if total > most:
            most, at = total, position
    return at


def _told(size: int, values: list[SSAValue]) -> str:
    value = values[0]
    place = _place(values)
    line = f" at {place}" if place else ""
    return f"{size} for {_type_text(value)}{line}"


def _type_text(value: SSAValue) -> str:
    if not is_tile(value):
        return f"a scalar {element(value.type)}"
    return f"tensor<{'x'.join(map(str, shape_of(value)))}x{element(value.type)}>"


def _place(values: list[SSAValue]) -> SourceLocation | None:
    for value in values:
        owner = value.owner
        operation = owner if isinstance(owner, Operation) else owner.parent_op()
        place = source_location(operation) if operation is not None else None
        if place is not None:
            return place
    return None


def _advice(space: str, used: int, budget: int, together: list[Held]) -> str:
    """Usage is about proportional to the elements of the tiles: the power of two that brings it under the budget."""
    tiles = [shape_of(values[0]) for _, _, _, values in together if is_tile(values[0])]
    if space == "registers" or not tiles:
        return "split the kernel"
    factor = 1 << (-(-used // budget) - 1).bit_length()
    shape = list(tiles[0])
    before = "x".join(map(str, shape))
    while factor > 1 and max(shape) > 1:
        widest = shape.index(max(shape))
        shape[widest] //= 2
        factor //= 2
    return f"blocks of {'x'.join(map(str, shape))} in place of {before} would fit"
