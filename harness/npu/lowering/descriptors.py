"""Tensor descriptors: what they describe, and their loads and stores as transfers."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import AnyFloat, FloatAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from harness.ir import attribute
from harness.ir.dialects.npu import DescriptorBaseOp, DescriptorFillOp
from harness.ir.dialects.tt_types import PointerType, TensorDescriptorType
from harness.ir.enums import PADDING_OPTION
from harness.npu.lowering.forms import Described, Linear, Mask, Pointers
from harness.npu.lowering.ranges import width_of
from harness.npu.lowering.scalars import Scalar, Scalars


def described(scalars: Scalars, op: Operation) -> Described:
    """By a tt.make_tensor_descriptor."""
    base, *rest = (scalars.leaf(operand) for operand in op.operands)
    shape, strides = _halves(scalars, rest)
    element = op.results[0].type.block.element_type  # pyright: ignore[reportAttributeAccessIssue]
    padding = attribute(op, "padding")
    is_nan = padding is not None and padding.value.data == PADDING_OPTION.values["nan"]  # pyright: ignore[reportAttributeAccessIssue]
    fill = None
    if is_nan and isinstance(element, AnyFloat):
        fill = _inserted(scalars.entry, arith.ConstantOp(FloatAttr(float("nan"), element)))
    return Described(base, shape, strides, fill)


def describe_parameters(scalars: Scalars, entry: Block) -> dict[SSAValue, Described]:
    """Descriptors that the host made: their extents and strides are the parameters that follow."""
    found: dict[SSAValue, Described] = {}
    for index, parameter in enumerate(entry.args):
        if not isinstance(parameter.type, TensorDescriptorType):
            continue
        rank = len(parameter.type.block.get_shape())
        rest = entry.args[index + 1 : index + 1 + 2 * rank]
        if len(rest) < 2 * rank or not all(width_of(value.type) for value in rest):
            continue
        element = parameter.type.block.element_type
        base = _of_parameter(entry, DescriptorBaseOp, parameter, PointerType(element))
        fill = _of_parameter(entry, DescriptorFillOp, parameter, element)
        shape, strides = _halves(scalars, [scalars.leaf(value) for value in rest])
        found[parameter] = Described(scalars.leaf(base), shape, strides, fill)
    return found


def _halves(scalars: Scalars, rest: Sequence[Scalar]) -> tuple[tuple[Scalar, ...], tuple[Scalar, ...]]:
    """Extents and strides, in 64 bits."""
    scalars.at = scalars.at or scalars.entry.first_op
    wide = tuple(scalars.resized(scalar, 64) for scalar in rest)
    return wide[: len(wide) // 2], wide[len(wide) // 2 :]


def _of_parameter(entry: Block, op_type: type[Operation], parameter: SSAValue, type_: Attribute) -> SSAValue:
    return _inserted(entry, op_type.create(operands=[parameter], result_types=[type_]))


def _inserted(entry: Block, op: Operation) -> SSAValue:
    """At the top of the function: it depends on nothing but parameters."""
    first = entry.first_op
    assert first is not None
    op.location = first.location
    entry.insert_op_before(op, first)
    return op.results[0]


def block_access(
    scalars: Scalars, tensor: Described, indices: Sequence[SSAValue], extents: tuple[int, ...]
) -> tuple[Pointers, Mask]:
    """The block of `extents` elements that starts at `indices`, and the part of it that is inside the tensor."""
    zero, base = scalars.number(0), scalars.number(0)
    lower: dict[int, Scalar] = {}
    upper: dict[int, Scalar] = {}
    for axis, index in enumerate(indices):
        start = scalars.resized(scalars.leaf(index), 64)
        base = scalars.add(base, scalars.multiply(start, tensor.strides[axis]))
        lower[axis] = scalars.negate(start)
        upper[axis] = scalars.subtract(tensor.shape[axis], start)
    strides = tuple(stride if extent > 1 else zero for stride, extent in zip(tensor.strides, extents, strict=True))
    offset = Linear(extents, base, strides, (None,) * len(extents))
    return Pointers(tensor.pointer, offset), Mask(extents, lower, upper)


def without_unit_axes(scalars: Scalars, pointers: Pointers, mask: Mask) -> tuple[Pointers, Mask]:
    """The same elements without the axes of extent 1, whose bounds say all or nothing."""
    extents, offset = pointers.extents, pointers.offset
    kept = [axis for axis, extent in enumerate(extents) if extent > 1]
    zero, conditions = scalars.number(0), list(mask.conditions)
    for axis in range(len(extents)):
        if axis not in kept:
            conditions.append(scalars.compare("sle", mask.lower[axis], zero))
            conditions.append(scalars.compare("sgt", mask.upper[axis], zero))
    lower, upper = ({new: side[old] for new, old in enumerate(kept)} for side in (mask.lower, mask.upper))
    shape = tuple(extents[axis] for axis in kept)
    strides = tuple(offset.strides[axis] for axis in kept)
    thinner = Linear(shape, offset.base, strides, (None,) * len(kept))
    return Pointers(pointers.pointer, thinner), Mask(shape, lower, upper, tuple(conditions))
