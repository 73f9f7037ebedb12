"""What every tensor of a function is in terms of scalars: one walk over its ops, loops a second time where a guess
about what they carry was wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from xdsl.dialects.builtin import TensorType, i1
from xdsl.ir import Attribute, Block, Operation, SSAValue

from harness.ir import attribute
from harness.ir.dialects.tt_types import PointerType
from harness.ir.enums import INTEGER_PREDICATE
from harness.npu.lowering import forms
from harness.npu.lowering.constants import splat_integer
from harness.npu.lowering.control import CONTROL, Join, merged
from harness.npu.lowering.descriptors import describe_parameters, described
from harness.npu.lowering.forms import Form, Linear, Mask, Pointers, extents_of
from harness.npu.lowering.ranges import width_of
from harness.npu.lowering.scalars import INTEGER_OPS, Scalar, Scalars

Rule = Callable[["Analysis", Operation], "Form | None"]
_RULES: dict[str, Rule] = {}


def _rule(*names: str) -> Callable[[Rule], Rule]:
    def register(rule: Rule) -> Rule:
        _RULES.update(dict.fromkeys(names, rule))
        return rule

    return register


class Analysis:
    """`forms` of the tensors and descriptors that have one, `joins` of the scalars that are theirs."""

    def __init__(self, function: Operation) -> None:
        entry = function.regions[0].blocks[0]
        self.scalars = Scalars(entry)
        self.forms: dict[SSAValue, Form] = {}
        self.joins: dict[Operation, list[Join]] = {}
        self.forms.update(describe_parameters(self.scalars, entry))
        for block in function.regions[0].blocks:
            self.block(block)

    def block(self, block: Block) -> None:
        for op in block.ops:
            self.op(op)

    def op(self, op: Operation) -> None:
        self.scalars.at = op
        if op.name in CONTROL:
            CONTROL[op.name](self, op)
            return
        rule = _RULES.get(op.name)
        form = rule(self, op) if rule is not None and op.results else None
        self.forget(op.results)
        if form is not None:
            self.forms[op.results[0]] = form

    def forget(self, values: Sequence[SSAValue]) -> None:
        """What was found out about them in an earlier round."""
        for value in values:
            self.forms.pop(value, None)

    def based(self, form: Linear | Pointers) -> Linear | Pointers:
        """The form of which `base_of` is the whole base."""
        if isinstance(form, Linear):
            return form
        return replace(form, offset=replace(form.offset, base=self.scalars.number(0)))

    # --- looking up -----------------------------------------------------------------------------------------------

    def linear(self, value: SSAValue) -> Linear | None:
        form = self.forms.get(value)
        return form if isinstance(form, Linear) else None

    def pointers(self, value: SSAValue) -> Pointers | None:
        form = self.forms.get(value)
        return form if isinstance(form, Pointers) else None

    def mask(self, value: SSAValue) -> Mask:
        form = self.forms.get(value)
        return form if isinstance(form, Mask) else forms.tensor_mask(value)


# --- where integers, pointers and masks come from -----------------------------------------------------------------


@_rule("arith.constant")
def _constant(analysis: Analysis, op: Operation) -> Form | None:
    number, type_ = splat_integer(attribute(op, "value")), op.results[0].type
    if number is None or not isinstance(type_, TensorType):
        return None
    return _spread(analysis, analysis.scalars.number(number, type_.element_type), type_)


def _spread(analysis: Analysis, scalar: Scalar, type_: TensorType) -> Form | None:
    """A scalar integer or pointer, the same for every element."""
    extents, element = extents_of(type_), type_.element_type
    if element == i1:
        return Mask(extents, conditions=() if scalar.is_number(1) else (scalar,))
    if isinstance(element, PointerType):
        zero = analysis.scalars.number(0)
        return Pointers(scalar, forms.splat(zero, extents, zero))
    return forms.splat(scalar, extents, analysis.scalars.number(0, element))


@_rule("tt.splat")
def _splat(analysis: Analysis, op: Operation) -> Form | None:
    type_ = op.results[0].type
    assert isinstance(type_, TensorType)
    if not width_of(type_.element_type) and not isinstance(type_.element_type, PointerType):
        return None
    return _spread(analysis, analysis.scalars.leaf(op.operands[0]), type_)


@_rule("tt.make_range")
def _range(analysis: Analysis, op: Operation) -> Form:
    type_ = op.results[0].type
    start: Any = attribute(op, "start")
    assert isinstance(type_, TensorType)
    base, one = (analysis.scalars.number(n, type_.element_type) for n in (start.value.data, 1))
    return Linear(extents_of(type_), base, (one,), (None,))


# --- axes ---------------------------------------------------------------------------------------------------------


def _on_axes(
    linear: Callable[[Analysis, Operation, Linear], Linear | None],
    mask: Callable[[Analysis, Operation, Mask], Mask | None],
) -> Rule:
    """A rule for an op that moves axes: what it does to integers (and offsets), and to bounds."""

    def rule(analysis: Analysis, op: Operation) -> Form | None:
        form = analysis.forms.get(op.operands[0])
        if isinstance(form, Linear):
            return linear(analysis, op, form)
        if isinstance(form, Pointers):
            offset = linear(analysis, op, form.offset)
            return None if offset is None else replace(form, offset=offset)
        return mask(analysis, op, form) if isinstance(form, Mask) else None

    return rule


def _expanded(analysis: Analysis, op: Operation, form: Linear) -> Linear:
    axis: Any = attribute(op, "axis")
    return forms.expanded(form, axis.value.data, analysis.scalars.number(0, form.base.type))


def _expanded_mask(analysis: Analysis, op: Operation, form: Mask) -> Mask | None:
    if form.rest is not None:
        return None
    axis: Any = attribute(op, "axis")
    to = {old: old + (old >= axis.value.data) for old in range(len(form.extents))}
    return forms.moved_axes(form, extents_of(op.results[0].type), to)


def _broadcast(analysis: Analysis, op: Operation, form: Linear) -> Linear:
    return forms.broadcast(analysis.scalars, form, extents_of(op.results[0].type))


def _broadcast_mask(analysis: Analysis, op: Operation, form: Mask) -> Mask:
    return forms.broadcast_mask(analysis.scalars, form, extents_of(op.results[0].type))


def _order(op: Operation) -> tuple[int, ...]:
    order: Any = attribute(op, "order")
    return tuple(order.get_values())


def _transposed(_: Analysis, op: Operation, form: Linear) -> Linear:
    return forms.transposed(form, _order(op))


def _transposed_mask(_: Analysis, op: Operation, form: Mask) -> Mask | None:
    if form.rest is not None:
        return None
    order = _order(op)
    return forms.moved_axes(form, extents_of(op.results[0].type), {old: order.index(old) for old in order})


def _reshaped(analysis: Analysis, op: Operation, form: Linear) -> Linear | None:
    return forms.reshaped(analysis.scalars, form, extents_of(op.results[0].type))


def _reshaped_mask(_: Analysis, op: Operation, form: Mask) -> Mask | None:
    extents = extents_of(op.results[0].type)
    groups = forms.grouped_axes(form.extents, extents)
    bounded = {*form.lower, *form.upper}
    if form.rest is not None or groups is None:
        return None
    to = {old: new[0] for old, new in groups if len(new) == 1}
    return forms.moved_axes(form, extents, to) if bounded <= to.keys() else None


_RULES["tt.expand_dims"] = _on_axes(_expanded, _expanded_mask)
_RULES["tt.broadcast"] = _on_axes(_broadcast, _broadcast_mask)
_RULES["tt.trans"] = _on_axes(_transposed, _transposed_mask)
_RULES["tt.reshape"] = _on_axes(_reshaped, _reshaped_mask)


# --- arithmetic ---------------------------------------------------------------------------------------------------


def _pair(analysis: Analysis, op: Operation) -> tuple[Linear, Linear] | None:
    a, b = (analysis.linear(operand) for operand in op.operands)
    return None if a is None or b is None else (a, b)


def _arithmetic(analysis: Analysis, op: Operation) -> Form | None:
    """Of two tensors of which each is one number, by element; else what the op's own rule makes of them."""
    pair = _pair(analysis, op)
    if pair is None or pair[0].width == 1:
        return None
    a, b = pair
    if a.is_splat and b.is_splat:
        base = analysis.scalars.binary(op.name, a.base, b.base)
        return forms.splat(base, a.extents, analysis.scalars.number(0, base.type))
    rule = _ARITHMETIC.get(op.name)
    return None if rule is None else rule(analysis.scalars, a, b)


