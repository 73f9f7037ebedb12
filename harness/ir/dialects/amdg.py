"""`amdg`: Triton's dialect for AMD GPUs, as releases 3.6 to 3.9 print it on CDNA 3 and 4."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.ir import Attribute, Dialect, Operation
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
)

from harness.ir import enums
from harness.ir.codecs import EnumCodec, PointerTypeCodec
from harness.ir.dialects.families import conversion
from harness.ir.dialects.tt_types import PointerType
from harness.ir.dialects.ttg_types import AsyncToken, MemDesc
from harness.ir.dialects.types import boolean_like, element_of, with_element
from harness.ir.registry import DialectSyntax
from harness.ir.syntax import OpSyntax, Rule, Syntax

_SIZED = (AttrSizedOperandSegments(as_property=True),)
_NO_HINT = IntegerAttr(1, i32)


def _pointer_to(type_: Attribute) -> Attribute:
    return PointerType(element_of(type_))


def _offsets_of(type_: Attribute) -> Attribute:
    return with_element(type_, i32)


class _Buffer(IRDLOperation):
    """pointer_type: the pointer's, where the release writes it (3.9)."""

    pointer_type = opt_prop_def()


@irdl_op_definition
class BufferLoadOp(_Buffer):
    """Elements at ptr[offsets]; `other` where the mask is false. `stride` is a hint."""

    name = "amdg.buffer_load"
    ptr = operand_def()
    offsets = operand_def()
    stride = opt_operand_def()
    mask = opt_operand_def()
    other = opt_operand_def()
    cache = prop_def(IntegerAttr, default_value=_NO_HINT)
    cachePolicy = opt_prop_def()
    contiguity = opt_prop_def(IntegerAttr)
    result = result_def()
    irdl_options = _SIZED


@irdl_op_definition
class BufferLoadToLocalOp(IRDLOperation):
    """The same into shared memory, asynchronously."""

    name = "amdg.buffer_load_to_local"
    dest = operand_def()
    ptr = operand_def()
    offsets = operand_def()
    mask = opt_operand_def()
    other = opt_operand_def()
    stride = opt_operand_def()
    cache = prop_def(IntegerAttr, default_value=_NO_HINT)
    cachePolicy = opt_prop_def()
    contiguity = opt_prop_def(IntegerAttr)
    token = result_def(AsyncToken)
    irdl_options = _SIZED


@irdl_op_definition
class BufferStoreOp(_Buffer):
    name = "amdg.buffer_store"
    value = operand_def()
    ptr = operand_def()
    offsets = operand_def()
    stride = opt_operand_def()
    mask = opt_operand_def()
    cache = prop_def(IntegerAttr, default_value=_NO_HINT)
    cachePolicy = opt_prop_def()
    contiguity = opt_prop_def(IntegerAttr)
    irdl_options = _SIZED


@irdl_op_definition
class BufferAtomicRMWOp(_Buffer):
    """atomic_rmw_op: see enums.ATOMIC_OPERATION. The old values."""

    name = "amdg.buffer_atomic_rmw"
    ptr = operand_def()
    offsets = operand_def()
    value = operand_def()
    stride = opt_operand_def()
    mask = opt_operand_def()
    atomic_rmw_op = prop_def(IntegerAttr)
    sem = prop_def(IntegerAttr)
    scope = prop_def(IntegerAttr)
    result = result_def()
    irdl_options = _SIZED


@irdl_op_definition
class BufferAtomicCASOp(_Buffer):
    name = "amdg.buffer_atomic_cas"
    ptr = operand_def()
    offsets = operand_def()
    cmp = operand_def()
    val = operand_def()
    stride = opt_operand_def()
    sem = prop_def(IntegerAttr)
    scope = prop_def(IntegerAttr)
    result = result_def()
    irdl_options = _SIZED


@irdl_op_definition
class InThreadTransposeOp(IRDLOperation):
    """The same tensor in another layout."""

    name = "amdg.in_thread_transpose"
    src = operand_def()
    result = result_def()


class _ScaledUpcast(IRDLOperation):
    input = operand_def()
    scale = operand_def()
    output = result_def()


@irdl_op_definition
class ScaledUpcastFp4Op(_ScaledUpcast):
    """Two e2m1 numbers of each byte along `axis`, times their scales: bf16, or the e8m0 byte."""

    name = "amdg.scaled_upcast_fp4"
    axis = prop_def(IntegerAttr)


@irdl_op_definition
class ScaledUpcastFp8Op(_ScaledUpcast):
    name = "amdg.scaled_upcast_fp8"


