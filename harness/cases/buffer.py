"""A buffer: shape, strides, storage offset, dtype, fill and alignment.

Layout is part of a buffer. Its storage is as long as its strides reach, and what the kernel sees is
that storage in address order; nothing is ever packed or copied to make it contiguous.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

from harness.cases.dtypes import DType, as_dtype
from harness.cases.fills import Fill, Normal, Poison
from harness.errors import CaseError


def contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major strides, in elements."""
    strides: list[int] = []
    step = 1
    for extent in reversed(shape):
        strides.append(step)
        step *= max(1, extent)
    return tuple(reversed(strides))


@dataclass(frozen=True, eq=False)
class Buffer:
    """A tensor argument of a kernel.

    shape, strides and offset count elements; strides default to row-major. `alignment` is the power of
    two that divides the address of element 0; below 16 it is exact: 4 means "4 but not 8" (from 16 on
    Triton makes no difference, and 16, the default, means "16 or more"). A view is where its buffer is.
    Two arguments that name the same Buffer object, or views of it, share memory.
    """

    shape: tuple[int, ...]
    dtype: DType
    strides: tuple[int, ...]
    offset: int = 0
    fill: Fill = field(default_factory=Normal)
    alignment: int = 16
    base: Buffer | None = None

    def __init__(
        self,
        shape: int | tuple[int, ...],
        dtype: str | DType = "fp32",
        *,
        strides: tuple[int, ...] | None = None,
        offset: int = 0,
        fill: Fill | None = None,
        alignment: int = 16,
        base: Buffer | None = None,
    ) -> None:
        shape = _integers("shape", shape)
        dtype = as_dtype(dtype)
        strides = contiguous_strides(shape) if strides is None else _integers("strides", strides)
        offset, alignment = _integer("offset", offset), _integer("alignment", alignment)
        fill = Normal() if fill is None else fill
        _check(shape, strides, alignment, dtype)
        if not isinstance(fill, Fill):
            raise CaseError(f"fill={fill!r} is no fill", hint=f"such as Constant({fill!r}) or Uniform(0.0, 1.0)")
        for name, value in (
            ("shape", shape),
            ("dtype", dtype),
            ("strides", strides),
            ("offset", offset),
            ("fill", fill),
            ("alignment", alignment),
            ("base", base),
        ):
            object.__setattr__(self, name, value)

    @property
    def numel(self) -> int:
        count = 1
        for extent in self.shape:
            count *= extent
        return count

    @property
    def storage_elements(self) -> int:
        """Elements from the start of the storage to the last element the view reaches."""
        if self.numel == 0:
            return self.offset
        return self.offset + 1 + sum((n - 1) * s for n, s in zip(self.shape, self.strides, strict=True))

    def view(
        self, shape: tuple[int, ...], strides: tuple[int, ...] | None = None, offset: int = 0, dtype: str | None = None
    ) -> Buffer:
        """Another view of the same storage: both names alias the same memory."""
        root = self.base or self
        element = self.dtype if dtype is None else as_dtype(dtype)
        alias = Buffer(shape, element, strides=strides, offset=offset, alignment=root.alignment, base=root)
        if alias.storage_elements * element.itemsize > root.storage_elements * root.dtype.itemsize:
            raise CaseError(f"a view of {shape} at offset {offset} reaches past the storage of its buffer")
        return alias

    def filled(self, fill: Fill) -> Buffer:
        """The same layout with other contents."""
        return Buffer(
            self.shape, self.dtype, strides=self.strides, offset=self.offset, fill=fill, alignment=self.alignment
        )


def empty(
    shape: int | tuple[int, ...],
    dtype: str | DType = "fp32",
    *,
    strides: tuple[int, ...] | None = None,
    offset: int = 0,
    alignment: int = 16,
) -> Buffer:
    """A buffer of poison, for the kernel to write: what it does not write stays poison and is seen."""
    return Buffer(shape, dtype, strides=strides, offset=offset, fill=Poison(), alignment=alignment)


def _integers(name: str, value: Any) -> tuple[int, ...]:
    items = value if isinstance(value, (list, tuple)) else (value,)
    return tuple(_integer(name, one) for one in items)


def _integer(name: str, value: Any) -> int:
    """A count: NumPy's integers are as good as Python's, bools are none."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 0:
        hint = "torch has no negative strides" if name == "strides" else ""
        raise CaseError(f"{name} holds {value!r}, which is no integer of zero or more", hint=hint)
    return int(value)


def _check(shape: tuple[int, ...], strides: tuple[int, ...], alignment: int, dtype: DType) -> None:
    if len(strides) != len(shape):
        raise CaseError(f"strides {strides} do not match shape {shape}")
    if alignment < dtype.itemsize or alignment & (alignment - 1):
        raise CaseError(f"alignment {alignment} must be a power of two of at least {dtype.itemsize} bytes for {dtype}")
