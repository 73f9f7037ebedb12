"""`npu-expand-descriptors`: gathers, scatters and reductions through tensor descriptors, by pointers.

The transfer engine has no descriptors of single rows and none that add to memory: both become tensors of pointers
with the mask of what lies inside the described tensor. Loads and stores of whole blocks are left to
`npu-analyze-pointers`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    TensorType,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from harness.errors import Refusal
from harness.executor.types import element, get
from harness.ir import operand, source_location
from harness.ir.dialects import tt_ops
from harness.ir.dialects.npu import DescriptorBaseOp, DescriptorFillOp
from harness.ir.dialects.tt_types import PointerType, TensorDescriptorType
from harness.ir.enums import (
    ATOMIC_OPERATION,
    DESCRIPTOR_REDUCTION,
    INTEGER_PREDICATE,
    MEMORY_SCOPE,
    MEMORY_SEMANTIC,
    PADDING_OPTION,
)

if TYPE_CHECKING:
    from harness.npu.machine import Machine


def run(module: ModuleOp, machine: Machine) -> None:
    """The pass; the machine has no say in it. Raises Refusal for a descriptor that control flow chooses."""
    for operation in list(module.walk()):
        expand = _EXPANSIONS.get(operation.name)
        if expand is not None:
            expand(_Builder(operation))
            block = operation.parent
            assert block is not None
            block.erase_op(operation)


@dataclass
class _Tensor:
    """What a descriptor describes: extents and strides are i64; fill is a scalar, or None for zero."""

    base: SSAValue
    shape: list[SSAValue]
    strides: list[SSAValue]
    fill: SSAValue | None


class _Builder:
    """Adds ops in front of one op."""

    def __init__(self, operation: Operation) -> None:
        self.operation = operation

    def add(
        self, op_type: type[Operation], operands: Sequence[SSAValue], type_: Attribute, **properties: Any
    ) -> SSAValue:
        return self.insert(op_type.create(operands=operands, result_types=[type_], properties=properties)).results[0]

    def insert(self, made: Operation) -> Operation:
        block = self.operation.parent
        assert block is not None
        made.location = self.operation.location
        block.insert_op_before(made, self.operation)
        return made

    # --- values

    def wide(self, value: SSAValue) -> SSAValue:
        """In 64 bits, with its sign."""
        scalar = value.type.element_type if isinstance(value.type, TensorType) else value.type
        if scalar == i64:
            return value
        type_ = TensorType(i64, value.type.get_shape()) if isinstance(value.type, TensorType) else i64
        return self.add(arith.ExtSIOp, [value], type_)

    def splat(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        return self.add(tt_ops.SplatOp, [value], TensorType(value.type, shape))

    def repeated(self, value: SSAValue, shape: Sequence[int]) -> SSAValue:
        type_ = value.type
        assert isinstance(type_, TensorType)
        if tuple(type_.get_shape()) == tuple(shape):
            return value
        return self.add(tt_ops.BroadcastOp, [value], TensorType(type_.element_type, shape))

    def along(self, value: SSAValue, axis: int, rank: int) -> SSAValue:
        """A vector as a tensor of `rank` axes that varies along one of them."""
        type_ = value.type
        assert isinstance(type_, TensorType)
        shape = list(type_.get_shape())
        for other in range(rank):
            if other != axis:
                shape.insert(other, 1)
                value = self.add(
                    tt_ops.ExpandDimsOp, [value], TensorType(type_.element_type, shape), axis=IntegerAttr(other, i32)
                )
        return value

    def run_of(self, start: SSAValue, count: int) -> SSAValue:
        """start, start + 1, ... as i64."""
        ends = {"start": IntegerAttr(0, i32), "end": IntegerAttr(count, i32)}
        steps = self.wide(self.add(tt_ops.MakeRangeOp, [], TensorType(i32, [count]), **ends))
        return self.add(arith.AddiOp, [self.splat(self.wide(start), [count]), steps], steps.type)

    def compare(self, predicate: str, left: SSAValue, right: SSAValue) -> SSAValue:
        assert isinstance(left.type, TensorType)
        type_ = TensorType(i1, left.type.get_shape())
        return self.add(
            arith.CmpiOp, [left, right], type_, predicate=IntegerAttr(INTEGER_PREDICATE.values[predicate], i64)
        )

    def zeros(self, type_: Attribute) -> SSAValue:
        assert isinstance(type_, TensorType)
        return self.add(arith.ConstantOp, [], type_, value=DenseIntOrFPElementsAttr.from_list(type_, [0]))

    # --- what an op is about

    def described(self) -> _Tensor:
        """Raises Refusal for a descriptor that is neither made by the kernel nor a parameter."""
        value = operand(self.operation, "desc")
        assert value is not None and isinstance(value.type, TensorDescriptorType)
        rank = len(value.type.block.get_shape())
        owner = value.owner
        if isinstance(owner, Operation) and owner.name == "tt.make_tensor_descriptor":
            base, *rest = owner.operands
            nan = get(owner, "padding") == PADDING_OPTION.values["nan"]
            return self._tensor(base, rest, rank, self._nan(base) if nan else None)
        if not isinstance(value, BlockArgument) or value.block is not _entry(self.operation):
            raise Refusal(
                f"{self.operation.name} goes through a descriptor that control flow chooses",
                source_location(self.operation),
                "use the descriptor where it is made",
            )
        parameters = value.block.args
        element_type = _signless(value.type.block.element_type)
        base = self.add(DescriptorBaseOp, [value], PointerType(element_type))
        fill = self.add(DescriptorFillOp, [value], element_type)
        first = value.index + 1
        return self._tensor(base, list(parameters[first : first + 2 * rank]), rank, fill)

    def _tensor(self, base: SSAValue, rest: Sequence[SSAValue], rank: int, fill: SSAValue | None) -> _Tensor:
        wide = [self.wide(value) for value in rest]
        return _Tensor(base, wide[:rank], wide[rank:], fill)

    def _nan(self, base: SSAValue) -> SSAValue | None:
        assert isinstance(base.type, PointerType)
        type_ = base.type.pointee
        if not isinstance(type_, AnyFloat):
            return None
        return self.add(arith.ConstantOp, [], type_, value=FloatAttr(float("nan"), type_))

    def pointers(self, tensor: _Tensor, indices: Sequence[SSAValue]) -> tuple[SSAValue, SSAValue]:
        """Pointers and mask of all elements, by the i64 vector of indices of each axis."""
        rank = len(indices)
        shape = [index.type.get_shape()[0] for index in indices]  # pyright: ignore[reportAttributeAccessIssue]
        offset: SSAValue | None = None
        inside: SSAValue | None = None
        for axis, vector in enumerate(indices):
            index = self.along(vector, axis, rank)
            own = index.type.get_shape()  # pyright: ignore[reportAttributeAccessIssue]
            step = self.add(arith.MuliOp, [index, self.splat(tensor.strides[axis], own)], index.type)
            low = self.compare("sge", index, self.zeros(index.type))
            high = self.compare("slt", index, self.splat(tensor.shape[axis], own))
            here = self.add(arith.AndIOp, [low, high], low.type)
            step, here = self.repeated(step, shape), self.repeated(here, shape)
            offset = step if offset is None else self.add(arith.AddiOp, [offset, step], step.type)
            inside = here if inside is None else self.add(arith.AndIOp, [inside, here], here.type)
        assert offset is not None and inside is not None
        base = self.splat(tensor.base, shape)
        return self.add(tt_ops.AddPtrOp, [base, offset], base.type), inside


def _entry(operation: Operation) -> Block | None:
    """The entry block of the function that the op is in."""
    parent = operation.parent_op()
    while parent is not None and parent.name not in ("tt.func", "func.func"):
        parent = parent.parent_op()
    return None if parent is None else parent.regions[0].blocks.first


def _signless(type_: Attribute) -> Attribute:
    return IntegerType(type_.width.data) if isinstance(type_, IntegerType) else type_


def _rows(builder: _Builder, columns: int) -> tuple[_Tensor, SSAValue, SSAValue]:
    """Pointers and mask of rows that are picked one by one, a run of columns of each."""
    operation, tensor = builder.operation, builder.described()
    rows, column = operand(operation, "x_offsets"), operand(operation, "y_offset")
    assert rows is not None and column is not None
    return tensor, *builder.pointers(tensor, [builder.wide(rows), builder.run_of(column, columns)])


def _gather(builder: _Builder) -> None:
    result = builder.operation.results[0]
    type_ = result.type
    assert isinstance(type_, TensorType)
    tensor, pointers, mask = _rows(builder, type_.get_shape()[1])
    other = builder.zeros(type_) if tensor.fill is None else builder.splat(tensor.fill, type_.get_shape())
    load = tt_ops.LoadOp.build(operands=[pointers, mask, other], result_types=[type_])
    builder.insert(load)
    result.replace_all_uses_with(load.results[0])


def _scatter(builder: _Builder) -> None:
    value = operand(builder.operation, "src")
    assert value is not None and isinstance(value.type, TensorType)
    _, pointers, mask = _rows(builder, value.type.get_shape()[1])
    builder.insert(tt_ops.StoreOp.build(operands=[pointers, value, [mask]]))


def _reduce(builder: _Builder) -> None:
    """An atomic on every element of the block."""
    operation = builder.operation
    value = operand(operation, "src")
    keyword = DESCRIPTOR_REDUCTION.keywords[get(operation, "kind")]
    assert value is not None and isinstance(value.type, TensorType)
    if keyword == "add" and isinstance(value.type.element_type, AnyFloat):
        keyword = "fadd"
    if keyword not in ATOMIC_OPERATION.values:
        kind = f"{keyword} on {element(value.type)}"
        raise Refusal(f"tt.descriptor_reduce of kind {kind} is no atomic of the machine", source_location(operation))
    tensor = builder.described()
    descriptor = operand(operation, "desc")
    assert descriptor is not None and isinstance(descriptor.type, TensorDescriptorType)
    block = descriptor.type.block
    starts = [start for start in operation.operands if start is not descriptor and start is not value]
    indices = [builder.run_of(start, extent) for start, extent in zip(starts, block.get_shape(), strict=True)]
    pointers, mask = builder.pointers(tensor, indices)
    if value.type.get_shape() != block.get_shape():
        value = builder.add(tt_ops.ReshapeOp, [value], TensorType(value.type.element_type, block.get_shape()))
    attributes = {
        "atomic_rmw_op": IntegerAttr(ATOMIC_OPERATION.values[keyword], i32),
        "sem": IntegerAttr(MEMORY_SEMANTIC.values["relaxed"], i32),
        "scope": IntegerAttr(MEMORY_SCOPE.values["gpu"], i32),
    }
    builder.insert(
        tt_ops.AtomicRMWOp.build(operands=[pointers, value, [mask]], result_types=[value.type], properties=attributes)
    )


_EXPANSIONS = {
    "tt.descriptor_gather": _gather,
    "tt.descriptor_scatter": _scatter,
    "tt.descriptor_reduce": _reduce,
}
