"""Compares one buffer of a model with its golden: the harness's own comparison and tolerance, nothing else.

The tolerance is the documented one (docs/goldens.md), for the number of terms that the graph's nodes add up. A kernel
of many ops can be worse conditioned than the formula knows (a mean is subtracted, gradients cancel): only where the
documented tolerance does not hold, the same nodes are computed in float32 too, by torch, and four times the error of
that is allowed, which the evidence says: the largest, unless it is out of all proportion to the others. An element
with a larger error is measured by its own, over several runs from inputs that are moved a little, or must be what
torch computes. Where the nodes in between are of half precision, which kernels round some of them to and others not,
the same holds for the error of the nodes in their own dtypes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from harness.cases.buffer import Buffer
from harness.cases.dtypes import DType
from harness.cases.evidence import BufferEvidence
from harness.cases.kernel_case import KernelCase
from harness.cases.tolerance import Tolerance
from harness.goldens import Operation, compare_values
from harness.goldens.rounding import rounded, to_numpy
from harness.goldens.tolerance import Allowance, allowance

if TYPE_CHECKING:
    import torch

FLOAT32, OWN = "float32", "own"
_DTYPES = {FLOAT32: "float32", OWN: "their own dtypes"}
_TIMES = 4.0
# Of a million roundings by chance the largest is seven times the median.
_SPREAD = 8.0

# Runs with inputs moved, and the share of the elements that may hang on it.
_DRAWS = 6
_FEW = 1e-3

# So many elements, so many times further off than allowed, are not wrong by chance.
_MANY, _FAR = 100, 1e3

# Of `Claim.scale`: where torch itself is further off than this, its error is no measure of anything.
_MOST = {"fp64": 1e-6, "fp32": 1e-3, "fp16": 0.05, "bf16": 0.2}


@dataclass(frozen=True)
class Judged:
    """relative   the largest error, relative to the largest magnitude of the golden
    tolerance  the measured one, where the documented one does not hold
    """

    evidence: BufferEvidence
    relative: float
    tolerance: Tolerance | None = None


@dataclass(frozen=True)
class Claim:
    """What a buffer should hold.

    golden    in float64 where the model allows, in the buffer's shape
    exact     golden was computed in the model's own dtypes
    terms     added into one element
    scale     the largest magnitude around, where `again` is a run of its own, which might be of something else; else 0
    again     computes the same golden in one of `precisions` ("float32", or "own": as the graph has it), or, given a
              seed, from inputs that are moved a little; called only when it is needed
    """

    name: str
    role: str
    golden: torch.Tensor
    operation: Operation
    terms: int = 1
    exact: bool = False
    again: Callable[[int | str], torch.Tensor] | None = None
    precisions: tuple[str, ...] = ()
    tolerance: Tolerance | None = None
    scale: float = 0.0


def judge(claim: Claim, buffer: Buffer, got: np.ndarray) -> Judged:
    """Compares `got`, in the buffer's shape and dtype, with what is claimed."""
    want = rounded(claim.golden, buffer.dtype)
    evidence = _compared(claim, buffer, got, want, claim.tolerance)
    measured = None
    for precision in claim.precisions if buffer.dtype.is_float and claim.tolerance is None else ():
        if evidence.mismatch:
            evidence, measured = _by_error(claim, buffer, got, want, precision)
    if evidence.mismatch and claim.again is not None and not buffer.dtype.is_float:
        evidence = _with_undecided(claim, buffer, got, want, evidence)
    return Judged(evidence, _relative(evidence, want, buffer), measured)


def _by_error(
    claim: Claim, buffer: Buffer, got: np.ndarray, want: np.ndarray, precision: str
) -> tuple[BufferEvidence, Tolerance | None]:
    """The comparison with what torch itself errs by in that precision allowed, and elements that err by more than
    others with their own measure."""
    assert claim.again is not None
    golden = to_numpy(claim.golden.double())
    other = to_numpy(claim.again(precision).double()).reshape(golden.shape)
    with np.errstate(invalid="ignore"):
        error = np.abs(golden - other)
    tolerance = _measured(claim, buffer.dtype, precision, error)
    evidence = _compared(claim, buffer, got, want, tolerance)
    if not evidence.mismatch:
        return evidence, tolerance
    bound = _allowance(claim, buffer.dtype, want, tolerance)
    wide, expected = got.astype(np.float64), want.astype(np.float64)
    wrong = ~_is_within(wide, expected, bound.allowed(expected))
    excused = _is_torchs(wide, other, bound.allowed(golden))
    if not claim.scale and tolerance is not None:
        excused |= _is_within(wide, golden, _TIMES * _own_errors(claim, golden, error, wide, wrong & ~excused))
    evidence = _compared(claim, buffer, np.where(excused, want, got), want, tolerance)
    count = int((excused & wrong).sum())
    dtypes = _DTYPES[precision]
    return replace(
        evidence, tolerance=f"{evidence.tolerance}, {count} elements as torch has them in {dtypes}"
    ), tolerance


