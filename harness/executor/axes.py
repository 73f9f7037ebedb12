"""Which axes of a kernel's tensors are one and the same: lanes along it stay apart from where they are made to where
they are stored, and never meet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from xdsl.dialects.builtin import NoneAttr, TensorType
from xdsl.ir import Operation, SSAValue

from harness.executor.analysis import constant_value, is_pure_name
from harness.executor.types import extents, get
from harness.executor.values import Affine, dense
from harness.ir import operand, operation_name

Axis = tuple[SSAValue, int]

# Pure ops that are not elementwise; those with a rule of their own are in `_RULES`.
_OTHER_PURE = frozenset({"tt.cat", "tt.join", "tt.reshape", "tt.split", "tt.unsplat"})


class Axes:
    """Classes of axes, by union-find. An axis is *fixed* where an op needs all of its lanes, or just so many."""

    def __init__(self, function: Operation) -> None:
        self._parents: dict[Axis, Axis] = {}
        self._fixed: set[Axis] = set()
        self.summed: dict[Operation, Axis] = {}  # of each product its K axis, as the left operand has it
        for operation in function.walk():
            if operation is not function:
                _RULES.get(operation_name(operation), _by_kind)(self, operation)

    def of(self, value: SSAValue, axis: int) -> Axis:
        """What stands for the class of an axis."""
        found = (value, axis)
        while (parent := self._parents.get(found, found)) != found:
            self._parents[found] = self._parents.get(parent, parent)
            found = parent
        return found

    def is_free(self, axis: Axis) -> bool:
        """Whether the tensors may end earlier along the axis (an outcome of `of`)."""
        return axis not in self._fixed

    def fix(self, values: Iterable[SSAValue]) -> None:
        for value in values:
            for axis in range(len(extents(value.type))):
                self.fix_axis(value, axis)

    def fix_axis(self, value: SSAValue, axis: int) -> None:
        self._fixed.add(self.of(value, axis))

    def join(self, values: Sequence[SSAValue]) -> None:
        """Tensors of one shape, axis by axis; scalars among them have none."""
        tensors = [value for value in values if extents(value.type)]
        if any(isinstance(value.type, TensorType) and value.type.encoding != NoneAttr() for value in tensors):
            self.fix(tensors)  # a layout is made for just this shape
        for value in tensors[1:]:
            for axis in range(len(extents(value.type))):
                self.join_axis(tensors[0], axis, value, axis)

    def join_axis(self, left: SSAValue, left_axis: int, right: SSAValue, right_axis: int) -> None:
        one, other = self.of(left, left_axis), self.of(right, right_axis)
        if one == other:
            return
        self._parents[other] = one
        if other in self._fixed:
            self._fixed.add(one)


def _by_kind(axes: Axes, operation: Operation) -> None:
    """Elementwise ops join what they read and write; any other op needs its tensors as they are."""
    name = operation_name(operation)
    values = [*operation.operands, *operation.results]
    if is_pure_name(name) and name not in _OTHER_PURE and not operation.regions:
        axes.join(values)
        return
    blocks = [block for region in operation.regions for block in region.blocks]
    axes.fix([*values, *(argument for block in blocks for argument in block.args)])


def _constant(axes: Axes, operation: Operation) -> None:
    """The same element everywhere, or a table."""
    value = constant_value(operation)
    if (value.base if isinstance(value, Affine) else dense(value)).size > 1:
        axes.fix(operation.results)


def _nothing(axes: Axes, operation: Operation) -> None:
    """A range or a splat: as long as one likes."""


def _expand(axes: Axes, operation: Operation) -> None:
    (source,), (result,), new = operation.operands, operation.results, get(operation, "axis")
    axes.fix_axis(result, new)
    for axis in range(len(extents(source.type))):
        axes.join_axis(result, axis + (axis >= new), source, axis)


def _broadcast(axes: Axes, operation: Operation) -> None:
    (source,), (result,) = operation.operands, operation.results
    for axis, (before, after) in enumerate(zip(extents(source.type), extents(result.type), strict=True)):
        if before == after:
            axes.join_axis(result, axis, source, axis)


def _transpose(axes: Axes, operation: Operation) -> None:
    (source,), (result,) = operation.operands, operation.results
    for axis, origin in enumerate(get(operation, "order")):
        axes.join_axis(result, axis, source, origin)


def _access(axes: Axes, operation: Operation) -> None:
    """A plain load or store: each lane of its own."""
    values = [*operation.operands, *operation.results]
    pointer = operand(operation, "ptr")
    if pointer is None or get(operation, "boundaryCheck", ()) or not extents(pointer.type):
        axes.fix(values)
    axes.join(values)


def _product(axes: Axes, operation: Operation) -> None:
    left, right, accumulator = operation.operands
    result = operation.results[0]
    axes.join([accumulator, result])
    if len(extents(result.type)) != 2:
        axes.fix([left, right, result])
        return
    axes.join_axis(result, 0, left, 0)
    axes.join_axis(result, 1, right, 1)
    axes.join_axis(left, 1, right, 0)
    axes.summed[operation] = (left, 1)


def _fold(axes: Axes, operation: Operation) -> None:
    """A reduction or scan needs all lanes along its axis."""
    axis, removed = get(operation, "axis"), operation.name == "tt.reduce"
    axes.join(operation.operands)
    for source in operation.operands:
        axes.fix_axis(source, axis)
    for result in operation.results:
        for other in (other for other in range(len(extents(operation.operands[0].type))) if other != axis):
            axes.join_axis(result, other - (removed and other > axis), operation.operands[0], other)
        if not removed:
            axes.fix_axis(result, axis)


def _yield(axes: Axes, operation: Operation) -> None:
    """Of a loop or a branch, whose rule has joined it."""
    parent = operation.parent_op()
    if parent is None or parent.name not in ("scf.for", "scf.if"):
        axes.fix(operation.operands)


def _loop(axes: Axes, operation: Operation) -> None:
    block = operation.regions[0].block
    assert block.last_op is not None
    carried = (operation.operands[3:], block.args[1:], block.last_op.operands, operation.results)
    for values in zip(*carried, strict=True):
        axes.join(values)


def _branch(axes: Axes, operation: Operation) -> None:
    ends = [region.block.last_op for region in operation.regions if region.blocks]
    for values in zip(operation.results, *(end.operands for end in ends if end is not None), strict=bool(ends)):
        axes.join(values)


_RULES: dict[str, Callable[[Axes, Operation], None]] = {
    "arith.constant": _constant,
    "scf.for": _loop,
    "scf.if": _branch,
    "scf.yield": _yield,
    "tt.broadcast": _broadcast,
    "tt.dot": _product,
    "tt.expand_dims": _expand,
    "tt.get_num_programs": _nothing,
    "tt.get_program_id": _nothing,
    "tt.load": _access,
    "tt.make_range": _nothing,
    "tt.reduce": _fold,
    "tt.scan": _fold,
    "tt.splat": _nothing,
    "tt.store": _access,
    "tt.trans": _transpose,
}
