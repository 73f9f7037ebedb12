"""Elementwise ops and constants; integers stay in affine form where they can."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from xdsl.ir import Operation

from harness.executor.analysis import constant_value
from harness.executor.context import Context
from harness.executor.local import NoView
from harness.executor.plan import OPS, Frame, Planner, Step, op
from harness.executor.products import Shared
from harness.executor.types import element, extents, get, is_tensor, signature
from harness.executor.values import (
    Affine,
    Both,
    Box,
    Pointer,
    add_affine,
    affine_from_rest,
    bounded,
    dense,
    merged,
    narrowed,
    scale_affine,
    splat_affine,
)
from harness.ir.dialects.ttg_types import AsyncToken, MemDesc
from harness.ir.enums import FLOAT_PREDICATE, INTEGER_PREDICATE, PROPAGATE_NAN, ROUNDING_MODE
from harness.semantics import ELEMENTWISE, elementwise_function, numpy_dtype
from harness.semantics.types import INTEGER_BITS, Array


def keywords(operation: Operation) -> dict[str, Any]:
    """The attributes that an elementwise op's meaning depends on, enums by keyword."""
    name = operation.name
    if name == "arith.cmpi":
        return {"predicate": INTEGER_PREDICATE.keywords[get(operation, "predicate")]}
    if name == "arith.cmpf":
        return {"predicate": FLOAT_PREDICATE.keywords[get(operation, "predicate")]}
    if name == "tt.fp_to_fp":
        rounding = get(operation, "rounding")
        return {"rounding": None if rounding is None else ROUNDING_MODE.keywords[rounding]}
    if name == "tt.clampf":
        return {"propagateNan": PROPAGATE_NAN.keywords[get(operation, "propagateNan")]}
    if name == "tt.extern_elementwise":
        return {"symbol": get(operation, "symbol")}
    return {}


def elementwise_step(planner: Planner, operation: Operation) -> Step:
    """An op applied to plain arrays."""
    function = elementwise_function(signature(operation, **keywords(operation)))
    (target,) = planner.slots_of(operation.results)
    sources = planner.slots_of(operation.operands)
    dtypes = [numpy_dtype(element(value.type)) for value in operation.operands]
    result = numpy_dtype(element(operation.results[0].type))
    if len(sources) == 1:
        return _unary_step(function, target, sources[0], dtypes[0], result)
    if len(sources) == 2:
        return _binary_step(function, target, sources, dtypes, result)

    def many(_: Context, frame: Frame) -> None:
        frame[target] = function(*(dense(frame[s], d) for s, d in zip(sources, dtypes, strict=True)))

    return many


_WORTH_REUSE = 1 << 12  # elements: below it an array of one's own is as cheap


def _unary_step(function: Any, target: int, source: int, dtype: np.dtype[Any], result: np.dtype[Any]) -> Step:
    is_ufunc = isinstance(function, np.ufunc)

    def run(context: Context, frame: Frame) -> None:
        value = frame[source]
        if isinstance(value, Shared):
            frame[target] = Shared(function(value.rows), value.index)
            return
        value = dense(value, dtype)
        if is_ufunc and value.size >= _WORTH_REUSE:
            frame[target] = function(value, out=context.pool.empty(value.shape, result))
            return
        frame[target] = function(value)

    return run


def _binary_step(
    function: Any, target: int, sources: tuple[int, ...], dtypes: list[np.dtype[Any]], result: np.dtype[Any]
) -> Step:
    left, right = sources
    left_dtype, right_dtype = dtypes
    is_ufunc = isinstance(function, np.ufunc)

    def run(context: Context, frame: Frame) -> None:
        a, b = dense(frame[left], left_dtype), dense(frame[right], right_dtype)
        if is_ufunc and max(a.size, b.size) >= _WORTH_REUSE:
            frame[target] = function(a, b, out=context.pool.empty(_common_shape(a, b), result))
            return
        frame[target] = function(a, b)

    return run


