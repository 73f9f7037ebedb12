"""The ops of Triton's `tt` dialect in releases 3.6 to 3.9.

Names of operands and attributes are those of Triton's op definitions.
"""

from __future__ import annotations

from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    DenseArrayBase,
    FunctionType,
    IntegerAttr,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
    i32,
)
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import IsTerminator


def _i32(value: int) -> IntegerAttr:
    return IntegerAttr(value, i32)


_FALSE = BoolAttr.from_bool(False)
_NO_DIMENSIONS = DenseArrayBase.from_list(i32, [])
_SIZED = (AttrSizedOperandSegments(as_property=True),)


class _Unary(IRDLOperation):
    src = operand_def()
    result = result_def()


class _Binary(IRDLOperation):
    x = operand_def()
    y = operand_def()
    result = result_def()


# Conversions


@irdl_op_definition
class IntToPtrOp(_Unary):
    name = "tt.int_to_ptr"


@irdl_op_definition
class PtrToIntOp(_Unary):
    name = "tt.ptr_to_int"


@irdl_op_definition
class BitcastOp(_Unary):
    name = "tt.bitcast"


@irdl_op_definition
class FpToFpOp(_Unary):
    """rounding: see enums.ROUNDING_MODE; absent where the result is at least as wide."""

    name = "tt.fp_to_fp"
    rounding = opt_prop_def(IntegerAttr)


# Arithmetic


@irdl_op_definition
class ClampFOp(IRDLOperation):
    """propagateNan: see enums.PROPAGATE_NAN."""

    name = "tt.clampf"
    x = operand_def()
    min = operand_def()
    max = operand_def()
    propagateNan = prop_def(IntegerAttr)
    result = result_def()


@irdl_op_definition
class PreciseSqrtOp(IRDLOperation):
    name = "tt.precise_sqrt"
    x = operand_def()
    result = result_def()


@irdl_op_definition
class PreciseDivFOp(_Binary):
    name = "tt.precise_divf"


@irdl_op_definition
class ApproxDivFOp(_Binary):
    """Since 3.9: a division whose last bits may be wrong."""

    name = "tt.approx_divf"


@irdl_op_definition
class MulhiUIOp(_Binary):
    name = "tt.mulhiui"


@irdl_op_definition
class AddPtrOp(IRDLOperation):
    """The offset counts elements of the pointee, signed."""

    name = "tt.addptr"
    ptr = operand_def()
    offset = operand_def()
    result = result_def()


@irdl_op_definition
class AdvanceOp(IRDLOperation):
    """A block pointer with its offsets moved."""

    name = "tt.advance"
    ptr = operand_def()
    offsets = var_operand_def()
    result = result_def()


# Memory


@irdl_op_definition
class LoadOp(IRDLOperation):
    """Through a pointer, a tensor of pointers, or a block pointer (then boundaryCheck and padding apply)."""

    name = "tt.load"
    ptr = operand_def()
    mask = opt_operand_def()
    other = opt_operand_def()
    boundaryCheck = prop_def(DenseArrayBase, default_value=_NO_DIMENSIONS)
    padding = opt_prop_def(IntegerAttr)
    cache = prop_def(IntegerAttr, default_value=_i32(1))
    evict = prop_def(IntegerAttr, default_value=_i32(1))
    cachePolicy = opt_prop_def()  # since 3.9, in place of cache and evict
    isVolatile = prop_def(IntegerAttr, default_value=_FALSE)
    result = result_def()
    irdl_options = _SIZED


@irdl_op_definition
class StoreOp(IRDLOperation):
    name = "tt.store"
    ptr = operand_def()
    value = operand_def()
    mask = opt_operand_def()
    boundaryCheck = prop_def(DenseArrayBase, default_value=_NO_DIMENSIONS)
    cache = prop_def(IntegerAttr, default_value=_i32(1))
    evict = prop_def(IntegerAttr, default_value=_i32(1))
    cachePolicy = opt_prop_def()


