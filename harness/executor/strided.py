"""The common access, done with as little as possible around the copy: affine addresses, evenly spaced programs,
and a mask (if any) that is the same box for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from harness.executor.values import Affine, Box, Pointer
from harness.semantics.types import Array

if TYPE_CHECKING:
    from harness.executor.bounds import AccessType


def even_spacing(starts: Array) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """(counts, steps) of up to two nested even spacings that produce `starts` (n,), else None."""
    count = starts.size
    if count == 1:
        return (), ()
    steps = starts[1:] - starts[:-1]
    step = int(steps[0])
    uneven = steps != step
    if not uneven.any():
        return (count,), (step,)
    inner = int(uneven.argmax()) + 1
    if inner == 1 or count % inner:
        return None
    table = starts.reshape(-1, inner)
    outer = table[1:, 0] - table[:-1, 0]
    if not (outer == outer[0]).all() or not (table[:, 1:] - table[:, :-1] == step).all():
        return None
    return (count // inner, inner), (int(outer[0]), step)


def overlapping(extents: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> bool:
    """Whether elements of a strided array may share bytes; never False where they do."""
    reach = itemsize
    for stride, extent in sorted((abs(s), n) for s, n in zip(strides, extents, strict=True) if n > 1):
        if stride < reach:
            return True
        reach += stride * (extent - 1)
    return False


class Window:
    """One strided array over an allocation: axes `counts` of the programs, then the tensor's window.

    `lower`, `upper` bound the window in the tensor; `view` has shape (*counts, *upper - lower).
    """

    __slots__ = ("counts", "lower", "programs", "upper", "view")

    def __init__(
        self, view: Array, counts: tuple[int, ...], programs: int, lower: tuple[int, ...], upper: tuple[int, ...]
    ) -> None:
        self.view = view
        self.counts = counts
        self.programs = programs
        self.lower = lower
        self.upper = upper


def window(pointer: Pointer, mask: Any, access: AccessType, varying: Array | None) -> Window | None:
    """The access as one window, or None where it is not that simple (or not in bounds, or not aligned).

    Axes along which nothing varies (address, mask, `varying`) have extent 1.
    """
    offset, allocation = pointer.offset, pointer.allocation
    if not isinstance(offset, Affine) or offset.rest is not None or allocation is None:
        return None
    if not (mask is None or isinstance(mask, Box)):
        return None
    bounds = _uniform_bounds(mask, offset, varying)
    if bounds is None:
        return None
    lower, upper = bounds
    spacing = even_spacing(offset.base)
    if spacing is None:
        return None
    counts, steps = spacing
    shape = tuple(high - low for low, high in zip(lower, upper, strict=True))
    start = int(offset.base[0]) + sum(low * stride for low, stride in zip(lower, offset.strides, strict=True))
    if not _inside(start, (*counts, *shape), (*steps, *offset.strides), allocation, access.dtype.itemsize):
        return None
    view = np.ndarray(
        (*counts, *shape), access.dtype, buffer=allocation.bytes, offset=start, strides=(*steps, *offset.strides)
    )
    return Window(view, counts, offset.base.size, lower, upper)


def _uniform_bounds(
    mask: Box | None, offset: Affine, varying: Array | None
) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    lower, upper = [], []
    for axis, extent in enumerate(offset.extents):
        low = None if mask is None else mask.lower.get(axis)
        high = None if mask is None else mask.upper.get(axis)
        if (low is not None and low.size > 1) or (high is not None and high.size > 1):
            return None
        moves = offset.strides[axis] or low is not None or high is not None
        moves = moves or (varying is not None and varying.shape[axis + 1] > 1)
        lower.append(0 if low is None else int(low[0]))
        upper.append((extent if moves else 1) if high is None else int(high[0]))
        if upper[-1] <= lower[-1]:
            return None
    return tuple(lower), tuple(upper)


def _inside(start: int, shape: tuple[int, ...], strides: tuple[int, ...], allocation: Any, itemsize: int) -> bool:
    first, last, crooked = start, start + itemsize, (start + allocation.address) % itemsize
    for extent, stride in zip(shape, strides, strict=True):
        reach = stride * (extent - 1)
        if reach < 0:
            first += reach
        else:
            last += reach
        crooked |= reach and stride % itemsize
    return first >= 0 and last <= allocation.bytes.size and not crooked
