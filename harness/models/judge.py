"""Compares one buffer of a model with its golden: the harness's own comparison and tolerance, nothing else.

The tolerance is the documented one (docs/goldens.md), for the number of terms that the graph's nodes add up. A kernel
of many ops can be worse conditioned than the formula knows (a mean is subtracted, gradients cancel): only where the
documented tolerance does not hold, the same nodes are computed in float32 too, by torch, and four times the largest
error of that is allowed, which the evidence says. Values that torch computes with such an error say nothing more.
Where the nodes in between are of half precision, which kernels round some of them to and others not, the same holds
for the error of the nodes in their own dtypes.
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
from harness.goldens.tolerance import allowance

if TYPE_CHECKING:
    import torch

FLOAT32, OWN = "float32", "own"
_TIMES = 4.0

# Runs with inputs moved, and the share of the elements that may hang on it.
_DRAWS = 6
_FEW = 1e-3

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
        tolerance = _measured(claim, buffer.dtype, precision) if evidence.mismatch else None
        if tolerance is not None:
            measured = tolerance
            evidence = _compared(claim, buffer, got, want, measured)
    if evidence.mismatch and claim.again is not None and not buffer.dtype.is_float:
        evidence = _with_undecided(claim, buffer, got, want, evidence)
    return Judged(evidence, _relative(evidence, want, buffer), measured)


def _compared(
    claim: Claim, buffer: Buffer, got: np.ndarray, want: np.ndarray, tolerance: Tolerance | None
) -> BufferEvidence:
    # The tolerance asks a case for nothing but these three.
    case = KernelCase(None, (1,), {}, exact_dtype=claim.exact, reduction=claim.terms, tolerance=tolerance)
    bound = allowance(case, buffer.dtype, want, claim.operation)
    return compare_values(claim.name, buffer, got, want, claim.role, bound)


def _with_undecided(
    claim: Claim, buffer: Buffer, got: np.ndarray, want: np.ndarray, evidence: BufferEvidence
) -> BufferEvidence:
    """The comparison without the elements that hang on the last bit of a float; as it was where they are many."""
    assert claim.again is not None
    undecided = np.zeros(want.shape, dtype=bool)
    for how in (*claim.precisions, *range(_DRAWS)):
        undecided |= rounded(claim.again(how).reshape(buffer.shape), buffer.dtype) != want
    count = int(undecided.sum())
    if not count or count > max(1, int(_FEW * want.size)):
        return evidence
    decided = _compared(claim, buffer, got, np.where(undecided, got, want), claim.tolerance)
    return replace(decided, tolerance=f"exact, {count} undecided in float32")


def _measured(claim: Claim, dtype: DType, precision: str) -> Tolerance | None:
    """From how far torch itself is off in that precision."""
    assert claim.again is not None
    error = _largest_difference(
        to_numpy(claim.golden.double()), to_numpy(claim.again(precision).double()).reshape(claim.golden.shape)
    )
    if not 0 < error < (_MOST[dtype.name] * claim.scale if claim.scale else np.inf):
        return None
    dtypes = "float32" if precision == FLOAT32 else "their own dtypes"
    return Tolerance(f"{_TIMES:g} times the error of the same nodes in {dtypes} by torch", absolute=_TIMES * error)


def _largest_difference(left: np.ndarray, right: np.ndarray) -> float:
    with np.errstate(invalid="ignore"):
        return largest_finite(np.abs(left - right))


def largest_finite(values: np.ndarray) -> float:
    """0 where there is none."""
    finite = values[np.isfinite(values)]
    return float(finite.max()) if finite.size else 0.0


def _relative(evidence: BufferEvidence, want: np.ndarray, buffer: Buffer) -> float:
    if not buffer.dtype.is_float or not evidence.largest_error:
        return 0.0
    largest = largest_finite(np.abs(want.astype(np.float64)))
    return evidence.largest_error / largest if largest else evidence.largest_error
