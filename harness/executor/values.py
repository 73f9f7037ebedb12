"""Values of a batch of programs.

Every value carries a leading program axis: P programs, or 1 where it does not depend on the program. A
tensor is one of

* an array of shape (P|1, *dims) where each dim is the type's extent or 1 (a broadcast not yet carried out),
* `Affine`: an integer tensor kept as base + sum(stride * index) + irregular rest,
* `Shared`, `Trimmed`, `Product` (see `products`): tiles that programs share, operands of products that are zero in
  part, and products not carried out yet; `Pending` (see `pending`): products not waited for yet,
* `Box`: an i1 tensor that is true inside an axis-aligned box, its bounds per program,
* `Both`: an i1 tensor that is true inside a box where an array over other axes is true too,
* `Pointer`: an allocation and a byte offset (any of the integer forms).

Scalars are arrays of shape (P|1,) or a Pointer whose offset has no axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Union

import numpy as np

from harness.errors import UnsupportedOp
from harness.executor.deferred import Deferred
from harness.executor.local import LocalView
from harness.executor.memory import Allocation
from harness.executor.pending import Pending
from harness.executor.products import Product, Shared, Trimmed
from harness.semantics.types import Array


class Affine:
    """An integer tensor: value[p, i, j, ...] = base[p] + strides[0]*i + strides[1]*j + ... + rest[p, i, j, ...].

    base: int64 (P|1,). strides are 0 on axes of extent 1, so that such an axis can be spread. rest: int64,
    broadcastable to (P, *extents), or None. `low` and `high` bound every value (inclusive), so that wrap-around
    of the tensor's integer type can be ruled out.
    """

    __slots__ = ("base", "extents", "high", "low", "rest", "strides")

    def __init__(
        self,
        base: Array,
        strides: tuple[int, ...],
        extents: tuple[int, ...],
        low: int,
        high: int,
        rest: Array | None = None,
    ) -> None:
        self.base = base
        self.strides = strides
        self.extents = extents
        self.low = low
        self.high = high
        self.rest = rest

    @property
    def is_splat(self) -> bool:
        """One value per program: no strides, no rest."""
        return self.rest is None and not any(self.strides)

    def array(self) -> Array:
        """All values as int64, with axes of stride zero left at extent 1."""
        rank = len(self.extents)
        values = self.base.reshape(self.base.shape[0], *(1,) * rank)
        for axis, stride in enumerate(self.strides):
            if stride:
                shape = [1] * (rank + 1)
                shape[axis + 1] = self.extents[axis]
                values = values + _multiples(stride, self.extents[axis]).reshape(shape)
        return values if self.rest is None else values + self.rest

    def replaced(self, **changes: Any) -> Affine:
        fields = {name: getattr(self, name) for name in ("base", "strides", "extents", "low", "high", "rest")}
        return Affine(**{**fields, **changes})


def _multiples(stride: int, extent: int) -> Array:
    """0, stride, 2 * stride, ... in wrapping 64-bit integers."""
    if abs(stride) * extent < 1 << 63:
        return np.arange(0, stride * extent, stride, dtype=np.int64)
    return (np.arange(extent, dtype=np.uint64) * np.uint64(stride % (1 << 64))).view(np.int64)


def splat_affine(scalar: Array, extents: tuple[int, ...]) -> Affine:
    """An integer scalar (P|1,) spread over `extents`."""
    base = scalar.astype(np.int64)
    if base.size == 1:
        low = high = int(base[0])
    else:
        low, high = (int(base.min()), int(base.max())) if base.size else (0, 0)
    return Affine(base, (0,) * len(extents), extents, low, high)


def range_affine(start: int, end: int) -> Affine:
    """tt.make_range: start, start + 1, ..., end - 1."""
    return Affine(np.array([start], np.int64), (int(end - start > 1),), (end - start,), start, end - 1)


def affine_from_rest(values: Array, extents: tuple[int, ...], bounds: tuple[int, int] | None = None) -> Affine:
    """Any integer array as an Affine of base 0 whose rest is the array."""
    rest = values.astype(np.int64, copy=False)
    low, high = bounds or ((int(rest.min()), int(rest.max())) if rest.size else (0, 0))
    return Affine(np.zeros(1, np.int64), (0,) * len(extents), extents, low, high, rest)


def add_affine(left: Affine, right: Affine) -> Affine:
    """The sum, before any wrap-around: callers check `low` and `high` against the type."""
    rest = left.rest
    if right.rest is not None:
        rest = right.rest if rest is None else rest + right.rest
    strides = tuple(a + b for a, b in zip(left.strides, right.strides, strict=True))
    return Affine(left.base + right.base, strides, left.extents, left.low + right.low, left.high + right.high, rest)


def scale_affine(value: Affine, factor: int) -> Affine:
    """value * factor."""
    bounds = (value.low * factor, value.high * factor)
    rest = None if value.rest is None else value.rest * factor
    return Affine(
        value.base * factor, tuple(s * factor for s in value.strides), value.extents, min(bounds), max(bounds), rest
    )


class Box:
    """An i1 tensor that is true where lower[axis][p] <= index[axis] < upper[axis][p] on every bounded axis.

    Bounds are int64 (P|1,), clipped to [0, extent]."""

    __slots__ = ("extents", "lower", "upper")

    def __init__(self, extents: tuple[int, ...], lower: dict[int, Array], upper: dict[int, Array]) -> None:
        self.extents = extents
        self.lower = lower
        self.upper = upper

    def array(self) -> Array:
        """As bools, with unbounded axes left at extent 1."""
        rank = len(self.extents)
        inside = np.ones((1,) * (rank + 1), np.bool_)
        for axis in sorted(set(self.lower) | set(self.upper)):
            shape = [1] * (rank + 1)
            shape[axis + 1] = self.extents[axis]
            index = np.arange(self.extents[axis], dtype=np.int64).reshape(shape)
            column = (-1, *(1,) * rank)
            if axis in self.lower:
                inside = inside & (index >= self.lower[axis].reshape(column))
            if axis in self.upper:
                inside = inside & (index < self.upper[axis].reshape(column))
        return inside

    def intersected(self, other: Box) -> Box:
        lower, upper = dict(self.lower), dict(self.upper)
        for axis, bound in other.lower.items():
            lower[axis] = np.maximum(lower[axis], bound) if axis in lower else bound
        for axis, bound in other.upper.items():
            upper[axis] = np.minimum(upper[axis], bound) if axis in upper else bound
        return Box(self.extents, lower, upper)


class Both:
    """An i1 tensor that is true inside `box` where `bits` (P|1, *dims) are true too.

    The bits do not vary along an axis that the box bounds."""

    __slots__ = ("bits", "box")

    def __init__(self, box: Box, bits: Array) -> None:
        self.box = box
        self.bits = bits

    @property
    def extents(self) -> tuple[int, ...]:
        return self.box.extents

    def array(self) -> Array:
        return self.bits & self.box.array()


def bounded(box: Box, bits: Array) -> Both | None:
    """The conjunction, or None where both say something of one axis."""
    axes = set(box.lower) | set(box.upper)
    return None if any(bits.shape[axis + 1] > 1 for axis in axes) else Both(box, bits)


class Pointer:
    """A pointer, or a tensor of them: bytes from the start of `allocation`; absolute addresses where it is None.

    `offset` is an Affine for tensors, an int64 array (P|1,) for scalars.
    """

    __slots__ = ("allocation", "offset")

    def __init__(self, allocation: Allocation | None, offset: Affine | Array) -> None:
        self.allocation = allocation
        self.offset = offset

    def address(self) -> Affine | Array:
        """Absolute addresses in the form of the offset."""
        start = 0 if self.allocation is None else self.allocation.address
        if isinstance(self.offset, Affine):
            return self.offset.replaced(
                base=self.offset.base + start, low=self.offset.low + start, high=self.offset.high + start
            )
        return self.offset + start


@dataclass
class BlockPointer:
    """tt.make_tensor_ptr: a window of `block` elements at `offsets` into a strided tensor.

    Scalars (P|1,): shape, strides (elements) and offsets are one array per axis.
    """

    pointer: Pointer
    itemsize: int
    shape: tuple[Array, ...]
    strides: tuple[Array, ...]
    offsets: tuple[Array, ...]
    block: tuple[int, ...]


@dataclass
class Descriptor:
    """tt.make_tensor_descriptor: a strided tensor of which blocks are loaded and stored, padded outside."""

    pointer: Pointer
    element: str
    itemsize: int
    shape: tuple[Array, ...]
    strides: tuple[Array, ...]
    block: tuple[int, ...]
    padding: str = "zero"


Value = Union[Array, Affine, Both, Box, Pointer, BlockPointer, Descriptor, Shared, Trimmed, Product, Pending]  # noqa: UP007


def dense(value: Any, dtype: np.dtype[Any] | None = None) -> Array:
    """The value as a plain array (P|1, *dims with broadcasts pending), in `dtype` when it is an integer form."""
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, Affine):
        values = value.array()
        return values if dtype is None else values.astype(dtype)
    if isinstance(value, (Both, Box, Pending, Product, Shared, Trimmed)):
        return value.array()
    if isinstance(value, Pointer):
        return dense(value.address())
    raise TypeError(f"{type(value).__name__} has no array form")


def spread(values: Array, extents: tuple[int, ...]) -> Array:
    """The array with every pending broadcast of its tensor axes carried out (a view where possible)."""
    full = (values.shape[0], *extents)
    return values if values.shape == full else np.broadcast_to(values, full)


# --- subsets of programs ---------------------------------------------------------------------------


def narrowed(value: Any, chosen: Array) -> Any:
    """The value for the programs `chosen` (positions on the program axis)."""
    if isinstance(value, np.ndarray):
        return value if value.shape[0] == 1 else value[chosen]
    if isinstance(value, Shared):
        return Shared(value.rows, value.index[chosen])
    if isinstance(value, (Product, Trimmed)):
        return narrowed(value.array(), chosen)
    if isinstance(value, Affine):
        rest = None if value.rest is None else narrowed(value.rest, chosen)
        return value.replaced(base=narrowed(value.base, chosen), rest=rest)
    if isinstance(value, Box):
        lower = {axis: narrowed(bound, chosen) for axis, bound in value.lower.items()}
        upper = {axis: narrowed(bound, chosen) for axis, bound in value.upper.items()}
        return Box(value.extents, lower, upper)
    if isinstance(value, Both):
        return Both(narrowed(value.box, chosen), narrowed(value.bits, chosen))
    if isinstance(value, Pointer):
        return Pointer(value.allocation, narrowed(value.offset, chosen))
    if isinstance(value, BlockPointer):
        return BlockPointer(
            narrowed(value.pointer, chosen),
            value.itemsize,
            _narrowed_all(value.shape, chosen),
            _narrowed_all(value.strides, chosen),
            _narrowed_all(value.offsets, chosen),
            value.block,
        )
    if isinstance(value, (Deferred, LocalView, Pending)):
        return value.narrowed(chosen)
    if isinstance(value, Descriptor):
        return Descriptor(
            narrowed(value.pointer, chosen),
            value.element,
            value.itemsize,
            _narrowed_all(value.shape, chosen),
            _narrowed_all(value.strides, chosen),
            value.block,
            value.padding,
        )
    return value


def _narrowed_all(values: tuple[Array, ...], chosen: Array) -> tuple[Array, ...]:
    return tuple(narrowed(value, chosen) for value in values)


def merged(parts: Sequence[tuple[Array, Any]], programs: int) -> Any:
    """One value for all programs out of parts: pairs of (positions, value for those programs)."""
    first = parts[0][1]
    if len(parts) == 1:
        return _expanded(parts[0], programs)
    if all(part is first for _, part in parts) and isinstance(first, np.ndarray) and first.shape[0] == 1:
        return first
    if isinstance(first, Pending):
        pending = Pending.merged(parts, programs)
        if pending is not None:
            return pending
    if isinstance(first, Pointer):
        return _merged_pointers(parts, programs)
    if isinstance(first, LocalView):
        return LocalView.merged(parts, programs)
    if isinstance(first, Deferred):
        return Deferred.merged(parts)
    if isinstance(first, BlockPointer):
        return BlockPointer(
            merged([(at, part.pointer) for at, part in parts], programs),
            first.itemsize,
            _merged_fields(parts, programs, "shape"),
            _merged_fields(parts, programs, "strides"),
            _merged_fields(parts, programs, "offsets"),
            first.block,
        )
    if isinstance(first, Descriptor):
        if any(part.padding != first.padding for _, part in parts):
            raise UnsupportedOp("unsupported choice between tensor descriptors of different padding")
        return Descriptor(
            merged([(at, part.pointer) for at, part in parts], programs),
            first.element,
            first.itemsize,
            _merged_fields(parts, programs, "shape"),
            _merged_fields(parts, programs, "strides"),
            first.block,
            first.padding,
        )
    if any(isinstance(part, Affine) for _, part in parts):
        return _merged_affine(parts, programs)
    return _merged_arrays([(at, dense(part)) for at, part in parts], programs)


def _expanded(part: tuple[Array, Any], programs: int) -> Any:
    at, value = part
    if isinstance(value, Pending) and at.size == programs:
        return Pending.merged([part], programs)
    if isinstance(value, np.ndarray) and value.shape[0] == at.size == programs:
        inverse = np.empty_like(at)
        inverse[at] = np.arange(at.size)
        return value[inverse]
    return value


def _merged_fields(parts: Sequence[tuple[Array, Any]], programs: int, name: str) -> tuple[Array, ...]:
    rank = len(getattr(parts[0][1], name))
    return tuple(merged([(at, getattr(part, name)[axis]) for at, part in parts], programs) for axis in range(rank))


def _merged_arrays(parts: Sequence[tuple[Array, Array]], programs: int) -> Array:
    dims = np.broadcast_shapes(*(part.shape[1:] for _, part in parts))
    result = np.empty((programs, *dims), parts[0][1].dtype)
    for at, part in parts:
        result[at] = part
    return result


def _merged_affine(parts: Sequence[tuple[Array, Any]], programs: int) -> Affine:
    extents = next(part.extents for _, part in parts if isinstance(part, Affine))
    forms = [(at, part if isinstance(part, Affine) else affine_from_rest(dense(part), extents)) for at, part in parts]
    low, high = min(part.low for _, part in forms), max(part.high for _, part in forms)
    alike = len({part.strides for _, part in forms}) == 1 and all(part.rest is None for _, part in forms)
    if alike:
        base = _merged_arrays([(at, part.base) for at, part in forms], programs)
        return Affine(base, forms[0][1].strides, extents, low, high)
    rest = _merged_arrays([(at, part.array()) for at, part in forms], programs)
    return Affine(np.zeros(1, np.int64), (0,) * len(extents), extents, low, high, rest)


def _merged_pointers(parts: Sequence[tuple[Array, Pointer]], programs: int) -> Pointer:
    allocation = parts[0][1].allocation
    if all(part.allocation is allocation for _, part in parts):
        return Pointer(allocation, merged([(at, part.offset) for at, part in parts], programs))
    return Pointer(None, merged([(at, part.address()) for at, part in parts], programs))
