"""Comparing what the kernel left in each buffer with its golden."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from harness.cases.allocate import Allocated, AllocatedBuffer, Snapshot, byte_view, element_numbers, host_bytes
from harness.cases.buffer import Buffer
from harness.cases.evidence import BufferEvidence, Finding, Mismatch
from harness.cases.kernel_case import KernelCase
from harness.goldens.bits import bits_of, poison_is_unmistakable, ulp_distance
from harness.goldens.changes import buffer_changed, changed_bytes, find_changes
from harness.goldens.error_shape import describe
from harness.goldens.tolerance import Allowance, Operation, allowance

Program = tuple[int, int, int]
# (storage name, byte offsets in the storage) -> the programs that wrote those bytes.
Writers = Callable[[str, Sequence[int]], Sequence[Program]]
WritersOf = Callable[[np.ndarray], tuple[Program, ...]]

# Of the wrong elements, evenly spread: how many are asked who wrote them, and how many writers are named.
_ASKED_FOR_WRITERS = 4096
_NAMED_WRITERS = 8
# Upper ends of the histogram's classes, in ulp.
_CLASSES = ((0, "0"), (1, "1"), (2, "2"), (4, "3-4"), (8, "5-8"), (16, "9-16"), (64, "17-64"), (1024, "65-1024"))


@dataclass
class Comparison:
    """`buffers` has one entry for each name of the case's buffers, in order."""

    buffers: list[BufferEvidence] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class _Difference:
    """The elements whose bits differ: flat indices (row-major), and for each whether it is wrong.

    `ulp` is NaN where one side is NaN; `absolute` likewise.
    """

    index: np.ndarray
    wrong: np.ndarray
    absolute: np.ndarray
    relative: np.ndarray
    ulp: np.ndarray


def compare(
    case: KernelCase,
    allocated: Allocated,
    goldens: Mapping[str, np.ndarray | None],
    roles: Mapping[str, str],
    before: Snapshot,
    *,
    writers: Writers | None = None,
    operation: Operation | None = None,
) -> Comparison:
    """Compares every buffer that has a golden; says of every other one why it was not compared.

    goldens   from `run_reference`
    roles     measured, by buffer name: "in", "out", "inout" or "unused"
    before    the snapshot taken before the first launch
    writers   who wrote a byte, where the target knows
    operation what the kernel does to floats, where the target knows: narrows the tolerance
    A buffer that changed without a golden, a guard zone or a hole that changed is a Finding.
    """
    changed = {name: changed_bytes(storage, before) for name, storage in allocated.storages.items()}
    result = Comparison(findings=find_changes(allocated, before, changed, goldens.keys()))
    for name, one in allocated.buffers.items():
        touched = buffer_changed(one, changed[one.storage.name])
        role = roles.get(name) or _role(one, touched)
        golden = goldens.get(name)
        if golden is None:
            reason = _reason(name in goldens, touched, role)
            waived = name in goldens
            result.buffers.append(
                BufferEvidence(name, one.buffer.dtype.name, one.buffer.shape, role, False, reason, waived=waived)
            )
            continue
        result.buffers.append(_compared(case, one, role, golden, writers, operation or Operation()))
    return result


def content(one: AllocatedBuffer) -> np.ndarray:
    """What the buffer holds now: contiguous, in its shape and dtype, on the CPU."""
    storage = one.storage
    flat = host_bytes(storage)[storage.start : storage.start + storage.length]
    if not one.buffer.numel:
        return np.empty(one.buffer.shape, dtype=one.buffer.dtype.numpy)
    raw = np.ascontiguousarray(byte_view(flat, one.buffer))
    return raw.reshape(-1).view(one.buffer.dtype.numpy).reshape(one.buffer.shape)


def _role(one: AllocatedBuffer, touched: bool) -> str:
    if not touched:
        return "in"
    return "out" if one.starts_as_poison else "inout"


def _reason(named: bool, touched: bool, role: str) -> str:
    if named:
        return "the reference says it cannot be compared (None)"
    if touched:
        return "written, but the reference gives no golden"
    return {"in": "only read, and unchanged", "unused": "not used by the kernel"}.get(
        role, "stored to, but unchanged, and the reference gives no golden"
    )


def compare_values(
    name: str,
    buffer: Buffer,
    got: np.ndarray,
    golden: np.ndarray,
    role: str,
    bound: Allowance,
    *,
    signed_zeros: bool = False,
    writers_of: WritersOf | None = None,
) -> BufferEvidence:
    """Compares what a buffer holds with its golden, both in the buffer's shape and dtype, within `bound`.

    writers_of  who wrote the elements of these flat indices (row-major), where somebody knows
    """
    dtype, want = buffer.dtype, np.ascontiguousarray(golden)
    difference = _differences(got.reshape(-1), want.reshape(-1), bound, signed_zeros)
    histogram = _histogram(difference, want.size) if dtype.is_float else {}
    mismatch = _mismatch(buffer, got, want, difference, writers_of) if difference.wrong.any() else None
    largest = _largest_finite(difference.absolute)
    return BufferEvidence(
        name, dtype.name, buffer.shape, role, True, "", str(bound), histogram, mismatch, largest_error=largest
    )


def _compared(
    case: KernelCase,
    one: AllocatedBuffer,
    role: str,
    golden: np.ndarray,
    writers: Writers | None,
    operation: Operation,
) -> BufferEvidence:
    bound = allowance(case, one.buffer.dtype, np.ascontiguousarray(golden), operation)

    def writers_of(wrong: np.ndarray) -> tuple[Program, ...]:
        return _writers_of(one, wrong, writers)

    signed = case.signed_zeros
    return compare_values(
        one.name, one.buffer, content(one), golden, role, bound, signed_zeros=signed, writers_of=writers_of
    )


