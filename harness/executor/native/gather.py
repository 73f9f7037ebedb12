"""Irregular rows natively: loads, stores and atomic additions of windows that start at arbitrary bytes.

A *row* is one window of up to three axes, each with its own byte stride, at a byte of an allocation. Rows go by in
order and elements of a row in row-major order, so that of stores to one place the last wins, and sums repeat to the
last bit. Nobody checks bounds here: callers have.

NumPy does the same through index arrays and several passes over memory. Making one of these takes a process 15 to
35 ms once: below `WORTH_IT` elements an access stays with NumPy.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from llvmlite import ir

from harness.executor.native import engine
from harness.executor.native.lanes import I8, I64, POINTER, number
from harness.semantics.types import Array

WORTH_IT = 1 << 15  # elements
MOST_AXES = 3  # of a window
_WIDTH = 16  # elements of a vector of adjacent ones

_FLOATS: dict[str, Any] = {"f4": ir.FloatType(), "f8": ir.DoubleType()}


def read_rows(
    memory: Array,
    starts: Array,
    valid: Array | None,
    target: Array,
    strides: Sequence[int],
    fill: Array | None = None,
    shift: int = 0,
) -> None:
    """target[row, i, j, ...] = the element at memory[shift + starts[row] + i * strides[0] + j * strides[1] + ...].

    memory   (bytes,) uint8
    starts   (rows,) int64
    valid    (rows,) bool: rows that are not are set to `fill` (one element of the target's dtype; zero when None)
    target   (rows, *window), any strides
    """
    bits = 0 if fill is None else int(fill.reshape(-1)[:1].view(f"i{target.itemsize}")[0])
    starts, valid = _flat(starts, np.int64), None if valid is None else _flat(valid, np.bool_)
    window = _window(target.shape[1:], strides, target.strides[1:])
    _reader(target.itemsize, len(window) // 3)(
        _address(memory) + shift, _address(starts), _address(valid), starts.size, _address(target), target.strides[0],
        bits, *window,
    )  # fmt: skip


def write_rows(memory: Array, starts: Array, valid: Array | None, values: Array, strides: Sequence[int]) -> None:
    """The element at memory[starts[row] + i * strides[0] + ...] = values[row, i, ...], for valid rows, in order.

    As `read_rows`; values is (rows, *window), axes that are broadcast with stride 0.
    """
    starts, valid = _flat(starts, np.int64), None if valid is None else _flat(valid, np.bool_)
    window = _window(values.shape[1:], strides, values.strides[1:])
    _writer(values.itemsize, len(window) // 3)(
        _address(memory), _address(starts), _address(valid), starts.size, _address(values), values.strides[0],
        *window,
    )  # fmt: skip


def add_rows(
    memory: Array,
    starts: Array,
    valid: Array | None,
    values: Array,
    strides: Sequence[int],
    old: Array | None = None,
) -> None:
    """As `write_rows`, but the values are added (integers wrap). `old`, of the values' shape, gets what was there."""
    starts, valid = _flat(starts, np.int64), None if valid is None else _flat(valid, np.bool_)
    behind = values.strides if old is None else old.strides
    # Elements next to each other are added at once: nobody else's are among them.
    window = _window(values.shape[1:], strides, values.strides[1:], behind[1:])
    _adder(values.dtype.str[1:], len(window) // 4, old is not None)(
        _address(memory), _address(starts), _address(valid), starts.size, _address(values), values.strides[0],
        _address(old), behind[0], *window,
    )  # fmt: skip


def span(starts: Array, valid: Array | None) -> tuple[int, int, int]:
    """The least of the valid starts, the greatest, and all their bits or'ed. The least is above the greatest where
    none is valid."""
    found = np.empty(3, np.int64)
    starts, valid = _flat(starts, np.int64), None if valid is None else _flat(valid, np.bool_)
    _spanner()(0, _address(starts), _address(valid), starts.size, _address(found))
    least, greatest, bits = found.tolist()
    return least, greatest, bits


def worth_it(shape: Sequence[int]) -> bool:
    """Whether rows, of shape (rows, *window), are enough to go this way, and have not too many axes."""
    elements = 1
    for extent in shape:
        elements *= extent
    return elements >= WORTH_IT and 0 < len(shape) <= MOST_AXES + 1


def addable(dtype: np.dtype[Any]) -> bool:
    """Whether `add_rows` adds elements of that dtype as NumPy does."""
    return dtype.str in ("<i4", "<i8", "<f4", "<f8")


def _flat(values: Array, dtype: Any) -> Array:
    return np.ascontiguousarray(values, dtype).reshape(-1)


def _address(values: Array | None) -> int:
    return 0 if values is None else values.__array_interface__["data"][0]


def _window(extents: Sequence[int], *strides: Sequence[int]) -> list[int]:
    """For each axis that has more than one element: its extent, and its stride in each of the arrays."""
    numbers: list[int] = []
    for axis in zip(extents, *strides, strict=True):
        if axis[0] != 1:
            numbers.extend(axis)
    return numbers


# --- the functions ---------------------------------------------------------------------------------------------------


class _Rows:
    """A function over rows: (memory, starts, valid, rows, *`scalars`, *window) -> 0.

    `arrays` is the number of strides that each axis of the window comes with.
    """

    def __init__(self, name: str, scalars: int, axes: int, arrays: int) -> None:
        count = 4 + scalars + axes * (1 + arrays)
        self.module = engine.module(name)
        self.function = ir.Function(self.module, ir.FunctionType(I64, [I64] * count), "rows")
        self.memory, self.starts, self.valid, self.rows, *rest = self.function.args
        self.scalars = rest[:scalars]
        self.window = [
            rest[scalars + axis * (1 + arrays) : scalars + (axis + 1) * (1 + arrays)] for axis in range(axes)
        ]
        self.builder = ir.IRBuilder(self.function.append_basic_block("entry"))

    @contextmanager
    def loop(self, count: Any) -> Iterator[Any]:
        """0, 1, ..., count - 1, an i64; none where count is 0."""
        builder = self.builder
        body, after = (self.function.append_basic_block(name) for name in ("body", "after"))
        before = builder.block
        builder.cbranch(builder.icmp_signed(">", count, number(0)), body, after)
        builder.position_at_end(body)
        index: Any = builder.phi(I64)
        index.add_incoming(number(0), before)
        yield index
        following = builder.add(index, number(1))
        index.add_incoming(following, builder.block)
        builder.cbranch(builder.icmp_signed("<", following, count), body, after)
        builder.position_at_end(after)

    def pointer(self, base: Any, *terms: tuple[Any, Any]) -> Any:
        """The address base + sum(index * stride) as a pointer."""
        return self.builder.inttoptr(self.moved(base, *terms), POINTER)

    def moved(self, base: Any, *terms: tuple[Any, Any]) -> Any:
        for index, stride in terms:
            base = self.builder.add(base, self.builder.mul(index, stride))
        return base

    def each_row(self, valid: Callable[[Any, Any], None], invalid: Callable[[Any, Any], None] | None = None) -> None:
        """`valid(row, start address)` for rows that take part, `invalid` for the others."""
        builder = self.builder
        everyone = builder.icmp_unsigned("==", self.valid, number(0))
        with self.loop(self.rows) as row:
            flag = builder.select(everyone, self.starts, self.valid)  # some byte that may be read
            taken = builder.load(self.pointer(flag, (row, number(1))), typ=I8)
            takes_part = builder.or_(everyone, builder.icmp_unsigned("!=", taken, I8(0)))
            with builder.if_else(takes_part) as (then, otherwise):
                with then:
                    start = builder.load(self.pointer(self.starts, (row, number(8))), typ=I64)
                    valid(row, builder.add(self.memory, start))
                with otherwise:
                    if invalid is not None:
                        invalid(row, None)

    def each_line(self, bases: Sequence[Any], line: Callable[[Sequence[Any], Sequence[Any]], None]) -> None:
        """`line(addresses, (extent, *strides))` for each line along the last axis of a row's window; with no axis
        at all, one of no numbers."""
        self._lines(self.window, bases, line)

    def _lines(self, axes: list[Any], bases: Sequence[Any], line: Callable[[Sequence[Any], Sequence[Any]], None]):
        if len(axes) < 2:
            line(bases, axes[0] if axes else ())
            return
        extent, *strides = axes[0]
        with self.loop(extent) as index:
            moved = [self.moved(base, (index, stride)) for base, stride in zip(bases, strides, strict=True)]
            self._lines(axes[1:], moved, line)

    def compiled(self) -> engine.Function:
        self.builder.ret(number(0))
        return engine.compiled(self.module, "rows", self.function.args)


def _copy_line(rows: _Rows, item: Any, addresses: Sequence[Any], axis: Sequence[Any]) -> None:
    """Copies from the first address to the second; elements that adjoin in both as one block."""
    builder = rows.builder
    source, target = addresses
    size = item.width // 8

    def copy(*terms: tuple[Any, Any, Any]) -> None:
        value = builder.load(rows.pointer(source, *((i, s) for i, s, _ in terms)), typ=item, align=1)
        builder.store(value, rows.pointer(target, *((i, t) for i, _, t in terms)), align=1)

    if not axis:
        copy()
        return
    extent, source_stride, target_stride = axis
    with builder.if_else(_adjoin(rows, size, source_stride, target_stride)) as (then, otherwise):
        with then:
            move = _memmove(rows.module)
            length = builder.mul(extent, number(size))
            builder.call(move, [rows.pointer(target), rows.pointer(source), length, ir.IntType(1)(0)])
        with otherwise, rows.loop(extent) as index:
            copy((index, source_stride, target_stride))


def _adjoin(rows: _Rows, size: int, *strides: Any) -> Any:
    """Whether all the strides are those of adjacent elements."""
    builder = rows.builder
    together: Any = ir.IntType(1)(1)
    for stride in strides:
        together = builder.and_(together, builder.icmp_signed("==", stride, number(size)))
    return together


def _memmove(module: ir.Module) -> ir.Function:
    name = "llvm.memmove.p0.p0.i64"
    known = module.globals.get(name)
    if known is not None:
        return known
    type_ = ir.FunctionType(ir.VoidType(), [POINTER, POINTER, I64, ir.IntType(1)])
    return ir.Function(module, type_, name)


@functools.cache
def _spanner() -> engine.Function:
    rows = _Rows("span", 1, 0, 0)
    builder = rows.builder
    limits = ((1 << 63) - 1, -(1 << 63), 0)
    least, greatest, bits = found = [builder.alloca(I64) for _ in limits]
    for place, value in zip(found, limits, strict=True):
        builder.store(number(value), place)

    def valid(_: Any, start: Any) -> None:
        for place, sign in ((least, "<"), (greatest, ">")):
            known = builder.load(place, typ=I64)
            builder.store(builder.select(builder.icmp_signed(sign, start, known), start, known), place)
        builder.store(builder.or_(builder.load(bits, typ=I64), start), bits)

    rows.each_row(valid)
    for index, place in enumerate(found):
        target = rows.pointer(rows.scalars[0], (number(index), number(8)))
        builder.store(builder.load(place, typ=I64), target)
    return rows.compiled()


@functools.cache
def _reader(itemsize: int, axes: int) -> engine.Function:
    rows = _Rows("read", 3, axes, 2)
    target, step, fill = rows.scalars
    item = ir.IntType(8 * itemsize)
    filling = fill if itemsize == 8 else rows.builder.trunc(fill, item)

    def valid(row: Any, start: Any) -> None:
        rows.each_line([start, rows.moved(target, (row, step))], lambda at, axis: _copy_line(rows, item, at, axis))

    def invalid(row: Any, _: Any) -> None:
        here = rows.moved(target, (row, step))
        rows.each_line([here, here], lambda at, axis: _fill_line(rows, filling, at[1], axis))

    rows.each_row(valid, invalid)
    return rows.compiled()


def _fill_line(rows: _Rows, filling: Any, target: Any, axis: Sequence[Any]) -> None:
    if not axis:
        rows.builder.store(filling, rows.pointer(target), align=1)
        return
    extent, _, stride = axis
    with rows.loop(extent) as index:
        rows.builder.store(filling, rows.pointer(target, (index, stride)), align=1)


@functools.cache
def _writer(itemsize: int, axes: int) -> engine.Function:
    rows = _Rows("write", 2, axes, 2)
    values, step = rows.scalars
    item = ir.IntType(8 * itemsize)

    def line(at: Sequence[Any], axis: Sequence[Any]) -> None:
        turned = (axis[0], axis[2], axis[1]) if axis else ()
        _copy_line(rows, item, [at[1], at[0]], turned)

    rows.each_row(lambda row, start: rows.each_line([start, rows.moved(values, (row, step))], line))
    return rows.compiled()


@functools.cache
def _adder(kind: str, axes: int, wanted: bool) -> engine.Function:
    """`kind` is a NumPy type such as "f4"; `wanted` says that old values are."""
    rows = _Rows("add", 4, axes, 3)
    values, step, old, old_step = rows.scalars
    item = _FLOATS.get(kind) or ir.IntType(8 * int(kind[1]))

    def line(at: Sequence[Any], axis: Sequence[Any]) -> None:
        _add_line(rows, item, int(kind[1]), at if wanted else at[:2], axis if wanted else axis[:3])

    rows.each_row(
        lambda row, start: rows.each_line(
            [start, rows.moved(values, (row, step)), rows.moved(old, (row, old_step))], line
        )
    )
    return rows.compiled()


def _add_line(rows: _Rows, item: Any, size: int, addresses: Sequence[Any], axis: Sequence[Any]) -> None:
    """memory += value, and what was there to the third address if there is one; vectors where elements adjoin."""
    if not axis:
        _add(rows, item, addresses)
        return
    extent, *strides = axis
    builder = rows.builder
    together = _adjoin(rows, size, *strides)
    whole = builder.select(together, builder.sdiv(extent, number(_WIDTH)), number(0))
    with rows.loop(whole) as index:
        block = builder.mul(index, number(_WIDTH * size))
        _add(rows, ir.VectorType(item, _WIDTH), [builder.add(address, block) for address in addresses])
    done = builder.mul(whole, number(_WIDTH))
    with rows.loop(builder.sub(extent, done)) as index:
        at = builder.add(done, index)
        _add(rows, item, [rows.moved(a, (at, s)) for a, s in zip(addresses, strides, strict=True)])


def _add(rows: _Rows, type_: Any, addresses: Sequence[Any]) -> None:
    """One element, or a vector of adjacent ones. Memory is aligned as its elements are, at least."""
    builder = rows.builder
    inner = type_.element if isinstance(type_, ir.VectorType) else type_
    memory = rows.pointer(addresses[0])
    before = builder.load(memory, typ=type_, align=1)
    value = builder.load(rows.pointer(addresses[1]), typ=type_, align=1)
    added = builder.add(before, value) if isinstance(inner, ir.IntType) else builder.fadd(before, value)
    builder.store(added, memory, align=1)
    if len(addresses) > 2:
        builder.store(before, rows.pointer(addresses[2]), align=1)
