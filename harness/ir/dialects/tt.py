"""`tt`: Triton's own dialect, as releases 3.6 to 3.9 print it."""

from __future__ import annotations

from xdsl.dialects.builtin import i32, i64
from xdsl.ir import Dialect, Operation

from harness.ir import enums
from harness.ir.codecs import EnumCodec, FlagCodec, SymbolCodec, TextCodec
from harness.ir.dialects.families import conversion, same_type
from harness.ir.dialects.func import function_syntax
from harness.ir.dialects.tt_ops import (
    AddPtrOp,
    AdvanceOp,
    ApproxDivFOp,
    AssertOp,
    AtomicCASOp,
    AtomicLoadOp,
    AtomicPollOp,
    AtomicRMWOp,
    AtomicStoreOp,
    BitcastOp,
    BroadcastOp,
    CallOp,
    CatOp,
    ClampFOp,
    DescriptorGatherOp,
    DescriptorLoadOp,
    DescriptorReduceOp,
    DescriptorScatterOp,
    DescriptorStoreOp,
    DotOp,
    DotScaledOp,
    ElementwiseInlineAsmOp,
    ExpandDimsOp,
    ExternElementwiseOp,
    FpToFpOp,
    FuncOp,
    GatherOp,
    GetNumProgramsOp,
    GetProgramIdOp,
    GridDependencyLaunchDependentsOp,
    GridDependencyWaitOp,
    HistogramOp,
    IntToPtrOp,
    JoinOp,
    LoadOp,
    MakeRangeOp,
    MakeTensorDescOp,
    MakeTensorPtrOp,
    MapElementwiseOp,
    MapElementwiseReturnOp,
    MulhiUIOp,
    PreciseDivFOp,
    PreciseSqrtOp,
    PrintOp,
    PtrToIntOp,
    ReduceOp,
    ReduceReturnOp,
    ReshapeOp,
    ReturnOp,
    ScanOp,
    ScanReturnOp,
    SplatOp,
    SplitOp,
    StoreOp,
    TransOp,
    UnsplatOp,
)
from harness.ir.dialects.tt_types import PointerType, TensorDescriptorType
from harness.ir.dialects.types import base_of_block_pointer, boolean_like, boolean_like_pointee, element_of, pointee
from harness.ir.registry import DialectSyntax
from harness.ir.syntax import OpSyntax, Rule, Syntax

_CACHE = {"cache": EnumCodec(enums.CACHE_MODIFIER), "evict": EnumCodec(enums.EVICTION_POLICY)}
_ORDERING = {"sem": EnumCodec(enums.MEMORY_SEMANTIC), "scope": EnumCodec(enums.MEMORY_SCOPE)}
_HINTS = "oilist(`cacheModifier` `=` $cache | `evictionPolicy` `=` $evict)"
_RETURNED = "$result attr-dict `:` type($result)"


def _arithmetic() -> list[Syntax]:
    nan = {"propagateNan": EnumCodec(enums.PROPAGATE_NAN)}
    rounding = {"rounding": EnumCodec(enums.ROUNDING_MODE)}
    conversions = (IntToPtrOp, PtrToIntOp, BitcastOp, SplatOp, ExpandDimsOp, BroadcastOp, TransOp)
    return [
        *(conversion(op, "->") for op in conversions),
        *(same_type(op) for op in (PreciseSqrtOp, PreciseDivFOp, ApproxDivFOp, MulhiUIOp)),
        Syntax(UnsplatOp, "$src attr-dict `:` type($src)", {"result": Rule("src", element_of)}),
        conversion(FpToFpOp, "->", "(`,` `rounding` `=` $rounding^)?", rounding),
        same_type(ClampFOp, "`,` `propagateNan` `=` $propagateNan", nan),
        Syntax(AddPtrOp, "$ptr `,` $offset attr-dict `:` type($result) `,` type($offset)", {"ptr": Rule("result")}),
        Syntax(
            AdvanceOp,
            "$ptr `,` `[` $offsets `]` attr-dict `:` short-type($result)",
            {"ptr": Rule("result"), "offsets": i32},
            kinds={"result": PointerType},
        ),
        Syntax(MakeRangeOp, "attr-dict `:` type($result)"),
        *(
            Syntax(op, "$axis attr-dict `:` type($result)", codecs={"axis": EnumCodec(enums.PROGRAM_AXIS)})
            for op in (GetProgramIdOp, GetNumProgramsOp)
        ),
    ]