def _common_shape(a: Array, b: Array) -> tuple[int, ...]:
    if a.shape == b.shape or b.size == 1:
        return a.shape
    return b.shape if a.size == 1 else np.broadcast_shapes(a.shape, b.shape)


def register_elementwise() -> None:
    """Every elementwise op of `harness.semantics` that has no maker of its own here."""
    for name in ELEMENTWISE:
        OPS.setdefault(name, elementwise_step)


# --- constants ---------------------------------------------------------------------------------------


@op("arith.constant")
def _constant(planner: Planner, operation: Operation) -> Step:
    (target,) = planner.slots_of(operation.results)
    value = constant_value(operation)

    def run(_: Context, frame: Frame) -> None:
        frame[target] = value

    return run


@op("ub.poison")
def _poison(planner: Planner, operation: Operation) -> Step:
    """Any value will do: zero, as everywhere a value is undefined."""
    (target,) = planner.slots_of(operation.results)
    type_ = operation.results[0].type
    if isinstance(type_, (AsyncToken, MemDesc)):
        return _poison_of_memory(target, type_)
    value: Any = np.zeros((1, *(1,) * len(extents(type_))), numpy_dtype(element(type_)))
    if element(type_) == "ptr":
        value = Pointer(None, splat_affine(value.reshape(1), extents(type_)) if is_tensor(type_) else value)

    def run(_: Context, frame: Frame) -> None:
        frame[target] = value

    return run


def _poison_of_memory(target: int, type_: AsyncToken | MemDesc) -> Step:
    """A token says nothing anyway; a view of no buffer, which nobody may look into."""

    def run(_: Context, frame: Frame) -> None:
        frame[target] = np.zeros(1, np.bool_) if isinstance(type_, AsyncToken) else NoView(type_.get_shape())

    return run


# --- integers ----------------------------------------------------------------------------------------


def as_affine(value: Any, shape: tuple[int, ...]) -> Affine | None:
    """An integer tensor in affine form, or None where the array is dense already."""
    if isinstance(value, Affine):
        return value
    pending = any(have < full for have, full in zip(value.shape[1:], shape, strict=True))
    return affine_from_rest(value, shape) if pending else None


def _fits(value: Affine, bits: int) -> bool:
    return -(1 << bits - 1) <= value.low and value.high < 1 << bits - 1


def _settled(value: Affine, bits: int, dtype: np.dtype[Any]) -> Affine | Array:
    """The affine form where no element can have wrapped, else the wrapped array."""
    return value if _fits(value, bits) else value.array().astype(dtype)


def _affine_binary(combine: Callable[[Affine, Affine], Affine | None], fallback: np.ufunc) -> Any:
    def make(planner: Planner, operation: Operation) -> Step:
        type_ = operation.results[0].type
        kind = element(type_)
        if not is_tensor(type_) or kind == "i1":
            return elementwise_step(planner, operation)
        left, right = planner.slots_of(operation.operands)
        (target,) = planner.slots_of(operation.results)
        bits, dtype, shape = INTEGER_BITS[kind], numpy_dtype(kind), extents(type_)

        def run(_: Context, frame: Frame) -> None:
            a, b = frame[left], frame[right]
            if isinstance(a, Affine) or isinstance(b, Affine):
                a_form, b_form = as_affine(a, shape), as_affine(b, shape)
                if a_form is not None and b_form is not None:
                    combined = combine(a_form, b_form)
                    if combined is not None:
                        frame[target] = _settled(combined, bits, dtype)
                        return
            frame[target] = fallback(dense(a, dtype), dense(b, dtype))

        return run

    return make


def _multiply(left: Affine, right: Affine) -> Affine | None:
    if left.is_splat and left.base.size == 1:
        return scale_affine(right, int(left.base[0]))
    if right.is_splat and right.base.size == 1:
        return scale_affine(left, int(right.base[0]))
    if left.is_splat and right.is_splat:
        return splat_affine(left.base * right.base, left.extents) if _small(left, right) else None
    if left.is_splat or right.is_splat:
        # One factor per program: strides would differ between programs, so they move into the rest.
        product = left.array() * right.array()
        return affine_from_rest(product, left.extents) if _small(left, right) else None
    return None