@irdl_op_definition
class UpcastMxfpOp(IRDLOperation):
    """Small floats times an e8m0 scale for each group along K, to 3.7; scales have K last."""

    name = "amdg.upcast_mxfp"
    src = operand_def()
    scale = operand_def()
    fp_type = prop_def(IntegerAttr)
    fastMath = prop_def(IntegerAttr)
    result = result_def()


@irdl_op_definition
class AsyncWaitOp(IRDLOperation):
    """As ttg.async_wait, counting the instructions that copies become."""

    name = "amdg.async_wait"
    asyncToken = var_operand_def(AsyncToken)
    num_inst = prop_def(IntegerAttr)
    retToken = result_def(AsyncToken)


def _buffers() -> list[Syntax]:
    pointer = {"pointer_type": PointerTypeCodec()}
    hint = {"cache": EnumCodec(enums.CACHE_MODIFIER), **pointer}
    ordering = {"sem": EnumCodec(enums.MEMORY_SEMANTIC), "scope": EnumCodec(enums.MEMORY_SCOPE), **pointer}
    operation = {"atomic_rmw_op": EnumCodec(enums.ATOMIC_OPERATION), **ordering}

    def of(name: str) -> dict[str, Rule | Attribute]:
        """What the type of the elements says of the other operands."""
        return {
            "ptr": Rule(name, _pointer_to),
            "offsets": Rule(name, _offsets_of),
            "mask": Rule(name, boolean_like),
            "stride": i32,
        }

    loaded = of("result")
    tail = "oilist(`cacheModifier` `=` $cache) (`stride` `=` $stride^)? attr-dict"
    return [
        Syntax(
            BufferLoadOp,
            f"$ptr `[` $offsets `]` (`,` $mask^)? (`,` $other^)? {tail} `:` ($pointer_type^)? type($result)",
            {**loaded, "other": Rule("result")},
            hint,
        ),
        Syntax(
            BufferStoreOp,
            f"$value `,` $ptr `[` $offsets `]` (`,` $mask^)? {tail} `:` ($pointer_type^)? type($value)",
            of("value"),
            hint,
        ),
        Syntax(
            BufferLoadToLocalOp,
            "$ptr `[` $offsets `]` (`mask` `=` $mask^)? (`other` `=` $other^)? (`stride` `=` $stride^)?"
            " oilist(`cacheModifier` `=` $cache) `into` $dest attr-dict"
            " `:` short-type($ptr) `[` type($offsets) `]` (type($other)^)? `->` short-type($dest)",
            {"mask": Rule("offsets", boolean_like), "stride": i32, "token": AsyncToken()},
            {"cache": EnumCodec(enums.CACHE_MODIFIER)},
            kinds={"ptr": PointerType, "dest": MemDesc},
        ),
        Syntax(
            BufferAtomicRMWOp,
            "$atomic_rmw_op `,` $sem `,` $scope `,` $value `,` $ptr `[` $offsets `]` (`,` $mask^)?"
            " (`stride` `=` $stride^)? attr-dict `:` ($pointer_type^)? type($result)",
            {**loaded, "value": Rule("result")},
            operation,
        ),
        Syntax(
            BufferAtomicCASOp,
            "$sem `,` $scope `,` $cmp `,` $val `,` $ptr `[` $offsets `]` (`stride` `=` $stride^)?"
            " attr-dict `:` ($pointer_type^)? type($result)",
            {**loaded, "cmp": Rule("result"), "val": Rule("result")},
            ordering,
        ),
    ]


def build() -> DialectSyntax:
    upcast = "$input `scale` $scale attr-dict `:` type($input) `,` type($scale) `->` type($output)"
    token = {"asyncToken": AsyncToken(), "retToken": AsyncToken()}
    formats = [
        *_buffers(),
        conversion(InThreadTransposeOp, "->"),
        *(Syntax(op, upcast) for op in (ScaledUpcastFp4Op, ScaledUpcastFp8Op)),
        Syntax(
            UpcastMxfpOp,
            "$src `,` $scale `fp_type` `=` $fp_type attr-dict `:` type($src) `,` type($scale) `->` type($result)",
            {},
            {"fp_type": EnumCodec(enums.SCALED_ELEMENT)},
        ),
        Syntax(AsyncWaitOp, "($asyncToken^)? attr-dict", token),
    ]
    syntaxes: dict[type[Operation], OpSyntax] = {syntax.op_type: syntax for syntax in formats}
    return DialectSyntax(Dialect("amdg", list(syntaxes)), syntaxes, old_name="amdgpu")  # its name to 3.5
