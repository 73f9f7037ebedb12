"""Matrix products of a batch as few large ones.

Programs of a grid share operands: in a matmul the tile of A depends on the row of the grid only, that of B on
the column. `Shared` holds each distinct tile once, and a product of two of them is one GEMM for the batch.
`Product` puts off the additions of a loop over K until enough of K has come together.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Union

import numpy as np

from harness.semantics.dot import prepare_dot_operand
from harness.semantics.types import Array

_ENOUGH_K = 576  # terms after which a product is carried out: a 3x3 convolution of 64 channels is one


class Shared:
    """A tensor whose programs hold few distinct values: program p has rows[index[p]]."""

    __slots__ = ("index", "rows")

    def __init__(self, rows: Array, index: Array) -> None:
        self.rows = rows
        self.index = index

    def array(self) -> Array:
        return self.rows[self.index]


Operand = Union[Array, Shared]  # noqa: UP007


@dataclass(frozen=True)
class Trimmed:
    """An operand of a product that a mask sets to zero outside `lower` <= index < upper along its K axis.

    `operand` holds what is inside only. `axis` counts a tensor's axes, `extent` is the K axis's own.
    """

    operand: Operand
    axis: int
    lower: int
    upper: int
    extent: int

    def array(self) -> Array:
        inner = _expanded(self.operand)
        shape = list(inner.shape)
        shape[self.axis + 1] = self.extent
        result = np.zeros(shape, inner.dtype)
        result[(slice(None),) * (self.axis + 1) + (slice(self.lower, self.upper),)] = inner
        return result

    def agrees(self, other: Trimmed) -> bool:
        """Whether the other operand of the product is zero for the same K: zero times zero adds nothing."""
        return (self.lower, self.upper) == (other.lower, other.upper)


class Strip:
    """Room for slices of K one after the other: those of one product need not be put side by side any more."""

    __slots__ = ("_array", "_used")

    def __init__(self) -> None:
        self._array: Array | None = None
        self._used = 0

    def next(self, terms: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """An array (terms, *shape) right behind the last one, or in a new place where that is full or of another
        shape. Its contents are undefined."""
        array = self._array
        if array is None or array.shape[1:] != shape or array.dtype != dtype or self._used + terms > array.shape[0]:
            # Pages that nobody touches cost nothing.
            array = self._array = np.empty((max(_ENOUGH_K + terms, terms), *shape), dtype)
            self._used = 0
        first, self._used = self._used, self._used + terms
        return array[first : self._used]


@dataclass
class Product:
    """accumulator + sum of left @ right, not carried out yet. All parts share their operands alike."""

    accumulator: Array
    precision: str
    lefts: list[Operand] = field(default_factory=list)
    rights: list[Operand] = field(default_factory=list)
    terms: int = 0

    def takes(self, left: Operand, right: Operand, precision: str) -> bool:
        """Whether another product may join: same precision, same sharing, same types, and not full."""
        if self.terms >= _ENOUGH_K or precision != self.precision:
            return False
        return _alike(self.lefts[0], left) and _alike(self.rights[0], right)

    def joined(self, left: Operand, right: Operand) -> Product:
        """This product with one more term; the old one stays as it is."""
        terms = self.terms + _rows(left).shape[-1]
        return Product(self.accumulator, self.precision, [*self.lefts, left], [*self.rights, right], terms)

    def array(self) -> Array:
        left, right = _concatenated(self.lefts, -1), _concatenated(self.rights, -2)
        product = multiply(_prepared(left, self.precision), _prepared(right, self.precision))
        if self.accumulator.size == 1 and not self.accumulator.any():
            return product.astype(self.accumulator.dtype, copy=False)
        return np.add(product, self.accumulator, dtype=self.accumulator.dtype)


def _rows(operand: Operand) -> Array:
    return operand.rows if isinstance(operand, Shared) else operand


def _alike(a: Operand, b: Operand) -> bool:
    if type(a) is not type(b) or _rows(a).shape[:1] != _rows(b).shape[:1] or _rows(a).dtype != _rows(b).dtype:
        return False
    if isinstance(a, Shared) and isinstance(b, Shared):
        return a.index is b.index or np.array_equal(a.index, b.index)
    return True


def _concatenated(operands: list[Operand], axis: int) -> Operand:
    if len(operands) == 1:
        return operands[0]
    rows = _side_by_side([_rows(operand) for operand in operands], axis)
    first = operands[0]
    return Shared(rows, first.index) if isinstance(first, Shared) else rows


def _side_by_side(parts: list[Array], axis: int) -> Array:
    """The parts as one array: a view where they are slices of one array, each behind the last (see `Strip`)."""
    first = parts[0]
    step = first.strides[axis]
    place = _address(first)
    for part in parts:
        follows = part.base is first.base and part.strides == first.strides and _address(part) == place
        if first.base is None or not follows:
            return np.concatenate(parts, axis=axis)
        place += part.shape[axis] * step
    shape = list(first.shape)
    shape[axis] = sum(part.shape[axis] for part in parts)
    return np.lib.stride_tricks.as_strided(first, shape, first.strides, writeable=False)


def _address(array: Array) -> int:
    return array.__array_interface__["data"][0]


def _prepared(operand: Operand, precision: str) -> Operand:
    if isinstance(operand, Shared):
        return Shared(prepare_dot_operand(operand.rows, precision), operand.index)
    return prepare_dot_operand(operand, precision)


def multiply(left: Operand, right: Operand) -> Array:
    """left @ right for every program: (P|1, M, K) @ (P|1, K, N) -> (P|1, M, N)."""
    if isinstance(left, Shared) and isinstance(right, Shared) and _covers_pairs(left, right):
        return _one_product(left, right)
    left, right = _expanded(left), _expanded(right)
    if right.ndim == 3 and right.shape[0] == 1 and left.shape[0] > 1:
        programs, rows, terms = left.shape
        return (left.reshape(programs * rows, terms) @ right[0]).reshape(programs, rows, -1)
    return np.matmul(left, right)


def _covers_pairs(left: Shared, right: Shared) -> bool:
    """Whether the programs want at least half of all pairs of distinct tiles."""
    return left.rows.shape[0] * right.rows.shape[0] <= 2 * left.index.size


def _expanded(operand: Operand) -> Array:
    return operand.array() if isinstance(operand, Shared) else operand


def _one_product(left: Shared, right: Shared) -> Array:
    """All pairs of distinct tiles in one GEMM, then each program's pair."""
    lefts, rows, terms = left.rows.shape
    rights, _, columns = right.rows.shape
    wide = right.rows.transpose(1, 0, 2).reshape(terms, rights * columns)
    pairs = (left.rows.reshape(lefts * rows, terms) @ wide).reshape(lefts, rows, rights, columns)
    return pairs.transpose(0, 2, 1, 3)[left.index, right.index]


def distinct(columns: list[Array], programs: int) -> tuple[Array, Array] | None:
    """(first position of each distinct row, row number of every program) of a table whose `columns` have shape
    (P|1, ...), or None when more than half of the rows are distinct."""
    table = np.concatenate(
        [np.ascontiguousarray(column, np.int64).reshape(programs, -1) for column in columns if column.shape[0] > 1],
        axis=1,
    )
    numbers: dict[bytes, int] = {}
    first: list[int] = []
    index = np.empty(programs, np.intp)
    for position in range(programs):
        number = numbers.setdefault(table[position].tobytes(), len(numbers))
        if number == len(first):
            first.append(position)
            if 2 * len(first) > programs:
                return None
        index[position] = number
    return np.array(first), index


def lazy_product(accumulator: Any, left: Operand, right: Operand, precision: str) -> Product:
    """accumulator + left @ right, joined to the accumulator where that is a product itself."""
    if isinstance(accumulator, Product) and accumulator.takes(left, right, precision):
        return accumulator.joined(left, right)
    base = accumulator if isinstance(accumulator, np.ndarray) else accumulator.array()
    return Product(base, precision, [left], [right], _rows(left).shape[-1])
