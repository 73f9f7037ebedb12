"""What the pointer analysis knows of a tensor: integers and pointers that are affine in the tile's indices, and masks
that are bounds on them.

Index arithmetic wraps around in its type. A `Linear` of width w stands for the number

    base + sum of strides[d] * index_d     modulo 2**w, as signed

whatever its parts are, since sums and products may be taken modulo 2**w at any time. Where the number itself matters
(comparisons, remainders, extensions of narrow types) the form is used only if no element of the tile can wrap: see
`is_exact`. Offsets of pointers are extended from 32 bits without that proof: an element that does wrap then lies
2**32 elements elsewhere, and of two such addresses at most one is in a buffer of less than 2**32 elements. So such an
access reads and writes what it should, or is a trap; it never goes wrong silently.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from harness.npu.lowering.ranges import Range, add, exactly, multiply
from harness.npu.lowering.scalars import Scalar, Scalars

Wrap = tuple[Scalar, Scalar]  # (start, size), i64


@dataclass(frozen=True)
class Linear:
    """Integers. index_d is i_d, or (start + i_d) rem size where wraps[d] is (start, size).

    base and strides have the tensor's element type (i64 where it is part of a Pointer)."""

    extents: tuple[int, ...]
    base: Scalar
    strides: tuple[Scalar, ...]
    wraps: tuple[Wrap | None, ...]

    @property
    def width(self) -> int:
        return self.base.width

    @property
    def is_splat(self) -> bool:
        return all(stride.is_number(0) for stride in self.strides)


@dataclass(frozen=True)
class Pointers:
    """pointer: a scalar; offset: elements of its pointee, i64."""

    pointer: Scalar
    offset: Linear

    @property
    def extents(self) -> tuple[int, ...]:
        return self.offset.extents


@dataclass(frozen=True)
class Mask:
    """True where lower[d] <= i_d < upper[d] (i64) for every bound, every condition (i1) holds, and the tensor `rest`,
    whose extents are the mask's or 1, is true."""

    extents: tuple[int, ...]
    lower: Mapping[int, Scalar] = field(default_factory=dict)
    upper: Mapping[int, Scalar] = field(default_factory=dict)
    conditions: tuple[Scalar, ...] = ()
    rest: SSAValue | None = None


@dataclass(frozen=True)
class Described:
    """A tensor descriptor. shape and strides are i64; fill is what is around it, or None for zero."""

    pointer: Scalar
    shape: tuple[Scalar, ...]
    strides: tuple[Scalar, ...]
    fill: SSAValue | None = None


Form = Linear | Pointers | Mask | Described


def splat(base: Scalar, extents: tuple[int, ...], zero: Scalar) -> Linear:
    """`zero` has the type of the base."""
    return Linear(extents, base, (zero,) * len(extents), (None,) * len(extents))


# --- ranges -----------------------------------------------------------------------------------------------------


def range_of(form: Linear) -> Range:
    """Of all elements, as long as none wraps around."""
    total = form.base.range
    for extent, stride, wrap in zip(form.extents, form.strides, form.wraps, strict=True):
        total = add(total, multiply(stride.range, _indices(extent, wrap)))
    return total


def _indices(extent: int, wrap: Wrap | None) -> Range:
    if wrap is None:
        return Range(0, extent - 1) if extent > 1 else exactly(0)
    start, size = wrap
    most = max(abs(size.range.low), abs(size.range.high)) - 1
    return Range(0 if start.range.is_natural else -most, most)


def is_exact(form: Linear) -> bool:
    """Whether base + sum of strides[d] * index_d, in whole numbers, is the value of every element.

    Because it stays within the type; or because a power of two divides the base and the rest of the sum is below it.
    """
    whole, bits = range_of(form), form.width - 1
    if -(1 << bits) <= whole.low and whole.high < 1 << bits:
        return True
    reach = range_of(replace(form, base=_nothing(form.base)))
    return reach.low >= 0 and reach.high < min(form.base.range.factor, 1 << bits)


def _nothing(base: Scalar) -> Scalar:
    return Scalar(base.type, exactly(0), number=0)


# --- arithmetic -------------------------------------------------------------------------------------------------


def added(scalars: Scalars, a: Linear, b: Linear, sign: int = 1) -> Linear | None:
    """a + b, or a - b; None where both wrap around one axis in different ways."""
    combine = scalars.add if sign > 0 else scalars.subtract
    strides, wraps = [], []
    for axis, (left, right) in enumerate(zip(a.strides, b.strides, strict=True)):
        fits, wrap = _common_wrap(left, a.wraps[axis], right, b.wraps[axis])
        if not fits:
            return None
        strides.append(combine(left, right))
        wraps.append(wrap)
    return Linear(a.extents, combine(a.base, b.base), tuple(strides), tuple(wraps))


def _common_wrap(left: Scalar, a: Wrap | None, right: Scalar, b: Wrap | None) -> tuple[bool, Wrap | None]:
    if a == b or right.is_number(0):
        return True, a
    return left.is_number(0), b