def _differences(got: np.ndarray, want: np.ndarray, bound: Allowance, signed_zeros: bool) -> _Difference:
    """Looks closely only at elements whose bits differ: in a passing run these are few."""
    index = np.flatnonzero(bits_of(got) != bits_of(want))
    got, want = got[index], want[index]
    if not bound.dtype.is_float:
        return _integer_differences(index, got, want)
    poison = bound.dtype.poison
    poisoned = np.zeros(index.size, dtype=bool)
    if poison_is_unmistakable(bound.dtype):
        poisoned = (bits_of(got) == poison) != (bits_of(want) == poison)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):  # NaNs, signalling ones too
        wide_got, wide_want = got.astype(np.float64), want.astype(np.float64)
        absolute = np.abs(wide_got - wide_want)
        relative = absolute / np.abs(wide_want)
        # Neither a NaN nor an infinity on one side only is within any bound.
        wrong = ~((absolute <= bound.allowed(wide_want)) & (absolute < np.inf))
        ulp = ulp_distance(got, want)
    if bound.is_exact:
        wrong[:] = True
    wrong &= ~(np.isnan(wide_got) & np.isnan(wide_want))
    # Bits differ and both are zero: the signs differ.
    wrong[(wide_got == 0) & (wide_want == 0)] = signed_zeros
    return _Difference(index, wrong | poisoned, absolute, relative, ulp)


def _integer_differences(index: np.ndarray, got: np.ndarray, want: np.ndarray) -> _Difference:
    if got.dtype == bool:  # any byte may stand in memory
        got, want = bits_of(got), bits_of(want)
    absolute = np.abs(got.astype(np.float64) - want.astype(np.float64))
    with np.errstate(divide="ignore"):
        relative = absolute / np.abs(want.astype(np.float64))
    return _Difference(index, np.ones(index.size, dtype=bool), absolute, relative, absolute)


def _histogram(difference: _Difference, total: int) -> dict[str, int]:
    """Elements by distance in ulp; "nan" counts those where a NaN stands on one side only."""
    wrong_or_number = ~np.isnan(difference.ulp) | difference.wrong
    ulp = difference.ulp[wrong_or_number]
    number = ulp[~np.isnan(ulp)]
    ends = np.array([end for end, _ in _CLASSES], dtype=np.float64)
    counts = np.bincount(np.searchsorted(ends, number), minlength=len(_CLASSES) + 1)
    named = dict(zip([*(label for _, label in _CLASSES), "more"], (int(n) for n in counts), strict=True))
    named["0"] += total - ulp.size
    named["nan"] = int(ulp.size - number.size)
    return {label: count for label, count in named.items() if count}


def _mismatch(
    buffer: Buffer, got: np.ndarray, want: np.ndarray, difference: _Difference, writers_of: WritersOf | None
) -> Mismatch:
    wrong = difference.index[difference.wrong]
    first = tuple(int(i) for i in np.unravel_index(wrong[0], buffer.shape))
    mask = np.zeros(want.size, dtype=bool)
    mask[wrong] = True
    return Mismatch(
        wrong=int(wrong.size),
        total=int(want.size),
        first_index=first,
        got=_text(got.reshape(-1)[wrong[:1]]),
        want=_text(want.reshape(-1)[wrong[:1]]),
        max_absolute=_largest(difference.absolute[difference.wrong]),
        max_relative=_largest(difference.relative[difference.wrong]),
        max_ulp=_largest(difference.ulp[difference.wrong]),
        error_shape=describe(got, want, mask.reshape(buffer.shape), buffer),
        writers=writers_of(wrong) if writers_of else (),
    )


def _writers_of(one: AllocatedBuffer, wrong: np.ndarray, writers: Writers | None) -> tuple[Program, ...]:
    if writers is None:
        return ()
    asked = _spread(wrong, _ASKED_FOR_WRITERS)
    offsets = element_numbers(one.buffer).reshape(-1)[asked] * one.buffer.dtype.itemsize
    return tuple(_spread(writers(one.storage.name, offsets.tolist()), _NAMED_WRITERS))


def _spread(items: Any, most: int) -> list[Any]:
    """At most so many of the items, evenly spread, the first and the last among them."""
    if len(items) <= most:
        return list(items)
    return [items[i * (len(items) - 1) // (most - 1)] for i in range(most)]


def _largest_finite(values: np.ndarray) -> float:
    """0 where there is none."""
    finite = values[np.isfinite(values)]
    return float(finite.max()) if finite.size else 0.0


def _largest(values: np.ndarray) -> float:
    """The largest error; infinity where all of them are against a NaN."""
    numbers = values[~np.isnan(values)]
    return float(numbers.max()) if numbers.size else float("inf")


def _text(one: np.ndarray) -> str:
    """The only element of `one` as text; a bool that is neither 0 nor 1 shows its byte."""
    if one.dtype == bool:
        byte = int(bits_of(one)[0])  # a NumPy scalar would be True for any byte
        return {0: "False", 1: "True"}.get(byte, f"byte 0x{byte:02X}")
    if one.dtype.kind in "iu":
        return str(int(one[0]))
    return repr(float(one[0])) if one.dtype.itemsize == 8 else str(one[0])