@irdl_op_definition
class AtomicRMWOp(IRDLOperation):
    name = "tt.atomic_rmw"
    atomic_rmw_op = prop_def(IntegerAttr)
    ptr = operand_def()
    val = operand_def()
    mask = opt_operand_def()
    sem = prop_def(IntegerAttr)
    scope = prop_def(IntegerAttr)
    result = result_def()


@irdl_op_definition
class AtomicCASOp(IRDLOperation):
    name = "tt.atomic_cas"
    ptr = operand_def()
    cmp = operand_def()
    val = operand_def()
    sem = prop_def(IntegerAttr)
    scope = prop_def(IntegerAttr)
    result = result_def()


@irdl_op_definition
class AtomicLoadOp(IRDLOperation):
    """Since 3.9."""

    name = "tt.atomic_load"
    ptr = operand_def()
    mask = opt_operand_def()
    sem = prop_def(IntegerAttr)
    scope = prop_def(IntegerAttr)
    result = result_def()


@irdl_op_definition
class AtomicStoreOp(IRDLOperation):
    """Since 3.9."""

    name = "tt.atomic_store"
    ptr = operand_def()
    value = operand_def()
    mask = opt_operand_def()
    sem = prop_def(IntegerAttr)
    scope = prop_def(IntegerAttr)


@irdl_op_definition
class AtomicPollOp(IRDLOperation):
    """Since 3.9: waits until memory holds the expected value, or for `timeout` nanoseconds; the result says which."""

    name = "tt.atomic_poll"
    ptr = operand_def()
    expected = operand_def()
    timeout = opt_operand_def()
    sem = prop_def(IntegerAttr)
    scope = prop_def(IntegerAttr)
    result = result_def()


@irdl_op_definition
class GridDependencyWaitOp(IRDLOperation):
    """Since 3.9: waits for the kernels launched before this one."""

    name = "tt.grid_dependency_wait"


@irdl_op_definition
class GridDependencyLaunchDependentsOp(IRDLOperation):
    """Since 3.9: lets the kernels that wait for this one start."""

    name = "tt.grid_dependency_launch_dependents"


# Shapes


@irdl_op_definition
class SplatOp(_Unary):
    name = "tt.splat"


@irdl_op_definition
class UnsplatOp(_Unary):
    name = "tt.unsplat"


@irdl_op_definition
class ExpandDimsOp(_Unary):
    name = "tt.expand_dims"
    axis = prop_def(IntegerAttr)


@irdl_op_definition
class ReshapeOp(_Unary):
    """With allow_reorder any order of the elements will do."""

    name = "tt.reshape"
    allow_reorder = opt_prop_def(UnitAttr)
    efficient_layout = opt_prop_def(UnitAttr)


@irdl_op_definition
class BroadcastOp(_Unary):
    name = "tt.broadcast"


@irdl_op_definition
class CatOp(IRDLOperation):
    """The elements of both, in any order."""

    name = "tt.cat"
    lhs = operand_def()
    rhs = operand_def()
    result = result_def()


@irdl_op_definition
class JoinOp(IRDLOperation):
    """Two tensors along a new, last axis."""

    name = "tt.join"
    lhs = operand_def()
    rhs = operand_def()
    result = result_def()


@irdl_op_definition
class SplitOp(IRDLOperation):
    """The two halves along the last axis, whose extent is 2."""

    name = "tt.split"
    src = operand_def()
    outLHS = result_def()
    outRHS = result_def()


@irdl_op_definition
class TransOp(_Unary):
    """Axis i of the result is axis order[i] of the source."""

    name = "tt.trans"
    order = prop_def(DenseArrayBase)


# The grid


@irdl_op_definition
class GetProgramIdOp(IRDLOperation):
    name = "tt.get_program_id"
    axis = prop_def(IntegerAttr)
    result = result_def()


