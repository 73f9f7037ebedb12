"""`ttng`: Triton's dialect for NVIDIA GPUs, as releases 3.6 to 3.9 print it."""

from __future__ import annotations

from xdsl.dialects.builtin import BoolAttr, IntegerAttr, i1, i16, i32, i64
from xdsl.ir import Dialect, Operation
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    prop_def,
    result_def,
    var_operand_def,
    var_result_def,
)

from harness.ir import enums
from harness.ir.codecs import BareIntegerCodec, EnumCodec
from harness.ir.dialects import ttng_tensor_memory
from harness.ir.dialects.ttg_types import TENSOR_MEMORY
from harness.ir.registry import DialectSyntax
from harness.ir.syntax import OpSyntax, Rule, Syntax

_SIZED = (AttrSizedOperandSegments(as_property=True),)
_FALSE = BoolAttr.from_bool(False)


def _i32(value: int) -> IntegerAttr:
    return IntegerAttr(value, i32)


# Products


@irdl_op_definition
class WarpGroupDotOp(IRDLOperation):
    """a @ b + c, of tiles in shared memory; without c where `useC` is false. inputPrecision: enums.INPUT_PRECISION."""

    name = "ttng.warp_group_dot"
    a = operand_def()
    b = operand_def()
    c = operand_def()
    useC = opt_operand_def()
    inputPrecision = prop_def(IntegerAttr, default_value=_i32(2))
    maxNumImpreciseAcc = prop_def(IntegerAttr, default_value=_i32(0))
    isAsync = prop_def(IntegerAttr, default_value=_FALSE)
    d = result_def()


@irdl_op_definition
class WarpGroupDotWaitOp(IRDLOperation):
    """Passes its operands on when no more than the `pendings` newest products are outstanding."""

    name = "ttng.warp_group_dot_wait"
    inputs = var_operand_def()
    pendings = prop_def(IntegerAttr)
    outputs = var_result_def()


# Barriers in shared memory


class _Barrier(IRDLOperation):
    alloc = operand_def()


@irdl_op_definition
class InitBarrierOp(_Barrier):
    name = "ttng.init_barrier"
    count = prop_def(IntegerAttr)


@irdl_op_definition
class InvalBarrierOp(_Barrier):
    name = "ttng.inval_barrier"


@irdl_op_definition
class BarrierExpectOp(_Barrier):
    """The barrier's phase does not end before `size` bytes were copied."""

    name = "ttng.barrier_expect"
    pred = operand_def()
    size = prop_def(IntegerAttr)
    fromCTA = opt_prop_def(IntegerAttr)


@irdl_op_definition
class WaitBarrierOp(IRDLOperation):
    """Waits until the phase of this parity has ended."""

    name = "ttng.wait_barrier"
    alloc = operand_def()
    phase = operand_def()
    pred = opt_operand_def()
    deps = var_operand_def()
    irdl_options = _SIZED


@irdl_op_definition
class ArriveBarrierOp(IRDLOperation):
    name = "ttng.arrive_barrier"
    alloc = operand_def()
    pred = opt_operand_def()
    count = prop_def(IntegerAttr)
    fromCTA = opt_prop_def(IntegerAttr)
    multicastCTA = opt_prop_def(IntegerAttr)


@irdl_op_definition
class FenceAsyncSharedOp(IRDLOperation):
    """Orders what threads wrote to shared memory before what copies read of it."""

    name = "ttng.fence_async_shared"
    bCluster = prop_def(IntegerAttr)


# Copies through tensor descriptors


@irdl_op_definition
class AsyncTMACopyGlobalToLocalOp(IRDLOperation):
    """Copies the block at `coord` into `result` and tells `barrier`, where `pred`."""

    name = "ttng.async_tma_copy_global_to_local"
    desc = operand_def()
    coord = var_operand_def()
    offsets = var_operand_def()
    barrier = operand_def()
    result = operand_def()
    pred = operand_def()
    multicast = opt_prop_def()
    cache = prop_def(IntegerAttr, default_value=_i32(1))
    evict = prop_def(IntegerAttr, default_value=_i32(1))
    cachePolicy = opt_prop_def()
    isVolatile = prop_def(IntegerAttr, default_value=_FALSE)
    irdl_options = _SIZED


class _Store(IRDLOperation):
    desc = operand_def()
    coord = var_operand_def()
    src = operand_def()


@irdl_op_definition
class AsyncTMACopyLocalToGlobalOp(_Store):
    name = "ttng.async_tma_copy_local_to_global"


@irdl_op_definition
class AsyncTMAReduceOp(_Store):
    """kind: see enums.DESCRIPTOR_REDUCTION."""

    name = "ttng.async_tma_reduce"
    kind = prop_def(IntegerAttr)


@irdl_op_definition
class AsyncTMAGatherOp(IRDLOperation):
    """Rows `x_offsets` of the tensor, from column `y_offset` on."""

    name = "ttng.async_tma_gather"
    desc = operand_def()
    x_offsets = operand_def()
    y_offset = operand_def()
    barrier = operand_def()
    result = operand_def()
    pred = operand_def()
    multicast = opt_prop_def()


@irdl_op_definition
class AsyncTMAScatterOp(IRDLOperation):
    name = "ttng.async_tma_scatter"
    desc = operand_def()
    x_offsets = operand_def()
    y_offset = operand_def()
    src = operand_def()