def scaled(scalars: Scalars, form: Linear, factor: Scalar) -> Linear:
    strides = tuple(scalars.multiply(stride, factor) for stride in form.strides)
    return replace(form, base=scalars.multiply(form.base, factor), strides=strides)


def resized(scalars: Scalars, form: Linear, width: int, signed: bool = True) -> Linear:
    """In another width. For the caller to know that the numbers are the same, or the same modulo the new width."""
    strides = tuple(scalars.resized(stride, width) for stride in form.strides)
    return replace(form, base=scalars.resized(form.base, width, signed), strides=strides)


# --- axes -------------------------------------------------------------------------------------------------------


def expanded(form: Linear, axis: int, zero: Scalar) -> Linear:
    return Linear(
        (*form.extents[:axis], 1, *form.extents[axis:]),
        form.base,
        (*form.strides[:axis], zero, *form.strides[axis:]),
        (*form.wraps[:axis], None, *form.wraps[axis:]),
    )


def broadcast(scalars: Scalars, form: Linear, extents: tuple[int, ...]) -> Linear:
    """Axes of extent 1 that grow repeat their one element."""
    base, strides, wraps = form.base, list(form.strides), list(form.wraps)
    for axis, (have, want) in enumerate(zip(form.extents, extents, strict=True)):
        wrap = wraps[axis]
        if have == want:
            continue
        if wrap is not None:
            index = scalars.resized(scalars.binary("arith.remsi", *wrap), form.width)
            base = scalars.add(base, scalars.multiply(strides[axis], index))
        strides[axis], wraps[axis] = scalars.number(0, base.type), None
    return Linear(extents, base, tuple(strides), tuple(wraps))


def transposed(form: Linear, order: Sequence[int]) -> Linear:
    """Axis i of the result is axis order[i] of the source."""
    extents, strides = tuple(form.extents[axis] for axis in order), tuple(form.strides[axis] for axis in order)
    return Linear(extents, form.base, strides, tuple(form.wraps[axis] for axis in order))


def reshaped(scalars: Scalars, form: Linear, extents: tuple[int, ...]) -> Linear | None:
    """The same elements in row-major order; None where they are not affine in the new indices."""
    zero = scalars.number(0, form.base.type)
    if form.is_splat:
        return splat(form.base, extents, zero)
    strides: list[Scalar] = [zero] * len(extents)
    wraps: list[Wrap | None] = [None] * len(extents)
    groups = grouped_axes(form.extents, extents)
    if groups is None:
        return None
    for old, new in groups:
        if len(new) > 1 and form.wraps[old] is not None:
            return None
        step = form.strides[old]
        for axis in reversed(new):
            strides[axis], wraps[axis] = step, form.wraps[old]
            step = scalars.multiply(step, scalars.number(extents[axis], step.type))
    return Linear(extents, form.base, tuple(strides), tuple(wraps))


def grouped_axes(old: Sequence[int], new: Sequence[int]) -> list[tuple[int, list[int]]] | None:
    """For each old axis longer than 1 the new axes longer than 1 that it is split into; None where axes are joined."""
    groups, rest = [], [axis for axis, extent in enumerate(new) if extent != 1]
    for axis, extent in enumerate(old):
        if extent == 1:
            continue
        taken, product = [], 1
        while product < extent and rest:
            taken.append(rest.pop(0))
            product *= new[taken[-1]]
        if product != extent:
            return None
        groups.append((axis, taken))
    return None if rest else groups


# --- masks ------------------------------------------------------------------------------------------------------


def extents_of(type_: Attribute) -> tuple[int, ...]:
    return tuple(type_.get_shape()) if isinstance(type_, TensorType) else ()


def tensor_mask(value: SSAValue) -> Mask:
    """A tensor of which nothing is known."""
    return Mask(extents_of(value.type), rest=value)


def conjunction(scalars: Scalars, a: Mask, b: Mask) -> Mask | None:
    """None where both have a tensor of their own."""
    if a.rest is not None and b.rest is not None and a.rest is not b.rest:
        return None
    lower, upper = dict(a.lower), dict(a.upper)
    for mine, theirs, tighter in ((lower, b.lower, "arith.maxsi"), (upper, b.upper, "arith.minsi")):
        for axis, bound in theirs.items():
            mine[axis] = scalars.binary(tighter, mine[axis], bound) if axis in mine else bound
    conditions = tuple(dict.fromkeys((*a.conditions, *b.conditions)))
    return Mask(a.extents, lower, upper, conditions, a.rest if a.rest is not None else b.rest)


def moved_axes(mask: Mask, extents: tuple[int, ...], to: Mapping[int, int]) -> Mask:
    """A mask without a tensor of its own, its axes renamed."""
    lower = {to[axis]: bound for axis, bound in mask.lower.items()}
    upper = {to[axis]: bound for axis, bound in mask.upper.items()}
    return Mask(extents, lower, upper, mask.conditions)