def _small(left: Affine, right: Affine) -> bool:
    limit = max(abs(left.low), abs(left.high)) * max(abs(right.low), abs(right.high))
    return limit < 1 << 62


def _subtract(left: Affine, right: Affine) -> Affine:
    return add_affine(left, scale_affine(right, -1))


op("arith.addi")(_affine_binary(add_affine, np.add))
op("arith.subi")(_affine_binary(_subtract, np.subtract))
op("arith.muli")(_affine_binary(_multiply, np.multiply))


def _affine_division(name: str) -> Any:
    """Division by a uniform positive number: trivial where the range says so, else done on the axes that vary."""
    quotient = name.startswith("arith.div")

    def make(planner: Planner, operation: Operation) -> Step:
        type_ = operation.results[0].type
        generic = elementwise_step(planner, operation)
        if not is_tensor(type_):
            return generic
        left, right = planner.slots_of(operation.operands)
        (target,) = planner.slots_of(operation.results)

        def run(context: Context, frame: Frame) -> None:
            a, b = frame[left], frame[right]
            if isinstance(a, Affine) and isinstance(b, Affine) and b.is_splat and a.low >= 0 and b.low > 0:
                if a.high < b.low:
                    frame[target] = splat_affine(np.zeros(1, np.int64), a.extents) if quotient else a
                    return
                if b.base.size == 1 and (simple := _divided(a, int(b.base[0]), quotient)) is not None:
                    frame[target] = simple
                    return
            generic(context, frame)

        return run

    return make


