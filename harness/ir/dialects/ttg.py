"""`ttg`: Triton's GPU dialect, as releases 3.6 to 3.9 print it up to the conversion to LLVM.

Of what 3.3 to 3.5 print differently, enough to bisect loops pipelined for compute capability 8.0.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import BoolAttr, DenseArrayBase, IntegerAttr, StringAttr, i32
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
)

from harness.ir import enums
from harness.ir.codecs import EnumCodec, IndexListCodec, MaskCodec
from harness.ir.dialects import ttg_partitions
from harness.ir.dialects.families import conversion
from harness.ir.dialects.ttg_types import LAYOUTS, TYPES, AsyncToken, MemDesc
from harness.ir.dialects.types import boolean_like_pointee, pointee
from harness.ir.registry import DialectSyntax
from harness.ir.syntax import CustomSyntax, OpSyntax, Rule, Syntax

if TYPE_CHECKING:
    from harness.ir.parser import ModuleParser

_SIZED = (AttrSizedOperandSegments(as_property=True),)
_FALSE = BoolAttr.from_bool(False)
_ONE = IntegerAttr(1, i32)
TOKEN = AsyncToken()
# On the same line: in the next one it is another op's result.
_BARE_TOKEN = re.compile(r"[ \t]*%")
_TOKENS = {"inputTokens": TOKEN, "asyncToken": TOKEN, "retToken": TOKEN}


class _View(IRDLOperation):
    """A memory descriptor or tensor made from another one."""

    src = operand_def()
    result = result_def()


@irdl_op_definition
class BarrierOp(IRDLOperation):
    """All threads of the program wait here. addrSpace, a mask of enums.ADDRESS_SPACE: the memory it orders."""

    name = "ttg.barrier"
    addrSpace = prop_def(IntegerAttr)


@irdl_op_definition
class LocalBarrierOp(IRDLOperation):
    """The same for memory of the program alone."""

    name = "ttg.local_barrier"


@irdl_op_definition
class ConvertLayoutOp(_View):
    """The same tensor, spread over the threads in another way."""

    name = "ttg.convert_layout"


@irdl_op_definition
class Fp4ToFpOp(_View):
    """Two e2m1 numbers of each byte, along `axis`, the low half first."""

    name = "ttg.fp4_to_fp"
    axis = prop_def(IntegerAttr)


# Shared memory


@irdl_op_definition
class LocalAllocOp(IRDLOperation):
    """Shared memory of this program, with the tensor `src` in it where there is one."""

    name = "ttg.local_alloc"
    src = opt_operand_def()
    alignment = opt_prop_def(IntegerAttr)
    result = result_def()


@irdl_op_definition
class LocalDeallocOp(IRDLOperation):
    name = "ttg.local_dealloc"
    src = operand_def()


@irdl_op_definition
class LocalLoadOp(IRDLOperation):
    name = "ttg.local_load"
    src = operand_def()
    token = opt_operand_def()
    result = result_def()


@irdl_op_definition
class LocalStoreOp(IRDLOperation):
    name = "ttg.local_store"
    src = operand_def()
    dst = operand_def()


@irdl_op_definition
class LocalGatherOp(IRDLOperation):
    """result[i, j] = src[..., indices[i, j] at `axis`, ...]"""

    name = "ttg.local_gather"
    src = operand_def()
    indices = operand_def()
    axis = prop_def(IntegerAttr)
    result = result_def()


@irdl_op_definition
class MemDescIndexOp(IRDLOperation):
    """src[index] along the first axis."""

    name = "ttg.memdesc_index"
    src = operand_def()
    index = operand_def()
    result = result_def()


@irdl_op_definition
class MemDescSubsliceOp(_View):
    """src[offsets : offsets + extents of the result]"""

    name = "ttg.memdesc_subslice"
    offsets = prop_def(DenseArrayBase)


@irdl_op_definition
class MemDescSubviewOp(IRDLOperation):
    """What releases up to 3.4 have for both: src[offsets : offsets + extents], axes in front of the result's gone."""

    name = "ttg.memdesc_subview"
    src = operand_def()
    offsets = var_operand_def()
    result = result_def()


@irdl_op_definition
class MemDescTransOp(_View):
    name = "ttg.memdesc_trans"
    order = prop_def(DenseArrayBase)


@irdl_op_definition
class MemDescReshapeOp(_View):
    name = "ttg.memdesc_reshape"


@irdl_op_definition
class MemDescReinterpretOp(_View):
    """The same bytes, seen with another type."""

    name = "ttg.memdesc_reinterpret"


# Asynchronous copies