@irdl_op_definition
class GetNumProgramsOp(IRDLOperation):
    name = "tt.get_num_programs"
    axis = prop_def(IntegerAttr)
    result = result_def()


# Matrix products


@irdl_op_definition
class DotOp(IRDLOperation):
    """a @ b + c; inputPrecision: see enums.INPUT_PRECISION."""

    name = "tt.dot"
    a = operand_def()
    b = operand_def()
    c = operand_def()
    inputPrecision = prop_def(IntegerAttr, default_value=_i32(2))
    maxNumImpreciseAcc = prop_def(IntegerAttr, default_value=_i32(0))
    d = result_def()


@irdl_op_definition
class DotScaledOp(IRDLOperation):
    """scale(a, a_scale) @ scale(b, b_scale) + c, microscaling formats."""

    name = "tt.dot_scaled"
    a = operand_def()
    b = operand_def()
    c = operand_def()
    a_scale = opt_operand_def()
    b_scale = opt_operand_def()
    a_elem_type = prop_def(IntegerAttr)
    b_elem_type = prop_def(IntegerAttr)
    fastMath = prop_def(IntegerAttr)
    lhs_k_pack = prop_def(IntegerAttr, default_value=BoolAttr.from_bool(True))
    rhs_k_pack = prop_def(IntegerAttr, default_value=BoolAttr.from_bool(True))
    d = result_def()
    irdl_options = _SIZED


# Regions: reductions, scans, maps. Triton prints these in generic syntax.


@irdl_op_definition
class ReduceOp(IRDLOperation):
    name = "tt.reduce"
    srcs = var_operand_def()
    axis = prop_def(IntegerAttr)
    combineOp = region_def()
    result = var_result_def()


@irdl_op_definition
class ReduceReturnOp(IRDLOperation):
    name = "tt.reduce.return"
    result = var_operand_def()
    traits = traits_def(IsTerminator())


@irdl_op_definition
class ScanOp(IRDLOperation):
    name = "tt.scan"
    srcs = var_operand_def()
    axis = prop_def(IntegerAttr)
    reverse = prop_def(IntegerAttr)
    combineOp = region_def()
    result = var_result_def()


@irdl_op_definition
class ScanReturnOp(IRDLOperation):
    name = "tt.scan.return"
    result = var_operand_def()
    traits = traits_def(IsTerminator())


@irdl_op_definition
class MapElementwiseOp(IRDLOperation):
    """A scalar region for `pack` elements at a time."""

    name = "tt.map_elementwise"
    srcs = var_operand_def()
    pack = prop_def(IntegerAttr)
    scalarOp = region_def()
    result = var_result_def()


@irdl_op_definition
class MapElementwiseReturnOp(IRDLOperation):
    name = "tt.map_elementwise.return"
    result = var_operand_def()
    traits = traits_def(IsTerminator())


# Elementwise code from elsewhere


@irdl_op_definition
class ExternElementwiseOp(IRDLOperation):
    name = "tt.extern_elementwise"
    srcs = var_operand_def()
    libname = prop_def(StringAttr)
    libpath = prop_def(StringAttr)
    symbol = prop_def(StringAttr)
    pure = prop_def(IntegerAttr)
    result = result_def()


@irdl_op_definition
class ElementwiseInlineAsmOp(IRDLOperation):
    name = "tt.elementwise_inline_asm"
    asm_string = prop_def(StringAttr)
    constraints = prop_def(StringAttr)
    pure = prop_def(IntegerAttr)
    packed_element = prop_def(IntegerAttr)
    args = var_operand_def()
    result = var_result_def()


@irdl_op_definition
class MakeRangeOp(IRDLOperation):
    """start, start + 1, ... end - 1, as i32."""

    name = "tt.make_range"
    start = prop_def(IntegerAttr)
    end = prop_def(IntegerAttr)
    result = result_def()


@irdl_op_definition
class HistogramOp(IRDLOperation):
    """Bin i counts the elements equal to i."""

    name = "tt.histogram"
    src = operand_def()
    mask = opt_operand_def()
    result = result_def()