def _memory() -> list[Syntax]:
    loaded = {"mask": Rule("ptr", boolean_like_pointee), "other": Rule("ptr", pointee), "result": Rule("ptr", pointee)}
    stored = {"mask": Rule("ptr", boolean_like_pointee), "value": Rule("ptr", pointee)}
    rmw = {"atomic_rmw_op": EnumCodec(enums.ATOMIC_OPERATION), **_ORDERING}
    signature = "attr-dict `:` functional-type(operands, results)"
    return [
        Syntax(LoadOp, f"$ptr (`,` $mask^)? (`,` $other^)? {_HINTS} attr-dict `:` type($ptr)", loaded, _CACHE),
        Syntax(StoreOp, f"$ptr `,` $value (`,` $mask^)? {_HINTS} attr-dict `:` type($ptr)", stored, _CACHE),
        Syntax(
            AtomicRMWOp, f"$atomic_rmw_op `,` $sem `,` $scope `,` $ptr `,` $val (`,` $mask^)? {signature}", codecs=rmw
        ),
        Syntax(AtomicCASOp, f"$sem `,` $scope `,` $ptr `,` $cmp `,` $val {signature}", codecs=_ORDERING),
        Syntax(AtomicLoadOp, f"$sem `,` $scope `,` $ptr (`,` $mask^)? {signature}", codecs=_ORDERING),
        Syntax(
            AtomicStoreOp,
            "$sem `,` $scope `,` $ptr `,` $value (`,` $mask^)? attr-dict `:` type($ptr)",
            stored,
            _ORDERING,
        ),
        Syntax(
            AtomicPollOp,
            "$sem `,` $scope `,` $ptr `,` $expected (`timeout` $timeout^)? attr-dict"
            " `:` type($ptr) `,` type($expected) `->` type($result)",
            {"timeout": i64},
            _ORDERING,
        ),
        *(Syntax(op, "attr-dict") for op in (GridDependencyWaitOp, GridDependencyLaunchDependentsOp)),
    ]


def _shapes() -> list[Syntax]:
    flags = {"allow_reorder": FlagCodec(), "efficient_layout": FlagCodec()}
    pair = "$lhs `,` $rhs attr-dict `:` type($lhs) `->` type($result)"
    return [
        conversion(
            ReshapeOp, "->", "(`allow_reorder` $allow_reorder^)? (`efficient_layout` $efficient_layout^)?", flags
        ),
        *(Syntax(op, pair, {"rhs": Rule("lhs")}) for op in (CatOp, JoinOp)),
        Syntax(SplitOp, "$src attr-dict `:` type($src) `->` type($outLHS)", {"outRHS": Rule("outLHS")}),
        Syntax(
            HistogramOp,
            "$src (`,` $mask^)? attr-dict `:` type($src) `->` type($result)",
            {"mask": Rule("src", boolean_like)},
        ),
        Syntax(GatherOp, "$src `[` $indices `]` attr-dict `:` functional-type(operands, results)"),
    ]