def broadcast_mask(scalars: Scalars, mask: Mask, extents: tuple[int, ...]) -> Mask:
    """A bound on an axis that is repeated says all or nothing."""
    zero, conditions = scalars.number(0), list(mask.conditions)
    lower, upper = dict(mask.lower), dict(mask.upper)
    for axis, (have, want) in enumerate(zip(mask.extents, extents, strict=True)):
        if have == want:
            continue
        if axis in lower:
            conditions.append(scalars.compare("sle", lower.pop(axis), zero))
        if axis in upper:
            conditions.append(scalars.compare("sgt", upper.pop(axis), zero))
    return Mask(extents, lower, upper, tuple(conditions), mask.rest)


_FLIPPED = {"slt": "sgt", "sle": "sge", "sgt": "slt", "sge": "sle", "eq": "eq"}
_UNSIGNED = {"ult": "slt", "ule": "sle", "ugt": "sgt", "uge": "sge"}
_LIMIT = 1 << 61


def comparison(scalars: Scalars, predicate: str, a: Linear, b: Linear) -> Mask | None:
    """a (predicate) b as bounds; None where it is none, or might wrap around."""
    if a.is_splat and b.is_splat:
        return Mask(a.extents, conditions=(scalars.compare(predicate, a.base, b.base),))
    if any(a.wraps) or any(b.wraps) or not (is_exact(a) and is_exact(b)):
        return None
    if predicate in _UNSIGNED:
        return _unsigned(scalars, predicate, a, b)
    if predicate not in _FLIPPED:
        return None
    return _bounds(scalars, predicate, a, b)


def _unsigned(scalars: Scalars, predicate: str, a: Linear, b: Linear) -> Mask | None:
    """As a signed comparison. A number below a natural one, both unsigned, must be natural itself."""
    signed, naturals = _UNSIGNED[predicate], (range_of(a).is_natural, range_of(b).is_natural)
    if all(naturals):
        return _bounds(scalars, signed, a, b)
    below = signed in ("slt", "sle")
    small, large = (a, b) if below else (b, a)
    if not naturals[1 if below else 0]:
        return None
    inside = _bounds(scalars, "slt" if signed in ("slt", "sgt") else "sle", small, large)
    zero = splat(scalars.number(0, small.base.type), small.extents, scalars.number(0, small.base.type))
    natural = comparison(scalars, "sge", small, zero)
    return None if inside is None or natural is None else conjunction(scalars, inside, natural)


def _bounds(scalars: Scalars, predicate: str, a: Linear, b: Linear) -> Mask | None:
    """step * i (predicate) limit, along the one axis where the sides differ in stride by a number."""
    steps = []
    for axis, (left, right) in enumerate(zip(a.strides, b.strides, strict=True)):
        if left is right:
            continue
        if left.number is None or right.number is None:
            return None
        steps.append((axis, left.number - right.number))
    limit = _difference(scalars, a, b)
    if len(steps) != 1 or limit is None:
        return None
    axis, step = steps[0]
    if step < 0:
        predicate, step, limit = _FLIPPED[predicate], -step, scalars.negate(limit)
    if step & (step - 1) or (predicate == "eq" and step != 1):
        return None
    return Mask(a.extents, *_interval(scalars, predicate, axis, step, limit))


def _difference(scalars: Scalars, a: Linear, b: Linear) -> Scalar | None:
    """b.base - a.base in 64 bits, where that cannot overflow (a number beyond all others is as good as a large one)."""
    left, right = scalars.resized(a.base, 64), scalars.resized(b.base, 64)
    small = [_is_small(range_of(form)) for form in (a, b)]
    if not small[0] and small[1] and a.is_splat:
        left, small[0] = _clamped(scalars, left), True
    if not small[1] and small[0] and b.is_splat:
        right, small[1] = _clamped(scalars, right), True
    return scalars.subtract(right, left) if all(small) else None


def _is_small(known: Range) -> bool:
    return known.low >= -_LIMIT and known.high <= _LIMIT


def _clamped(scalars: Scalars, scalar: Scalar) -> Scalar:
    """Still beyond every small number where it was."""
    least, most = scalars.number(-2 * _LIMIT), scalars.number(2 * _LIMIT)
    return scalars.binary("arith.maxsi", scalars.binary("arith.minsi", scalar, most), least)


def _interval(
    scalars: Scalars, predicate: str, axis: int, step: int, limit: Scalar
) -> tuple[dict[int, Scalar], dict[int, Scalar]]:
    """The bounds of step * i (predicate) limit, step a power of two."""
    one = scalars.number(1)

    def first_at_least(number: Scalar) -> Scalar:
        return scalars.shifted_down(scalars.add(number, scalars.number(step - 1)), step)

    if predicate == "eq":
        return {axis: limit}, {axis: scalars.add(limit, one)}
    if predicate in ("slt", "sle"):
        return {}, {axis: first_at_least(limit if predicate == "slt" else scalars.add(limit, one))}
    return {axis: first_at_least(limit if predicate == "sge" else scalars.add(limit, one))}, {}
