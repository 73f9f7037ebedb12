"""`npu`: what our lowering adds to TTIR: strided transfers with bounds, waits, and changes of placement.

    %t = npu.load %base[%s0, %s1] lower [0: %l] upper [0: %u, 1: %v] wrap [0: %start mod %size]
             mask %m : tensor<8x1xi1> other %o : f32 : !tt.ptr<f32> -> tensor<8x16xf32>

Element (i0, i1, ...) of the tile is at base + sum of stride_d * j_d elements, where j_d is i_d, or
(start_d + i_d) rem size_d on an axis that wraps around (the remainder has the sign of the dividend, as that of
arith.remsi). It takes part where lower_d <= i_d < upper_d on every axis that has that bound, and where the mask,
whose extents may be 1, is true. What does not take part is `other` (a scalar or a tensor; zero where absent).
Strides count elements; strides, bounds, starts and sizes are i64 and may be anything: bounds are clipped to the tile.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, i1, i32, i64
from xdsl.ir import Attribute, Dialect, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_result_def,
    prop_def,
    result_def,
    var_operand_def,
)

from harness.ir.dialects.families import conversion
from harness.ir.dialects.npu_types import ATTRIBUTES, Token
from harness.ir.parser import ModuleParser
from harness.ir.printer import ModulePrinter
from harness.ir.reader import Use
from harness.ir.registry import DialectSyntax
from harness.ir.syntax import CustomSyntax, OpSyntax, Syntax

_SIZED = (AttrSizedOperandSegments(as_property=True),)
_NO_AXES = DenseArrayBase.from_list(i32, [])
TOKEN = Token()


class _Transfer(IRDLOperation):
    """lower_axes, upper_axes, wrap_axes say to which axis each of the operands of that list belongs, ascending."""

    base = operand_def()
    strides = var_operand_def()
    lower = var_operand_def()
    upper = var_operand_def()
    wrap_starts = var_operand_def()
    wrap_sizes = var_operand_def()
    mask = opt_operand_def()
    lower_axes = prop_def(DenseArrayBase, default_value=_NO_AXES)
    upper_axes = prop_def(DenseArrayBase, default_value=_NO_AXES)
    wrap_axes = prop_def(DenseArrayBase, default_value=_NO_AXES)


@irdl_op_definition
class LoadOp(_Transfer):
    """The tile, at once."""

    name = "npu.load"
    other = opt_operand_def()
    result = result_def()
    irdl_options = _SIZED


@irdl_op_definition
class StoreOp(_Transfer):
    """Writes the tile, at once."""

    name = "npu.store"
    value = operand_def()
    irdl_options = _SIZED


@irdl_op_definition
class StartLoadOp(_Transfer):
    """Begins a load: memory, mask and other are read at some time until the wait for the token.

    The tile is valid only as the result of that wait."""

    name = "npu.start_load"
    other = opt_operand_def()
    result = result_def()
    token = result_def(Token)
    irdl_options = _SIZED


@irdl_op_definition
class StartStoreOp(_Transfer):
    """Begins a store: value and mask are read, and memory is written, at some time until the wait for the token."""

    name = "npu.start_store"
    value = operand_def()
    token = result_def(Token)
    irdl_options = _SIZED


@irdl_op_definition
class WaitOp(IRDLOperation):
    """Ends a transfer. That of a load takes the tile that was started and gives it as it is now: the same bytes."""

    name = "npu.wait"
    token = operand_def(Token)
    tile = opt_operand_def()
    result = opt_result_def()


@irdl_op_definition
class RelayoutOp(IRDLOperation):
    """The same tensor, placed in another way."""

    name = "npu.relayout"
    src = operand_def()
    result = result_def()


@irdl_op_definition
class DescriptorBaseOp(IRDLOperation):
    """The pointer to the first element of a tensor that the host described (a `!tt.tensordesc` parameter)."""

    name = "npu.descriptor_base"
    desc = operand_def()
    result = result_def()


@irdl_op_definition
class DescriptorFillOp(IRDLOperation):
    """What lies around a tensor that the host described: zero, or NaN, as an element."""

    name = "npu.descriptor_fill"
    desc = operand_def()
    result = result_def()


@irdl_op_definition
class ApartOp(IRDLOperation):
    """Whether the buffers that two of the kernel's arguments point into (pointers, or `!tt.tensordesc`) have no byte
    in common. The launch decides: it is the same for all programs."""

    name = "npu.apart"
    one = operand_def()
    other = operand_def()
    result = result_def(i1)


@irdl_op_definition
class ProbeOp(IRDLOperation):
    """Shows a value to whoever compares two runs; `number` says which. No pass makes one, and none is lowered."""

    name = "npu.probe"
    src = operand_def()
    number = prop_def(IntegerAttr)


LOADS: tuple[type[IRDLOperation], ...] = (LoadOp, StartLoadOp)
STORES: tuple[type[IRDLOperation], ...] = (StoreOp, StartStoreOp)


@dataclass(frozen=True)
class Access:
    """The operands of a transfer by what they mean. lower, upper and wrap (start, size) are by axis."""

    base: SSAValue
    strides: tuple[SSAValue, ...]
    lower: Mapping[int, SSAValue] = field(default_factory=dict)
    upper: Mapping[int, SSAValue] = field(default_factory=dict)
    wrap: Mapping[int, tuple[SSAValue, SSAValue]] = field(default_factory=dict)
    mask: SSAValue | None = None

    @classmethod
    def of(cls, op: Operation) -> Access:
        """Of any of the four transfers."""
        transfer = cast("_Transfer", op)
        sizes = zip(transfer.wrap_starts, transfer.wrap_sizes, strict=True)
        return cls(
            transfer.base,
            tuple(transfer.strides),
            dict(zip(_numbers(transfer.lower_axes), transfer.lower, strict=True)),
            dict(zip(_numbers(transfer.upper_axes), transfer.upper, strict=True)),
            dict(zip(_numbers(transfer.wrap_axes), sizes, strict=True)),
            transfer.mask,
        )

    def fields(self) -> tuple[dict[str, Sequence[SSAValue]], dict[str, Attribute]]:
        """Operand segments and properties of a transfer, by their names in its definition."""
        lower, upper, wrap = (sorted(bound) for bound in (self.lower, self.upper, self.wrap))
        operands: dict[str, Sequence[SSAValue]] = {
            "base": [self.base],
            "strides": self.strides,
            "lower": [self.lower[axis] for axis in lower],
            "upper": [self.upper[axis] for axis in upper],
            "wrap_starts": [self.wrap[axis][0] for axis in wrap],
            "wrap_sizes": [self.wrap[axis][1] for axis in wrap],
            "mask": [] if self.mask is None else [self.mask],
        }
        axes = {"lower_axes": lower, "upper_axes": upper, "wrap_axes": wrap}
        return operands, {name: DenseArrayBase.from_list(i32, found) for name, found in axes.items() if found}


def transfer(
    op_type: type[IRDLOperation],
    access: Access,
    results: Sequence[Attribute],
    *,
    value: SSAValue | None = None,
    other: SSAValue | None = None,
    attributes: Mapping[str, Attribute] | None = None,
) -> Operation:
    """A transfer op; `value` of stores, `other` of loads."""
    operands, properties = access.fields()
    return _built(op_type, operands, results, properties, value, other, attributes or {})


def _built(
    op_type: type[IRDLOperation],
    operands: dict[str, Sequence[SSAValue]],
    results: Sequence[Attribute],
    properties: dict[str, Attribute],
    value: SSAValue | None,
    other: SSAValue | None,
    attributes: Mapping[str, Attribute],
) -> Operation:
    operands["value"] = [] if value is None else [value]
    operands["other"] = [] if other is None else [other]
    segments = [operands[name] for name, _ in op_type.get_irdl_definition().operands]
    sizes = DenseArrayBase.from_list(i32, [len(segment) for segment in segments])
    return op_type.create(
        operands=[operand for segment in segments for operand in segment],
        result_types=results,
        properties={"operandSegmentSizes": sizes, **properties},
        attributes=dict(attributes),
    )


def _numbers(axes: Any) -> tuple[int, ...]:
    return tuple(axes.get_values())


# Syntax

_AXIS = re.compile(r"\s*(\d+)\s*:")


def _parse_bounds(parser: ModuleParser, word: str) -> dict[int, list[Use]]:
    """`word [0: %a, 1: %b]` or, of pairs, `word [0: %a mod %b]`, if it comes next."""
    found: dict[int, list[Use]] = {}
    if not parser.accept(word):
        return found
    parser.need("[")
    while not parser.accept("]"):
        axis = int(parser.expect_pattern(_AXIS, "an axis")[1])
        found[axis] = [parser.use()]
        if word == "wrap":
            parser.need("mod")
            found[axis].append(parser.use())
        parser.accept(",")
    return found


def _typed(parser: ModuleParser, word: str) -> SSAValue | None:
    """`word %value : type`, if it comes next."""
    if not parser.accept(word):
        return None
    use = parser.use()
    parser.need(":")
    return parser.resolve(use, parser.value_type())


def _parse_transfer(parser: ModuleParser, op_type: type[Operation]) -> Operation:
    is_store = op_type in STORES
    stored = parser.use() if is_store else None
    if is_store:
        parser.need("to")
    base = parser.use()
    parser.need("[")
    strides = [parser.resolve(use, i64) for use in parser.uses()]
    parser.need("]")
    lower, upper, wrap = (
        {axis: [parser.resolve(use, i64) for use in uses] for axis, uses in _parse_bounds(parser, word).items()}
        for word in ("lower", "upper", "wrap")
    )
    mask, other = _typed(parser, "mask"), None if is_store else _typed(parser, "other")
    attributes: dict[str, Attribute] = {}
    parser.attribute_dictionary(attributes)
    parser.need(":")
    first = parser.value_type()
    parser.need("->")
    second = parser.value_type()
    pointer, results = (second, []) if is_store else (first, [second])
    if op_type in (StartLoadOp, StartStoreOp):
        results = [*results, TOKEN]
    access = Access(
        parser.resolve(base, pointer),
        tuple(strides),
        {axis: values[0] for axis, values in lower.items()},
        {axis: values[0] for axis, values in upper.items()},
        {axis: (values[0], values[1]) for axis, values in wrap.items()},
        mask,
    )
    value = None if stored is None else parser.resolve(stored, first)
    known = cast("type[IRDLOperation]", op_type)
    return transfer(known, access, results, value=value, other=other, attributes=attributes)


def _print_transfer(printer: ModulePrinter, op: Operation) -> None:
    access = Access.of(op)
    if isinstance(op, STORES):
        printer.word(f"{printer.value(op.value)} to")  # pyright: ignore[reportAttributeAccessIssue]
    printer.word(f"{printer.value(access.base)}[{printer.values(access.strides)}]")
    for word, bounds in (("lower", access.lower), ("upper", access.upper)):
        if bounds:
            printer.word(f"{word} [{', '.join(f'{axis}: {printer.value(bounds[axis])}' for axis in sorted(bounds))}]")
    if access.wrap:
        wraps = (f"{axis}: {' mod '.join(map(printer.value, access.wrap[axis]))}" for axis in sorted(access.wrap))
        printer.word(f"wrap [{', '.join(wraps)}]")
    for word, optional in (("mask", access.mask), ("other", getattr(op, "other", None))):
        if optional is not None:
            printer.word(f"{word} {printer.value(optional)} : {printer.type_text(optional.type)}")
    printer.attribute_dictionary(op.attributes)
    pointer = printer.type_text(access.base.type)
    if isinstance(op, STORES):
        printer.word(f": {printer.type_text(op.value.type)} -> {pointer}")  # pyright: ignore[reportAttributeAccessIssue]
    else:
        printer.word(f": {pointer} -> {printer.type_text(op.results[0].type)}")


def _parse_wait(parser: ModuleParser, op_type: type[Operation]) -> Operation:
    """`npu.wait %token` or `%now = npu.wait %token, %tile : type`"""
    operands, attributes = [parser.resolve(parser.use(), TOKEN)], {}
    tile = parser.use() if parser.accept(",") else None
    parser.attribute_dictionary(attributes)
    if tile is None:
        return op_type.create(operands=operands, attributes=attributes)
    parser.need(":")
    type_ = parser.value_type()
    operands.append(parser.resolve(tile, type_))
    return op_type.create(operands=operands, result_types=[type_], attributes=attributes)


def _print_wait(printer: ModulePrinter, op: Operation) -> None:
    printer.word(printer.values(op.operands))
    printer.attribute_dictionary(op.attributes)
    if op.results:
        printer.word(f": {printer.type_text(op.results[0].type)}")


def build() -> DialectSyntax:
    syntaxes: dict[type[Operation], OpSyntax] = {
        op: CustomSyntax(_parse_transfer, _print_transfer) for op in (*LOADS, *STORES)
    }
    syntaxes[WaitOp] = CustomSyntax(_parse_wait, _print_wait)
    formats: list[Syntax] = [conversion(op, "->") for op in (RelayoutOp, DescriptorBaseOp, DescriptorFillOp)]
    apart = "$one `,` $other attr-dict `:` type($one) `,` type($other)"
    formats.append(Syntax(ApartOp, apart, {"result": i1}))
    formats.append(Syntax(ProbeOp, "$src attr-dict `:` type($src)"))
    syntaxes.update({syntax.op_type: syntax for syntax in formats})
    return DialectSyntax(Dialect("npu", list(syntaxes), list(ATTRIBUTES)), syntaxes)