@irdl_op_definition
class GatherOp(IRDLOperation):
    name = "tt.gather"
    src = operand_def()
    indices = operand_def()
    axis = prop_def(IntegerAttr)
    efficient_layout = opt_prop_def(UnitAttr)
    result = result_def()


# Debugging


@irdl_op_definition
class PrintOp(IRDLOperation):
    name = "tt.print"
    prefix = prop_def(StringAttr)
    hex = prop_def(IntegerAttr)
    args = var_operand_def()
    isSigned = prop_def(DenseArrayBase)


@irdl_op_definition
class AssertOp(IRDLOperation):
    name = "tt.assert"
    condition = operand_def()
    message = prop_def(StringAttr)


# Block pointers and descriptors


@irdl_op_definition
class MakeTensorPtrOp(IRDLOperation):
    """shape and strides are i64, offsets i32; order[0] is the fastest axis."""

    name = "tt.make_tensor_ptr"
    base = operand_def()
    shape = var_operand_def()
    strides = var_operand_def()
    offsets = var_operand_def()
    order = prop_def(DenseArrayBase)
    result = result_def()
    # The definition says that all lists are equally long; sizes are kept so that each can be found.
    irdl_options = _SIZED


@irdl_op_definition
class MakeTensorDescOp(IRDLOperation):
    """shape is i32, strides i64; padding: see enums.PADDING_OPTION."""

    name = "tt.make_tensor_descriptor"
    base = operand_def()
    shape = var_operand_def()
    strides = var_operand_def()
    padding = prop_def(IntegerAttr, default_value=_i32(1))
    result = result_def()
    irdl_options = _SIZED


@irdl_op_definition
class DescriptorLoadOp(IRDLOperation):
    name = "tt.descriptor_load"
    desc = operand_def()
    indices = var_operand_def()
    cache = prop_def(IntegerAttr, default_value=_i32(1))
    evict = prop_def(IntegerAttr, default_value=_i32(1))
    cachePolicy = opt_prop_def()
    result = result_def()


@irdl_op_definition
class DescriptorStoreOp(IRDLOperation):
    name = "tt.descriptor_store"
    desc = operand_def()
    src = operand_def()
    indices = var_operand_def()


@irdl_op_definition
class DescriptorReduceOp(IRDLOperation):
    """kind: see enums.DESCRIPTOR_REDUCTION."""

    name = "tt.descriptor_reduce"
    kind = prop_def(IntegerAttr)
    desc = operand_def()
    src = operand_def()
    indices = var_operand_def()


@irdl_op_definition
class DescriptorGatherOp(IRDLOperation):
    name = "tt.descriptor_gather"
    desc = operand_def()
    x_offsets = operand_def()
    y_offset = operand_def()
    result = result_def()


@irdl_op_definition
class DescriptorScatterOp(IRDLOperation):
    name = "tt.descriptor_scatter"
    desc = operand_def()
    x_offsets = operand_def()
    y_offset = operand_def()
    src = operand_def()


# Functions


@irdl_op_definition
class FuncOp(IRDLOperation):
    name = "tt.func"
    sym_name = prop_def(StringAttr)
    function_type = prop_def(FunctionType)
    sym_visibility = opt_prop_def(StringAttr)
    arg_attrs = opt_prop_def(ArrayAttr)
    res_attrs = opt_prop_def(ArrayAttr)
    body = region_def()


@irdl_op_definition
class CallOp(IRDLOperation):
    name = "tt.call"
    callee = prop_def(SymbolRefAttr)
    args = var_operand_def()
    arg_attrs = opt_prop_def(ArrayAttr)
    res_attrs = opt_prop_def(ArrayAttr)
    outputs = var_result_def()


@irdl_op_definition
class ReturnOp(IRDLOperation):
    name = "tt.return"
    srcs = var_operand_def()
    traits = traits_def(IsTerminator())
