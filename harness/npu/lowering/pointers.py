"""`npu-analyze-pointers`: loads and stores through affine tensors of pointers, or tensor descriptors, become transfers
with strides and bounds. Everything else stays a gather or a scatter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.parser.core import ForwardDeclaredValue

from harness.errors import Refusal
from harness.ir import attribute, operand, source_location
from harness.ir.dialects.npu import Access, LoadOp, StoreOp, transfer
from harness.ir.dialects.tt_ops import ReshapeOp, SplatOp
from harness.ir.dialects.tt_types import TensorDescriptorType
from harness.npu.lowering.analysis import Analysis
from harness.npu.lowering.constants import splat_attribute, splat_bytes
from harness.npu.lowering.control import Join
from harness.npu.lowering.dead_code import erase_dead_code
from harness.npu.lowering.descriptors import block_access, without_unit_axes
from harness.npu.lowering.forms import Described, Mask, Pointers, extents_of
from harness.npu.lowering.rebuild import add_argument, with_more_results
from harness.npu.lowering.scalars import Scalar

if TYPE_CHECKING:
    from harness.npu.machine import Machine


def run(module: ModuleOp, machine: Machine) -> None:
    """The pass; the machine says how many dimensions its DMA has. Raises Refusal for a block of a tensor descriptor
    that has more: through pointers a list of addresses does it."""
    for function in list(module.body.block.ops):
        if function.regions and function.regions[0].blocks:
            _Rewriter(Analysis(function), machine.dma.dimensions).run(function)


@dataclass
class _Rewriter:
    """Rewrites one function. `dimensions`: strided ones that a DMA descriptor has. `demanded`: the joins whose scalars
    are wanted, with what stands for their results until their ops give them."""

    analysis: Analysis
    dimensions: int
    demanded: dict[Join, SSAValue] = field(default_factory=dict)
    _joins: dict[Scalar, Join] = field(default_factory=dict)
    _constants: dict[Attribute, SSAValue] = field(default_factory=dict)

    def run(self, function: Operation) -> None:
        for joins in self.analysis.joins.values():
            for join in joins:
                scalars = (join.argument, join.body, join.result)
                self._joins.update({scalar: join for scalar in scalars if scalar is not None})
        self.analysis.scalars.joined = self._joined
        for op in list(function.walk()):
            rewrite = _REWRITES.get(op.name)
            if rewrite is not None:
                self.analysis.scalars.at = op
                rewrite(self, op)
        self._add_joins()
        erase_dead_code(function)

    def placed(self, scalar: Scalar) -> SSAValue:
        return self.analysis.scalars.placed(scalar)

    # --- scalars that control flow chooses --------------------------------------------------------------------------

    def _joined(self, scalar: Scalar) -> SSAValue:
        join = self._joins[scalar]
        if join not in self.demanded:
            self.demanded[join] = ForwardDeclaredValue(scalar.type)
            if join.argument is not None:
                join.argument.value = add_argument(join.op.regions[0].blocks[0], scalar.type)
            if join.body is not None:
                join.body.value = add_argument(join.op.regions[1].blocks[0], scalar.type)
            join.result.value = self.demanded[join]
        assert scalar.value is not None
        return scalar.value

    def _add_joins(self) -> None:
        """Loops and branches that give the scalars; each may want further ones."""
        incoming: dict[Join, list[SSAValue]] = {}
        while len(incoming) < len(self.demanded):
            for join in [join for join in self.demanded if join not in incoming]:
                incoming[join] = [self.placed(scalar) for scalar in join.incoming]
        by_op: dict[Operation, list[Join]] = {}
        for join in self.demanded:
            by_op.setdefault(join.op, []).append(join)
        for op, joins in by_op.items():
            self._rebuild(op, joins, [incoming[join] for join in joins])

    def _rebuild(self, op: Operation, joins: list[Join], incoming: list[list[SSAValue]]) -> None:
        types = [join.result.type for join in joins]
        first, second = ([pair[side] for pair in incoming] for side in (0, 1))
        if op.name == "scf.for":
            new = with_more_results(op, types, first, [second])
        elif op.name == "scf.while":
            new = with_more_results(op, types, first, [[self._argument(join) for join in joins], second])
        else:
            new = with_more_results(op, types, [], [first, second])
        for join, result in zip(joins, new.results[len(new.results) - len(joins) :], strict=True):
            self.demanded[join].replace_all_uses_with(result)

    def _argument(self, join: Join) -> SSAValue:
        assert join.argument is not None
        return self.placed(join.argument)

    # --- accesses ---------------------------------------------------------------------------------------------------

    def access(self, pointers: Pointers, mask: Mask | None) -> Access:
        """The operands of a transfer, added to the IR."""
        scalars, offset = self.analysis.scalars, pointers.offset
        base = scalars.moved(pointers.pointer, offset.base)
        mask = mask or Mask(offset.extents)
        lower, upper = self._bounds(mask)
        return Access(
            self.placed(base),
            tuple(self.placed(stride) for stride in offset.strides),
            {axis: self.placed(bound) for axis, bound in lower.items()},
            {axis: self.placed(bound) for axis, bound in upper.items()},
            {axis: (self.placed(wrap[0]), self.placed(wrap[1])) for axis, wrap in enumerate(offset.wraps) if wrap},
            mask.rest,
        )

    def _bounds(self, mask: Mask) -> tuple[dict[int, Scalar], dict[int, Scalar]]:
        """The bounds that leave something out; conditions for all elements become an upper bound."""
        scalars, upper = self.analysis.scalars, dict(mask.upper)
        zero = scalars.number(0)
        for condition in mask.conditions:
            whole = upper.get(0, scalars.number(mask.extents[0]))
            upper[0] = scalars.select(condition, whole, zero)
        lower = {axis: bound for axis, bound in mask.lower.items() if bound.range.high > 0}
        upper = {axis: bound for axis, bound in upper.items() if bound.range.low < mask.extents[axis]}
        return lower, upper

    def constant(self, value: Attribute | None) -> SSAValue:
        """A scalar constant, at the top of the function."""
        assert value is not None
        if value in self._constants:
            return self._constants[value]
        op, first = arith.ConstantOp(value), self.analysis.scalars.entry.first_op  # pyright: ignore[reportArgumentType]
        assert first is not None
        op.location = first.location
        self.analysis.scalars.entry.insert_op_before(op, first)
        self._constants[value] = op.results[0]
        return op.results[0]

    def is_strided(self, pointers: Pointers | None) -> bool:
        return pointers is not None and len(pointers.extents) <= self.dimensions

    def mask_of(self, op: Operation) -> Mask | None:
        value = operand(op, "mask")
        return None if value is None else self.analysis.mask(value)

    def replace(self, op: Operation, *new: Operation) -> None:
        """Puts the new ops in place of the old one; the last one gives its result."""
        block = op.parent
        assert block is not None
        for one in new:
            one.location = op.location
            block.insert_op_before(one, op)
        for old, result in zip(op.results, new[-1].results, strict=True):
            old.replace_all_uses_with(result)
            result.name_hint = old.name_hint
        self.analysis.scalars.instead[op] = new[-1]
        op.detach()
        op.erase()


# --- loads and stores through pointers ------------------------------------------------------------------------------


def _load(rewriter: _Rewriter, op: Operation) -> None:
    pointer = operand(op, "ptr")
    assert pointer is not None
    pointers = rewriter.analysis.pointers(pointer)
    volatile: Any = attribute(op, "isVolatile")
    if pointers is None or not rewriter.is_strided(pointers) or (volatile is not None and volatile.value.data):
        return
    access = rewriter.access(pointers, rewriter.mask_of(op))
    other = _fill(rewriter, op, operand(op, "other"))
    rewriter.replace(op, transfer(LoadOp, access, [op.results[0].type], other=other))


def _store(rewriter: _Rewriter, op: Operation) -> None:
    pointer, value = operand(op, "ptr"), operand(op, "value")
    assert pointer is not None and value is not None
    pointers = rewriter.analysis.pointers(pointer)
    if pointers is None or not rewriter.is_strided(pointers):
        return
    access = rewriter.access(pointers, rewriter.mask_of(op))
    rewriter.replace(op, transfer(StoreOp, access, [], value=value))


def _fill(rewriter: _Rewriter, op: Operation, other: SSAValue | None) -> SSAValue | None:
    """What is loaded where the mask is false, as a scalar where it is the same everywhere; None for zero."""
    if other is None:
        return None
    owner = other.owner
    if isinstance(owner, SplatOp):
        return owner.src
    value = attribute(owner, "value") if isinstance(owner, arith.ConstantOp) else None
    data = splat_bytes(value)
    if data is None:
        return other
    return rewriter.constant(splat_attribute(value)) if any(data) else None


# --- through descriptors --------------------------------------------------------------------------------------------


def _descriptor_load(rewriter: _Rewriter, op: Operation) -> None:
    """A block of the tensor; what lies outside is its fill."""
    found = _block(rewriter, op)
    if found is None:
        return
    tensor, access, block = found
    result = op.results[0].type
    load = transfer(LoadOp, access, [block], other=tensor.fill)
    if block == result:
        rewriter.replace(op, load)
        return
    rewriter.replace(op, load, ReshapeOp.create(operands=[load.results[0]], result_types=[result]))


def _descriptor_store(rewriter: _Rewriter, op: Operation) -> None:
    found, value = _block(rewriter, op), operand(op, "src")
    if found is None or value is None:
        return
    _, access, block = found
    if block == value.type:
        rewriter.replace(op, transfer(StoreOp, access, [], value=value))
        return
    shaped = ReshapeOp.create(operands=[value], result_types=[block])
    rewriter.replace(op, shaped, transfer(StoreOp, access, [], value=shaped.results[0]))


def _block(rewriter: _Rewriter, op: Operation) -> tuple[Described, Access, TensorType] | None:
    """The descriptor, the transfer of the op's block, and the block's type; None where it cannot be described."""
    desc = operand(op, "desc")
    assert desc is not None and isinstance(desc.type, TensorDescriptorType)
    tensor = rewriter.analysis.forms.get(desc)
    tile = op.results[0].type if op.results else op.src.type  # pyright: ignore[reportAttributeAccessIssue]
    if not isinstance(tensor, Described) or not isinstance(tile, TensorType):
        return None
    block = TensorType(tile.element_type, desc.type.block.get_shape())
    indices: tuple[SSAValue, ...] = tuple(op.indices)  # pyright: ignore[reportAttributeAccessIssue]
    pointers, mask = block_access(rewriter.analysis.scalars, tensor, indices, extents_of(block))
    if not rewriter.is_strided(pointers):
        pointers, mask = without_unit_axes(rewriter.analysis.scalars, pointers, mask)
        block = TensorType(tile.element_type, pointers.extents)
    if not rewriter.is_strided(pointers):
        most = rewriter.dimensions
        what = f"a block of {len(pointers.extents)} axes is more than a DMA descriptor of the machine has ({most})"
        raise Refusal(what, source_location(op), "load and store it through pointers")
    return tensor, rewriter.access(pointers, mask), block


_REWRITES: dict[str, Callable[[_Rewriter, Operation], None]] = {
    "tt.load": _load,
    "tt.store": _store,
    "tt.descriptor_load": _descriptor_load,
    "tt.descriptor_store": _descriptor_store,
}