def _product(scalars: Scalars, a: Linear, b: Linear) -> Linear | None:
    if b.is_splat:
        return forms.scaled(scalars, a, b.base)
    return forms.scaled(scalars, b, a.base) if a.is_splat else None


def _left_shift(scalars: Scalars, a: Linear, b: Linear) -> Linear | None:
    by = b.base.number if b.is_splat else None
    if by is None or not 0 <= by < a.width:
        return None
    return forms.scaled(scalars, a, scalars.number(1 << by, a.base.type))


def _remainder(scalars: Scalars, a: Linear, b: Linear) -> Linear | None:
    """A run of indices that wraps around at a size: (start + i) rem size."""
    if not b.is_splat or any(a.wraps) or not forms.is_exact(a):
        return None
    known, size = forms.range_of(a), b.base.range
    if known.is_natural and known.high < size.low:
        return a
    varying = [axis for axis, stride in enumerate(a.strides) if not stride.is_number(0)]
    if len(varying) != 1 or not a.strides[varying[0]].is_number(1):
        return None
    wraps = list(a.wraps)
    wraps[varying[0]] = scalars.resized(a.base, 64), scalars.resized(b.base, 64)
    return Linear(a.extents, scalars.number(0, a.base.type), a.strides, tuple(wraps))


def _unsigned_remainder(scalars: Scalars, a: Linear, b: Linear) -> Linear | None:
    natural = forms.range_of(a).is_natural and forms.range_of(b).is_natural
    return _remainder(scalars, a, b) if natural else None


