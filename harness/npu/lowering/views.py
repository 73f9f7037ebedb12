"""Which bytes a value names: every tile and scalar is a layout over a root that has storage, or over a constant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from harness.executor.types import get
from harness.npu.lowering.layouts import (
    Layout,
    Placement,
    broadcast,
    dense,
    expanded,
    half,
    reshaped,
    transposed,
)
from harness.npu.lowering.placed import is_tile, placement_of, shape_of, width_of

_CONSTANTS = frozenset({"arith.constant", "ub.poison"})
_SAME_BYTES = frozenset({"tt.bitcast", "arith.bitcast", "tt.int_to_ptr"})


@dataclass(frozen=True)
class View:
    """A tile or scalar, as a layout of the storage of `root`. A scalar, or a constant tile, repeats its one element:
    all strides are 0."""

    root: SSAValue
    layout: Layout

    @property
    def is_constant(self) -> bool:
        return is_constant(self.root)


def is_constant(value: SSAValue) -> bool:
    """Whether the value is in the program's constant pool and takes no storage."""
    return isinstance(value.owner, Operation) and value.owner.name in _CONSTANTS


class Views:
    """The views of the values of a placed module."""

    def __init__(self, lanes: int) -> None:
        self._lanes = lanes
        self._of: dict[SSAValue, View] = {}

    def of(self, value: SSAValue) -> View:
        found = self._of.get(value)
        if found is None:
            found = self._of[value] = self._find(value)
        return found

    def has_storage(self, value: SSAValue) -> bool:
        """Whether the value is its own root and takes bytes or a register."""
        return self.of(value).root is value and not is_constant(value)

    def own(self, value: SSAValue) -> Layout:
        """The layout of a tile with storage of its own."""
        return dense(shape_of(value), placement_of(value), self._lanes)

    def is_whole(self, value: SSAValue) -> bool:
        """Whether a tile is all of its root's storage, in the order that storage of its own would have."""
        view = self.of(value)
        return not is_constant(view.root) and is_tile(view.root) and view.layout == self.own(value)

    def _find(self, value: SSAValue) -> View:
        if not is_tile(value):
            return View(value, Layout((), (), None))
        operation = value.owner
        rule = _VIEWS.get(operation.name) if isinstance(operation, Operation) else None
        if rule is not None:
            assert isinstance(operation, Operation)
            view = rule(self, operation, value)
            if view is not None:
                return view
        if is_constant(value):
            shape = shape_of(value)
            return View(value, Layout(shape, (0,) * len(shape), None))
        return View(value, self.own(value))

    # --- one method per kind of view; None where the op has to move elements

    def splat(self, operation: Operation, value: SSAValue) -> View:
        shape = shape_of(value)
        return View(operation.operands[0], Layout(shape, (0,) * len(shape), None))

    def broadcast(self, operation: Operation, value: SSAValue) -> View:
        source = self.of(operation.operands[0])
        return View(source.root, broadcast(source.layout, shape_of(value)))

    def expand_dims(self, operation: Operation, value: SSAValue) -> View:
        source = self.of(operation.operands[0])
        return View(source.root, expanded(source.layout, get(operation, "axis")))

    def trans(self, operation: Operation, value: SSAValue) -> View:
        source = self.of(operation.operands[0])
        return View(source.root, transposed(source.layout, get(operation, "order")))

    def reshape(self, operation: Operation, value: SSAValue) -> View | None:
        source = self.of(operation.operands[0])
        placement: Placement = None if not is_tile(source.root) else placement_of(value)
        layout = reshaped(source.layout, shape_of(value), placement, self._lanes)
        return None if layout is None else View(source.root, layout)

    def split(self, operation: Operation, value: SSAValue) -> View | None:
        source = self.of(operation.operands[0])
        if not is_tile(source.root):
            return View(source.root, Layout(shape_of(value), (0,) * len(shape_of(value)), None))
        layout = half(source.layout, operation.results.index(value), width_of(value.type))
        return None if layout is None else View(source.root, layout)

    def same_bytes(self, operation: Operation, value: SSAValue) -> View | None:
        """A register is not read as another type than it was written as."""
        source = self.of(operation.operands[0])
        if is_constant(source.root) or not is_tile(source.root):
            return None
        return source

    def waited(self, operation: Operation, value: SSAValue) -> View:
        return self.of(operation.operands[1])


_Rule = Callable[[Views, Operation, SSAValue], View | None]
_VIEWS: dict[str, _Rule] = {
    "tt.splat": Views.splat,
    "tt.broadcast": Views.broadcast,
    "tt.expand_dims": Views.expand_dims,
    "tt.trans": Views.trans,
    "tt.reshape": Views.reshape,
    "tt.split": Views.split,
    "npu.wait": Views.waited,
    **dict.fromkeys(_SAME_BYTES, Views.same_bytes),
}