def _products() -> list[Syntax]:
    elements = {name: EnumCodec(enums.SCALED_ELEMENT) for name in ("a_elem_type", "b_elem_type")}
    return [
        Syntax(
            DotOp,
            "$a `,` $b `,` $c (`,` `inputPrecision` `=` $inputPrecision^)? attr-dict"
            " `:` type($a) `*` type($b) `->` type($d)",
            {"c": Rule("d")},
            {"inputPrecision": EnumCodec(enums.INPUT_PRECISION)},
        ),
        Syntax(
            DotScaledOp,
            "$a (`scale` $a_scale^)? `,` $b (`scale` $b_scale^)? `,` $c `lhs` `=` $a_elem_type `rhs` `=` $b_elem_type"
            " attr-dict `:` type($a) (`,` type($a_scale)^)? `*` type($b) (`,` type($b_scale)^)? `->` type($d)",
            {"c": Rule("d")},
            elements,
        ),
    ]


def _descriptors() -> list[Syntax]:
    kind = {"kind": EnumCodec(enums.DESCRIPTOR_REDUCTION)}
    indices = {"indices": i32}
    return [
        Syntax(
            MakeTensorPtrOp,
            "$base `,` `[` $shape `]` `,` `[` $strides `]` `,` `[` $offsets `]` attr-dict `:` short-type($result)",
            {"base": Rule("result", base_of_block_pointer), "shape": i64, "strides": i64, "offsets": i32},
            kinds={"result": PointerType},
        ),
        Syntax(
            MakeTensorDescOp,
            "$base `,` `[` $shape `]` `,` `[` $strides `]` attr-dict `:` short-type($base) `,` short-type($result)",
            {"shape": i32, "strides": i64},
            kinds={"base": PointerType, "result": TensorDescriptorType},
        ),
        Syntax(
            DescriptorLoadOp,
            f"$desc `[` $indices `]` {_HINTS} attr-dict `:` type($desc) `->` type($result)",
            indices,
            _CACHE,
        ),
        Syntax(DescriptorStoreOp, "$desc `[` $indices `]` `,` $src attr-dict `:` type($desc) `,` type($src)", indices),
        Syntax(
            DescriptorReduceOp,
            "$kind `,` $desc `[` $indices `]` `,` $src attr-dict `:` type($desc) `,` type($src)",
            indices,
            kind,
        ),
        Syntax(
            DescriptorGatherOp,
            "$desc `[` $x_offsets `,` $y_offset `]` attr-dict `:` functional-type(operands, results)",
        ),
        Syntax(DescriptorScatterOp, "$desc `[` $x_offsets `,` $y_offset `]` `,` $src attr-dict `:` type(operands)"),
    ]


def _calls() -> list[Syntax]:
    signature = "attr-dict `:` functional-type(operands, results)"
    return [
        Syntax(CallOp, f"$callee `(` $args `)` {signature}", codecs={"callee": SymbolCodec()}),
        Syntax(ReturnOp, "attr-dict ($srcs^ `:` type($srcs))?"),
        *(Syntax(op, _RETURNED) for op in (ReduceReturnOp, ScanReturnOp, MapElementwiseReturnOp)),
        Syntax(ExternElementwiseOp, f"operands {signature}"),
        Syntax(
            ElementwiseInlineAsmOp,
            "$asm_string attr-dict ($args^ `:` type($args))? `->` type($result)",
            codecs={"asm_string": TextCodec()},
        ),
        Syntax(PrintOp, "$prefix attr-dict (`:` $args^ `:` type($args))?", codecs={"prefix": TextCodec()}),
        Syntax(AssertOp, "$condition `,` $message attr-dict `:` type($condition)", codecs={"message": TextCodec()}),
    ]


def build() -> DialectSyntax:
    formats = [*_arithmetic(), *_memory(), *_shapes(), *_products(), *_descriptors(), *_calls()]
    syntaxes: dict[type[Operation], OpSyntax] = {syntax.op_type: syntax for syntax in formats}
    syntaxes[FuncOp] = function_syntax()
    generic: list[type[Operation]] = [ReduceOp, ScanOp, MapElementwiseOp]
    return DialectSyntax(Dialect("tt", [*syntaxes, *generic], [PointerType, TensorDescriptorType]), syntaxes)
