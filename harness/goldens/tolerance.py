"""How far a float may lie from its golden: one function of dtype, operation kind and reduction length.

    allowed = [rounding] ulp(want) + (steps + 4 sqrt(k - 1)) u max(|want|, M)

rounding  1 where the buffer is narrower than the arithmetic behind it, else 0
steps     roundings on the way to a result, by operation kind: see KINDS
k         terms added into one element (`KernelCase.reduction`)
u         unit roundoff of the arithmetic: 2**-53 for fp64, else 2**-24
M         the buffer's typical magnitude: the median of its finite goldens that are not zero
All of the second part doubles where the reference computes no more exactly than the kernel.

docs/goldens.md derives it and says what it does not cover.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from harness.cases.dtypes import DTYPES, DType
from harness.cases.kernel_case import KernelCase, Tolerance
from harness.errors import CaseError
from harness.goldens.bits import precision, ulp_size

# Roundings of the arithmetic's own precision that one result may carry.
KINDS: dict[str, float] = {
    "move": 0.0,  # loads, stores, selects, integer work: bit exact
    "conversion": 4.0,  # and casts: bit exact too where the reference sees the case's own dtypes
    "arithmetic": 4.0,  # a few of + - * / sqrt fma, reductions and ieee dots
    "transcendental": 16.0,  # exp, log, sin, erf, pow ... as good as libdevice, in a short chain
}
_PER_ROOT_TERM = 4.0
_SAMPLE = 1 << 16


@dataclass(frozen=True)
class Operation:
    """What a kernel does to the floats it stores. Nothing known: the widest kind."""

    kind: str = "transcendental"

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise CaseError(f"operation kind {self.kind!r} is unknown", hint=f"one of: {', '.join(KINDS)}")


@dataclass(frozen=True)
class Allowance:
    """The tolerance of one buffer: `relative` and `floor` are the second part of the formula."""

    dtype: DType
    rounding: float
    relative: float
    magnitude: float
    extra: Tolerance | None = None

    @property
    def is_exact(self) -> bool:
        return not self.rounding and not self.relative and self.extra is None

    def allowed(self, want: np.ndarray) -> np.ndarray:
        """float64: the largest allowed absolute error of each finite golden `want` (float64)."""
        size = np.abs(want)
        ulp = ulp_size(want, self.dtype)
        basic = self.rounding * ulp + self.relative * np.maximum(size, self.magnitude)
        if self.extra is None:
            return basic
        return np.maximum(basic, self.extra.ulp * ulp + self.extra.absolute + self.extra.relative * size)

    def __str__(self) -> str:
        if self.is_exact:
            return "exact"
        parts = ["1 ulp"] if self.rounding else []
        if self.relative:
            parts.append(f"{self.relative:.2g} max(|want|, {self.magnitude:.2g})")
        text = " + ".join(parts) or "exact"
        return f"{text}, widened: {_described(self.extra)}" if self.extra else text


def allowance(case: KernelCase, dtype: DType, golden: np.ndarray, operation: Operation) -> Allowance:
    """The tolerance of a buffer of `dtype` (a float) whose golden is `golden`.

    Raises CaseError for a reduction length below 1 or a tolerance without a reason.
    """
    _check(case)
    exact = operation.kind == "move" or (operation.kind == "conversion" and case.exact_dtype)
    if exact or not dtype.is_float:
        return Allowance(dtype, 0.0, 0.0, 0.0, case.tolerance if dtype.is_float else None)
    arithmetic = DTYPES["fp64" if dtype.name == "fp64" else "fp32"]
    unit_roundoff = 2.0 ** -precision(arithmetic)
    relative = (KINDS[operation.kind] + _PER_ROOT_TERM * math.sqrt(case.reduction - 1)) * unit_roundoff
    if case.exact_dtype or dtype.name == "fp64":
        relative *= 2
    rounding = 1.0 if precision(dtype) < precision(arithmetic) else 0.0
    return Allowance(dtype, rounding, relative, typical_magnitude(golden), case.tolerance)


def typical_magnitude(golden: np.ndarray) -> float:
    """The median of the finite magnitudes above zero; 0 where there are none.

    The median and not the largest or the mean: one extreme element must not excuse all others. Large
    buffers are judged by every n-th element.
    """
    flat = golden.reshape(-1)
    found = _magnitudes(flat[:: -(-flat.size // _SAMPLE)]) if flat.size > _SAMPLE else _magnitudes(flat)
    if not found.size and flat.size > _SAMPLE:
        found = _magnitudes(flat)
    return float(np.median(found)) if found.size else 0.0


def _magnitudes(values: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):  # signalling NaNs
        size = np.abs(values.astype(np.float64))
    return size[np.isfinite(size) & (size > 0)]


def _check(case: KernelCase) -> None:
    if isinstance(case.reduction, bool) or not isinstance(case.reduction, int) or case.reduction < 1:
        raise CaseError(f"reduction {case.reduction!r} must be an integer of one or more", about="reduction")
    extra = case.tolerance
    if extra is None:
        return
    if not extra.reason.strip():
        raise CaseError(
            "a tolerance needs its reason", hint="Tolerance(reason=...) says why the documented one is too tight"
        )
    if not all(math.isfinite(size) and size >= 0 for size in (extra.ulp, extra.absolute, extra.relative)):
        raise CaseError(f"a tolerance must be finite and zero or more: {extra}", about="tolerance")


def _described(extra: Tolerance) -> str:
    sizes = [
        f"{size:g} {unit}".rstrip()
        for size, unit in ((extra.ulp, "ulp"), (extra.absolute, "absolute"), (extra.relative, "relative"))
        if size
    ]
    return f"{' + '.join(sizes) or 'nothing'} ({extra.reason})"