@irdl_op_definition
class AsyncCopyOp(IRDLOperation):
    """Copies elements of global memory into shared memory; done when a wait says so. `result` is where to."""

    name = "ttg.async_copy_global_to_local"
    src = operand_def()
    result = operand_def()
    mask = opt_operand_def()
    other = opt_operand_def()
    cache = prop_def(IntegerAttr, default_value=_ONE)
    evict = prop_def(IntegerAttr, default_value=_ONE)
    cachePolicy = opt_prop_def()
    isVolatile = prop_def(IntegerAttr, default_value=_FALSE)
    contiguity = opt_prop_def(IntegerAttr)
    token = result_def(AsyncToken)
    irdl_options = _SIZED


@irdl_op_definition
class AsyncCommitGroupOp(IRDLOperation):
    """The copies issued since the last one are a group."""

    name = "ttg.async_commit_group"
    inputTokens = var_operand_def(AsyncToken)
    asyncToken = result_def(AsyncToken)


@irdl_op_definition
class AsyncWaitOp(IRDLOperation):
    """Waits until no more than the `num` newest groups are outstanding."""

    name = "ttg.async_wait"
    asyncToken = var_operand_def(AsyncToken)
    num = prop_def(IntegerAttr)
    retToken = result_def(AsyncToken)


@irdl_op_definition
class GlobalScratchAllocOp(IRDLOperation):
    """`nbytes` of global memory of this program."""

    name = "ttg.global_scratch_alloc"
    nbytes = prop_def(IntegerAttr)
    alignment = opt_prop_def(IntegerAttr)
    backend = opt_prop_def(StringAttr)
    shared_cluster_state = opt_prop_def()
    third_party_allocation = opt_prop_def()
    result = result_def()


def _memory() -> list[Syntax]:
    views = (MemDescTransOp, MemDescReshapeOp, MemDescReinterpretOp, ConvertLayoutOp, Fp4ToFpOp)
    moved = "attr-dict `:` type($src) `->` type($result)"
    return [
        *(conversion(op, "->") for op in views),
        Syntax(LocalAllocOp, "($src^)? attr-dict `:` functional-type(operands, results)"),
        Syntax(LocalDeallocOp, "$src attr-dict `:` type($src)"),
        Syntax(LocalLoadOp, f"$src (`token` $token^)? {moved}", {"token": TOKEN}),
        Syntax(LocalStoreOp, "$src `,` $dst attr-dict `:` type($src) `->` type($dst)"),
        Syntax(LocalGatherOp, "$src `[` $indices `]` attr-dict `:` type($src) `,` type($indices) `->` type($result)"),
        Syntax(MemDescIndexOp, f"$src `[` $index `]` {moved}", {"index": i32}),
        Syntax(MemDescSubviewOp, f"$src `[` $offsets `]` {moved}", {"offsets": i32}),
        Syntax(MemDescSubsliceOp, f"$src $offsets {moved}", codecs={"offsets": IndexListCodec()}),
    ]


def _asynchronous() -> list[Syntax]:
    copied = {"mask": Rule("src", boolean_like_pointee), "other": Rule("src", pointee), "token": TOKEN}
    hints = {"cache": EnumCodec(enums.CACHE_MODIFIER), "evict": EnumCodec(enums.EVICTION_POLICY)}
    return [
        Syntax(
            AsyncCopyOp,
            "$src `,` $result (`mask` $mask^)? (`other` $other^)?"
            " oilist(`cacheModifier` `=` $cache | `evictionPolicy` `=` $evict)"
            " attr-dict `:` type($src) `->` short-type($result)",
            copied,
            hints,
            kinds={"result": MemDesc},
        ),
        Syntax(AsyncWaitOp, "($asyncToken^)? attr-dict", _TOKENS),
        Syntax(GlobalScratchAllocOp, "attr-dict `:` type($result)"),
    ]


def _commit_group() -> CustomSyntax:
    """Releases up to 3.4 write the tokens without a word in front of them."""
    today = Syntax(AsyncCommitGroupOp, "(`tokens` $inputTokens^)? attr-dict", _TOKENS)
    older = Syntax(AsyncCommitGroupOp, "$inputTokens attr-dict", _TOKENS)

    def parse(parser: ModuleParser, op_type: type[Operation]) -> Operation:
        bare = _BARE_TOKEN.match(parser.text, parser.at)
        return (older if bare else today).parse(parser, op_type)

    return CustomSyntax(parse, today.print)


def build() -> DialectSyntax:
    formats = [
        Syntax(BarrierOp, "$addrSpace attr-dict", codecs={"addrSpace": MaskCodec(enums.ADDRESS_SPACE)}),
        Syntax(LocalBarrierOp, "attr-dict"),
        *_memory(),
        *_asynchronous(),
    ]
    syntaxes: dict[type[Operation], OpSyntax] = {syntax.op_type: syntax for syntax in formats}
    syntaxes |= {AsyncCommitGroupOp: _commit_group(), **ttg_partitions.syntaxes()}
    return DialectSyntax(Dialect("ttg", list(syntaxes), [*LAYOUTS, *TYPES]), syntaxes)