def _divided(value: Affine, divisor: int, quotient: bool) -> Affine | None:
    """A quotient or remainder that stays affine: every stride divides, and the base never carries into them."""
    if value.rest is not None:
        return None
    base_part = value.base % divisor
    inner = [(stride, extent) for stride, extent in zip(value.strides, value.extents, strict=True) if stride % divisor]
    if any(stride < 0 for stride in value.strides):
        return None
    reach = int(base_part.max()) + sum(stride * (extent - 1) for stride, extent in inner)
    if reach >= divisor:
        return None
    if quotient:
        strides = tuple(stride // divisor if stride % divisor == 0 else 0 for stride in value.strides)
        return Affine(value.base // divisor, strides, value.extents, value.low // divisor, value.high // divisor)
    strides = tuple(stride if stride % divisor else 0 for stride in value.strides)
    return Affine(base_part, strides, value.extents, 0, min(reach, divisor - 1))


for _name in ("arith.divsi", "arith.remsi", "arith.divui", "arith.remui"):
    op(_name)(_affine_division(_name))


@op("arith.extsi", "arith.extui", "arith.trunci", "arith.index_cast", "arith.index_castui")
def _resize(planner: Planner, operation: Operation) -> Step:
    """Widening or narrowing keeps the affine form where the value is the same in both types."""
    generic = elementwise_step(planner, operation)
    type_ = operation.results[0].type
    kinds = {element(type_), element(operation.operands[0].type)}
    if not is_tensor(type_) or "i1" in kinds:
        return generic
    (source,), (target,) = planner.slots_of(operation.operands), planner.slots_of(operation.results)
    bits = INTEGER_BITS[element(type_)]
    signed = operation.name not in ("arith.extui", "arith.index_castui")

    def run(context: Context, frame: Frame) -> None:
        value = frame[source]
        if isinstance(value, Affine) and _fits(value, bits) and (signed or value.low >= 0):
            frame[target] = value
            return
        generic(context, frame)

    return run


# --- comparisons and masks -----------------------------------------------------------------------------

_UNSIGNED_AS_SIGNED = {"ult": "slt", "ule": "sle", "ugt": "sgt", "uge": "sge"}
_COMPARISONS = {"slt": operator.lt, "sle": operator.le, "sgt": operator.gt, "sge": operator.ge}


@op("arith.cmpi")
def _compare(planner: Planner, operation: Operation) -> Step:
    generic = elementwise_step(planner, operation)
    kind = element(operation.operands[0].type)
    if not is_tensor(operation.results[0].type) or kind in ("i1", "ptr"):
        return generic
    predicate = INTEGER_PREDICATE.keywords[get(operation, "predicate")]
    left, right = planner.slots_of(operation.operands)
    (target,) = planner.slots_of(operation.results)
    shape = extents(operation.results[0].type)

    def run(context: Context, frame: Frame) -> None:
        a, b = frame[left], frame[right]
        if isinstance(a, Affine) or isinstance(b, Affine):
            a_form, b_form = as_affine(a, shape), as_affine(b, shape)
            if a_form is not None and b_form is not None:
                compared = _compared(a_form, b_form, predicate)
                if compared is not None:
                    frame[target] = compared
                    return
        generic(context, frame)

    return run


def _compared(left: Affine, right: Affine, predicate: str) -> Box | Array | None:
    """A comparison as bounds on the one axis along which the difference varies, or of an irregular rest with one
    number a program."""
    if predicate in _UNSIGNED_AS_SIGNED:
        if left.low < 0 or right.low < 0:
            return None
        predicate = _UNSIGNED_AS_SIGNED[predicate]
    if predicate not in _COMPARISONS:
        return None
    if left.rest is not None and right.is_splat and not any(left.strides) and _moderate(left) and _moderate(right):
        limit = right.base - left.base
        return _COMPARISONS[predicate](left.rest, limit.reshape(-1, *(1,) * len(left.extents)))
    difference = _subtract(left, right)
    if difference.rest is not None or not _fits(difference, 63):
        return None
    varying = [axis for axis, stride in enumerate(difference.strides) if stride]
    base = difference.base
    if not varying:
        return _COMPARISONS[predicate](base, 0).reshape(-1, *(1,) * len(left.extents))
    if len(varying) > 1:
        return None
    return _bounds(base, difference.strides[varying[0]], varying[0], left.extents, predicate)


def _moderate(value: Affine) -> bool:
    """Whether neither the values nor the bases are so large that a difference could wrap."""
    return _fits(value, 63) and bool((np.abs(value.base) < 1 << 62).all())


def _bounds(base: Array, stride: int, axis: int, extents_: tuple[int, ...], predicate: str) -> Box:
    """base + stride * i (predicate) 0, as lower <= i < upper."""
    if stride < 0:
        flipped = {"slt": "sgt", "sle": "sge", "sgt": "slt", "sge": "sle"}[predicate]
        return _bounds(-base, -stride, axis, extents_, flipped)
    extent = extents_[axis]
    # The first i with base + stride * i >= 0, and the first with > 0.
    at_least = -(base // stride)
    more_than = (-base) // stride + 1
    if predicate in ("slt", "sle"):
        upper = at_least if predicate == "slt" else more_than
        return Box(extents_, {}, {axis: _clipped(upper, extent)})
    lower = at_least if predicate == "sge" else more_than
    return Box(extents_, {axis: _clipped(lower, extent)}, {})


def _clipped(bound: Array, extent: int) -> Array:
    """np.clip(bound, 0, extent), which takes several times as long for a number."""
    return np.minimum(np.maximum(bound, 0), extent)


@op("arith.andi")
def _and(planner: Planner, operation: Operation) -> Step:
    generic = elementwise_step(planner, operation)
    type_ = operation.results[0].type
    if not is_tensor(type_) or element(type_) != "i1":
        return generic
    left, right = planner.slots_of(operation.operands)
    (target,) = planner.slots_of(operation.results)
    masks = _is_mask(operation)

    def run(context: Context, frame: Frame) -> None:
        a, b = frame[left], frame[right]
        if isinstance(a, Box) and isinstance(b, Box):
            frame[target] = a.intersected(b)
            return
        for box, other in ((a, b), (b, a)):
            if isinstance(box, Box) and isinstance(other, np.ndarray) and other.size == other.shape[0]:
                frame[target] = _where_program(box, other.reshape(-1))
                return
        both = _conjunction(a, b) if masks else None
        if both is None:
            generic(context, frame)
            return
        frame[target] = both

    return run


def _is_mask(operation: Operation) -> bool:
    """Whether nobody but loads and stores asks for the op's result, perhaps and-ed with more."""
    users = [use.operation for use in operation.results[0].uses]
    return all(user.name in ("tt.load", "tt.store") or (user.name == "arith.andi" and _is_mask(user)) for user in users)


def _conjunction(a: Any, b: Any) -> Both | None:
    """Boxes and arrays, or what is both, kept apart; None where they do not come apart."""
    boxes = [value.box if isinstance(value, Both) else value for value in (a, b) if isinstance(value, (Both, Box))]
    arrays = [value.bits if isinstance(value, Both) else value for value in (a, b) if not isinstance(value, Box)]
    if not boxes or not arrays or not all(isinstance(array, np.ndarray) for array in arrays):
        return None
    return bounded(functools.reduce(Box.intersected, boxes), functools.reduce(np.bitwise_and, arrays))


def _where_program(box: Box, enabled: Array) -> Box:
    """The box, emptied for programs where `enabled` is false."""
    if enabled.all():
        return box
    axis = next(iter(box.upper or box.lower))
    extent = np.full(1, box.extents[axis], np.int64)
    upper = dict(box.upper)
    upper[axis] = np.where(enabled, upper.get(axis, extent), 0)
    return Box(box.extents, box.lower, upper)


# --- select ------------------------------------------------------------------------------------------------

_OPAQUE = ("tt.tensordesc", "ttg.memdesc", "ttg.async.token")


@op("arith.select")
def _select(planner: Planner, operation: Operation) -> Step:
    condition, left, right = planner.slots_of(operation.operands)
    (target,) = planner.slots_of(operation.results)
    type_ = operation.results[0].type
    rank, kind = len(extents(type_)), element(type_)
    scalar_condition = not is_tensor(operation.operands[0].type)
    dtype = None if kind in _OPAQUE else numpy_dtype(kind)

    def run(context: Context, frame: Frame) -> None:
        chosen, a, b = frame[condition], frame[left], frame[right]
        if isinstance(chosen, np.ndarray) and chosen.size == 1:
            frame[target] = a if chosen.reshape(-1)[0] else b
            return
        if dtype is None:
            sides = ((np.flatnonzero(chosen), a), (np.flatnonzero(~chosen), b))
            frame[target] = merged([(at, narrowed(value, at)) for at, value in sides if at.size], context.programs)
            return
        mask = dense(chosen)
        if scalar_condition:
            mask = mask.reshape(-1, *(1,) * rank)
        if kind == "ptr":
            frame[target] = _select_pointer(mask, a, b)
            return
        frame[target] = _choose(mask, dense(a, dtype), dense(b, dtype), context)

    return run


def _choose(mask: Array, a: Array, b: Array, context: Context) -> Array:
    """np.where, into an array that somebody handed back."""
    if max(mask.size, a.size, b.size) < _WORTH_REUSE:
        return np.where(mask, a, b)
    shape = np.broadcast_shapes(mask.shape, a.shape, b.shape)
    result = context.pool.empty(shape, a.dtype)
    np.copyto(result, b)
    np.copyto(result, a, where=mask)
    return result


def _select_pointer(mask: Array, a: Pointer, b: Pointer) -> Pointer:
    allocation = a.allocation if a.allocation is b.allocation else None
    left, right = (a.offset, b.offset) if allocation is not None else (a.address(), b.address())
    picked = np.where(mask, dense(left), dense(right))
    form = left if isinstance(left, Affine) else right
    return Pointer(allocation, affine_from_rest(picked, form.extents) if isinstance(form, Affine) else picked)
