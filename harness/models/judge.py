"""Compares one buffer of a model with its golden: the harness's own comparison and tolerance, nothing else.

The tolerance is the documented one (docs/goldens.md), for the number of terms that the graph's nodes add up. A kernel
of many ops can be worse conditioned than the formula knows (a mean is subtracted, gradients cancel): only where the
documented tolerance does not hold, the same nodes are computed in float32 too, by torch, and four times the largest
error of that is allowed, which the evidence says. Values that torch computes with such an error say nothing more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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

_TIMES = 4.0

# Of the largest magnitude: where torch itself is further off than this, its error is no measure of anything.
_MOST = {"fp64": 1e-6, "fp32": 1e-3, "fp16": 0.05, "bf16": 0.2}


@dataclass(frozen=True)
class Judged:
    """relative  the largest error, relative to the largest magnitude of the golden"""

    evidence: BufferEvidence
    relative: float


@dataclass(frozen=True)
class Claim:
    """What a buffer should hold.

    golden    in float64 where the model allows, in the buffer's shape
    exact     golden was computed in the model's own dtypes
    terms     added into one element
    again     computes the same golden in float32; called only when it is needed
    """

    name: str
    role: str
    golden: torch.Tensor
    operation: Operation
    terms: int = 1
    exact: bool = False
    again: Callable[[], torch.Tensor] | None = None
    tolerance: Tolerance | None = None


def judge(claim: Claim, buffer: Buffer, got: np.ndarray) -> Judged:
    """Compares `got`, in the buffer's shape and dtype, with what is claimed."""
    want = rounded(claim.golden, buffer.dtype)
    evidence = _compared(claim, buffer, got, want, claim.tolerance)
    if evidence.mismatch and claim.again is not None and buffer.dtype.is_float and claim.tolerance is None:
        measured = _measured(claim, buffer.dtype)
        if measured is not None:
            evidence = _compared(claim, buffer, got, want, measured)
    return Judged(evidence, _relative(evidence, want, buffer))


def _compared(
    claim: Claim, buffer: Buffer, got: np.ndarray, want: np.ndarray, tolerance: Tolerance | None
) -> BufferEvidence:
    # The tolerance asks a case for nothing but these three.
    case = KernelCase(None, (1,), {}, exact_dtype=claim.exact, reduction=claim.terms, tolerance=tolerance)
    bound = allowance(case, buffer.dtype, want, claim.operation)
    return compare_values(claim.name, buffer, got, want, claim.role, bound)


def _measured(claim: Claim, dtype: DType) -> Tolerance | None:
    """From how far torch's own float32 is off."""
    assert claim.again is not None
    golden = to_numpy(claim.golden.double())
    error = _largest_difference(golden, to_numpy(claim.again().double()))
    if not 0 < error <= _MOST[dtype.name] * _largest_finite(np.abs(golden)):
        return None
    return Tolerance(f"{_TIMES:g} times the error of the same nodes in float32 by torch", absolute=_TIMES * error)


def _largest_difference(left: np.ndarray, right: np.ndarray) -> float:
    with np.errstate(invalid="ignore"):
        return _largest_finite(np.abs(left - right))


def _largest_finite(values: np.ndarray) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.max()) if finite.size else 0.0


def _relative(evidence: BufferEvidence, want: np.ndarray, buffer: Buffer) -> float:
    if not buffer.dtype.is_float or not evidence.largest_error:
        return 0.0
    largest = _largest_finite(np.abs(want.astype(np.float64)))
    return evidence.largest_error / largest if largest else evidence.largest_error