@irdl_op_definition
class TMAStoreWaitOp(IRDLOperation):
    """Waits until no more than the `pendings` newest stores are outstanding."""

    name = "ttng.async_tma_store_wait"
    pendings = prop_def(IntegerAttr)
    read_only = opt_prop_def()


# Descriptors in memory


@irdl_op_definition
class TensormapCreateOp(IRDLOperation):
    """Writes the descriptor of a tensor to desc_ptr. Extents and box: innermost axis first; strides: bytes."""

    name = "ttng.tensormap_create"
    desc_ptr = operand_def()
    global_address = operand_def()
    box_dim = var_operand_def()
    global_dim = var_operand_def()
    global_stride = var_operand_def()
    element_stride = var_operand_def()
    elem_type = prop_def(IntegerAttr)
    interleave_layout = prop_def(IntegerAttr)
    swizzle_mode = prop_def(IntegerAttr)
    fill_mode = prop_def(IntegerAttr)
    irdl_options = _SIZED


@irdl_op_definition
class TensormapFenceproxyAcquireOp(IRDLOperation):
    name = "ttng.tensormap_fenceproxy_acquire"
    desc_ptr = operand_def()


@irdl_op_definition
class ReinterpretTensorDescOp(IRDLOperation):
    """The descriptor that was written to a place in memory."""

    name = "ttng.reinterpret_tensor_descriptor"
    rawDesc = operand_def()
    result = result_def()


def _products() -> list[Syntax]:
    return [
        Syntax(
            WarpGroupDotOp,
            "$a `,` $b `,` $c (`,` $useC^)? attr-dict `:` type($a) `*` type($b) `->` type($d)",
            {"c": Rule("d"), "useC": i1},
        ),
        Syntax(WarpGroupDotWaitOp, "$inputs attr-dict `:` type($inputs)", {"outputs": Rule("inputs")}),
    ]


def _barriers() -> list[Syntax]:
    number = BareIntegerCodec()
    flag = {"pred": i1}
    return [
        Syntax(InitBarrierOp, "$alloc `,` $count attr-dict `:` type($alloc)", codecs={"count": number}),
        Syntax(InvalBarrierOp, "$alloc attr-dict `:` type($alloc)"),
        Syntax(BarrierExpectOp, "$alloc `,` $size attr-dict `,` $pred `:` type($alloc)", flag, {"size": number}),
        Syntax(
            WaitBarrierOp,
            "$alloc `,` $phase (`,` $pred^)? (`deps` $deps^)? attr-dict `:` type($alloc) (`,` type($deps)^)?",
            {"phase": i32, **flag},
        ),
        Syntax(ArriveBarrierOp, "$alloc `,` $count (`,` $pred^)? attr-dict `:` type($alloc)", flag, {"count": number}),
        Syntax(FenceAsyncSharedOp, "attr-dict"),
    ]


def _copies() -> list[Syntax]:
    stored = "$desc `[` $coord `]` $src attr-dict `:` type($desc) `,` type($src)"
    at = {"coord": i32}
    hints = {"cache": EnumCodec(enums.CACHE_MODIFIER), "evict": EnumCodec(enums.EVICTION_POLICY)}
    return [
        Syntax(
            AsyncTMACopyGlobalToLocalOp,
            "$desc `[` $coord `]` (`offsets` `=` `[` $offsets^ `]`)? $result `,` $barrier `,` $pred"
            " oilist(`cacheModifier` `=` $cache | `evictionPolicy` `=` $evict)"
            " attr-dict `:` type($desc) `,` type($barrier) `->` type($result)",
            {"offsets": i16, "pred": i1, **at},
            hints,
        ),
        Syntax(AsyncTMACopyLocalToGlobalOp, stored, at),
        Syntax(AsyncTMAReduceOp, f"$kind `,` {stored}", at, {"kind": EnumCodec(enums.DESCRIPTOR_REDUCTION)}),
        Syntax(
            AsyncTMAGatherOp,
            "$desc `[` $x_offsets `,` $y_offset `]` $result `,` $barrier `,` $pred attr-dict `:` type(operands)",
        ),
        Syntax(AsyncTMAScatterOp, "$desc `[` $x_offsets `,` $y_offset `]` $src attr-dict `:` type(operands)"),
        Syntax(TMAStoreWaitOp, "attr-dict"),
    ]


def _descriptors() -> list[Syntax]:
    return [
        Syntax(
            TensormapCreateOp,
            "$desc_ptr `,` $global_address `,` `[` $box_dim `]` `,` `[` $global_dim `]` `,` `[` $global_stride `]`"
            " `,` `[` $element_stride `]` attr-dict `:` functional-type(operands, results)",
            {"box_dim": i32, "global_dim": i32, "global_stride": i64, "element_stride": i32},
        ),
        Syntax(TensormapFenceproxyAcquireOp, "$desc_ptr attr-dict `:` type($desc_ptr)"),
        Syntax(ReinterpretTensorDescOp, "$rawDesc attr-dict `:` type($rawDesc) `to` type($result)"),
    ]


def build() -> DialectSyntax:
    formats = [*_products(), *_barriers(), *_copies(), *_descriptors(), *ttng_tensor_memory.formats()]
    syntaxes: dict[type[Operation], OpSyntax] = {syntax.op_type: syntax for syntax in formats}
    return DialectSyntax(Dialect("ttng", list(syntaxes), [*TENSOR_MEMORY]), syntaxes)