def _is_torchs(got: np.ndarray, other: np.ndarray, bound: np.ndarray) -> np.ndarray:
    """Which elements are what torch computes in that precision; where that overflows, just so."""
    return _is_within(got, other, bound) | (~np.isfinite(other) & ((got == other) | (np.isnan(got) & np.isnan(other))))


def _is_within(got: np.ndarray, want: np.ndarray, bound: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        return np.abs(got - want) <= np.where(np.isfinite(bound), bound, 0.0)


def _own_errors(claim: Claim, golden: np.ndarray, error: np.ndarray, got: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    """Of each element the largest error over several runs whose inputs are moved a little: of one that is badly
    conditioned a single run may come out right by chance. No more runs than it takes to explain all that is `wrong`,
    or to see that they will not."""
    assert claim.again is not None
    largest = np.where(np.isfinite(error), error, 0.0)
    with np.errstate(invalid="ignore"):
        off = np.abs(got - golden)[wrong]
    for draw in range(_DRAWS):
        if (off <= _TIMES * largest[wrong]).all() or (draw and _is_hopeless(off, _TIMES * largest[wrong])):
            break
        moved = to_numpy(claim.again(draw).double()).reshape(golden.shape)
        with np.errstate(invalid="ignore"):
            change = np.abs(moved - golden)
        largest = np.maximum(largest, np.where(np.isfinite(change), change, 0.0))
    return largest


def _is_hopeless(off: np.ndarray, allowed: np.ndarray) -> bool:
    """Whether many elements are wrong, most of them by far more than any of them would be allowed: the buffer holds
    another node than the one that it was held to."""
    return off.size >= _MANY and float(np.median(off)) > _FAR * float(allowed.max())


def _allowance(claim: Claim, dtype: DType, want: np.ndarray, tolerance: Tolerance | None) -> Allowance:
    # The tolerance asks a case for nothing but these three.
    case = KernelCase(None, (1,), {}, exact_dtype=claim.exact, reduction=claim.terms, tolerance=tolerance)
    return allowance(case, dtype, want, claim.operation)


def _compared(
    claim: Claim, buffer: Buffer, got: np.ndarray, want: np.ndarray, tolerance: Tolerance | None
) -> BufferEvidence:
    return compare_values(claim.name, buffer, got, want, claim.role, _allowance(claim, buffer.dtype, want, tolerance))


def _with_undecided(
    claim: Claim, buffer: Buffer, got: np.ndarray, want: np.ndarray, evidence: BufferEvidence
) -> BufferEvidence:
    """The comparison without the elements that hang on the last bit of a float; as it was where they are many."""
    assert claim.again is not None
    seen = [
        rounded(claim.again(how).reshape(buffer.shape), buffer.dtype) for how in (*claim.precisions, *range(_DRAWS))
    ]
    least, most = np.minimum.reduce([want, *seen]), np.maximum.reduce([want, *seen])
    undecided = least != most
    count = int(undecided.sum())
    if not count or count > max(1, int(_FEW * want.size)):
        return evidence
    # Between what was seen anything may be right; nothing else is.
    excused = undecided & (least <= got) & (got <= most)
    decided = _compared(claim, buffer, np.where(excused, want, got), want, claim.tolerance)
    return replace(decided, tolerance=f"exact, {count} undecided in float32")


def _measured(claim: Claim, dtype: DType, precision: str, error: np.ndarray) -> Tolerance | None:
    """From how far torch itself is off in that precision. The largest error counts only where others are near it:
    one element that cancels must not excuse the rest."""
    found = error[np.isfinite(error) & (error > 0)]
    if not found.size:
        return None
    largest = float(found.max())
    limit = _MOST[dtype.name] * claim.scale if claim.scale else np.inf
    # Of a result, whose elements have the errors of a whole model behind them, the largest counts if it makes sense.
    typical = largest if largest < limit < np.inf else min(largest, _SPREAD * float(np.median(found)))
    if typical >= limit:
        return None
    reason = f"{_TIMES:g} times the error of the same nodes in {_DTYPES[precision]} by torch"
    return Tolerance(reason, absolute=_TIMES * typical)


def largest_finite(values: np.ndarray) -> float:
    """0 where there is none."""
    finite = values[np.isfinite(values)]
    return float(finite.max()) if finite.size else 0.0


def _relative(evidence: BufferEvidence, want: np.ndarray, buffer: Buffer) -> float:
    if not buffer.dtype.is_float or not evidence.largest_error:
        return 0.0
    largest = largest_finite(np.abs(want.astype(np.float64)))
    return evidence.largest_error / largest if largest else evidence.largest_error