_ARITHMETIC: dict[str, Callable[[Scalars, Linear, Linear], Linear | None]] = {
    "arith.addi": forms.added,
    "arith.subi": lambda scalars, a, b: forms.added(scalars, a, b, -1),
    "arith.muli": _product,
    "arith.shli": _left_shift,
    "arith.remsi": _remainder,
    "arith.remui": _unsigned_remainder,
}
_RULES.update(dict.fromkeys(INTEGER_OPS, _arithmetic))


@_rule("arith.extsi", "arith.extui", "arith.trunci", "arith.index_cast", "arith.index_castui")
def _resized(analysis: Analysis, op: Operation) -> Form | None:
    form, type_ = analysis.linear(op.operands[0]), op.results[0].type
    if form is None or not isinstance(type_, TensorType):
        return None
    width = width_of(type_.element_type)
    if width <= form.width or form.is_splat:
        signed = op.name not in ("arith.extui", "arith.index_castui")
        return forms.resized(analysis.scalars, form, width, signed)
    return _extended(analysis.scalars, form, width, op.name in ("arith.extsi", "arith.index_cast"))


def _extended(scalars: Scalars, form: Linear, width: int, signed: bool) -> Linear | None:
    """To more bits; of 32 bits and more as the module's text says, of fewer only where nothing wraps around."""
    if not forms.is_exact(form) and (form.width < 32 or not signed):
        return None
    if not signed and not forms.range_of(form).is_natural:
        return None
    return forms.resized(scalars, form, width)


@_rule("tt.addptr")
def _addptr(analysis: Analysis, op: Operation) -> Form | None:
    pointers, offset = analysis.pointers(op.operands[0]), analysis.linear(op.operands[1])
    if pointers is None or offset is None:
        return None
    if offset.width < 64:
        offset = forms.resized(analysis.scalars, offset, 64) if offset.is_splat else _signed(analysis, offset)
    moved = None if offset is None else forms.added(analysis.scalars, pointers.offset, offset)
    return None if moved is None else Pointers(pointers.pointer, moved)


def _signed(analysis: Analysis, offset: Linear) -> Linear | None:
    return _extended(analysis.scalars, offset, 64, signed=True)


@_rule("tt.bitcast")
def _bitcast(analysis: Analysis, op: Operation) -> Form | None:
    pointers, type_ = analysis.pointers(op.operands[0]), op.results[0].type
    if pointers is None or not isinstance(type_, TensorType) or not isinstance(pointers.pointer.type, PointerType):
        return None
    old, new = bytes_of(pointers.pointer.type), bytes_of(type_.element_type)
    if new == 0 or old % new:
        return None
    pointer = analysis.scalars.cast(pointers.pointer, type_.element_type)
    return Pointers(pointer, forms.scaled(analysis.scalars, pointers.offset, analysis.scalars.number(old // new)))


def bytes_of(type_: Attribute) -> int:
    """Of what a pointer of this type points to; 0 where that is no element."""
    pointee = type_.pointee if isinstance(type_, PointerType) else None
    if isinstance(pointee, PointerType):
        return 8
    width = getattr(pointee, "bitwidth", 0) or getattr(getattr(pointee, "width", None), "data", 0)
    return -(-width // 8)


@_rule("arith.select")
def _select(analysis: Analysis, op: Operation) -> Form | None:
    """By one condition for all elements."""
    condition, a, b = op.operands
    if isinstance(condition.type, TensorType):
        known = analysis.forms.get(condition)
        if not isinstance(known, Mask) or known.rest is not None or known.lower or known.upper:
            return None
        if len(known.conditions) != 1:
            return analysis.forms.get(a) if not known.conditions else None
        chosen = known.conditions[0]
    else:
        chosen = analysis.scalars.leaf(condition)
    left, right = analysis.forms.get(a), analysis.forms.get(b)
    return merged(analysis.scalars, left, right, lambda x, y: analysis.scalars.select(chosen, x, y))


@_rule("arith.cmpi")
def _compare(analysis: Analysis, op: Operation) -> Form | None:
    pair = _pair(analysis, op)
    predicate: Any = attribute(op, "predicate")
    if pair is None:
        return None
    return forms.comparison(analysis.scalars, INTEGER_PREDICATE.keywords[predicate.value.data], *pair)


def _and(analysis: Analysis, op: Operation) -> Form | None:
    type_ = op.results[0].type
    if not isinstance(type_, TensorType) or type_.element_type != i1:
        return _arithmetic(analysis, op)
    return forms.conjunction(analysis.scalars, *(analysis.mask(operand) for operand in op.operands))


_RULES["arith.andi"] = _and


@_rule("tt.make_tensor_descriptor")
def _descriptor(analysis: Analysis, op: Operation) -> Form:
    return described(analysis.scalars, op)
