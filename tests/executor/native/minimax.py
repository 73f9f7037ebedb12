"""How the coefficients of harness/executor/native/functions.py were made: `python tests/executor/native/minimax.py`.

Each polynomial has the least maximum of weight * |polynomial - function| over an interval, found by Lawson's
reweighted least squares; coefficients are rounded to float32 one by one, from the constant up, and the rest are
fitted again to what the rounding left. Functions are evaluated with 40 digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np

_POINTS = 1200
_ROUNDS = 300


@dataclass(frozen=True)
class Fit:
    """A polynomial of `degree` for `function` where `weight` says how much an error matters.

    `wide` coefficients stay float64.
    """

    name: str
    low: float
    high: float
    degree: int
    function: Callable[[Any], Any]
    weight: Callable[[Any], Any]
    wide: bool = False


def _one(_: Any) -> Any:
    return 1


def _sine(s: Any) -> Any:
    """(sin(r) - r) / r^3 as a function of s = r^2."""
    r = mpmath.sqrt(s)
    return (mpmath.sin(r) - r) / r**3


def _cosine(s: Any) -> Any:
    """(cos(r) - 1) / r^2 as a function of s = r^2."""
    return (mpmath.cos(mpmath.sqrt(s)) - 1) / s


def _error_function(s: Any) -> Any:
    """erf(x) / x - 1 as a function of s = x^2."""
    x = mpmath.sqrt(s)
    return mpmath.erf(x) / x - 1


def _error_tail(t: Any) -> Any:
    return mpmath.log(mpmath.erfc(t)) / t


def _tangent(s: Any) -> Any:
    """(tanh(x) - x) / x^3 as a function of s = x^2."""
    x = mpmath.sqrt(s)
    return (mpmath.tanh(x) - x) / x**3


_LN2 = math.log(2)
_EIGHTH = math.pi / 4

FITS = (
    Fit("EXP", -_LN2 / 2, _LN2 / 2, 4, lambda r: (mpmath.exp(r) - 1 - r) / r**2, lambda r: r**2 / mpmath.exp(r)),
    Fit("EXP2", -0.5, 0.5, 5, lambda r: (2**r - 1) / r, lambda r: r / 2**r),
    Fit(
        "LOG",
        math.sqrt(0.5) - 1,
        math.sqrt(2) - 1,
        7,
        lambda f: (mpmath.log(1 + f) - f + f**2 / 2) / f**3,
        lambda f: f**3 / mpmath.log(1 + f),
    ),
    Fit("ERF", 1e-12, 0.93**2, 6, _error_function, lambda s: mpmath.sqrt(s) / mpmath.erf(mpmath.sqrt(s))),
    Fit("ERF_TAIL", 0.92, 4.0, 8, _error_tail, lambda t: t * mpmath.erfc(t) / mpmath.erf(t)),
    Fit("TANH", 1e-12, 0.63**2, 4, _tangent, lambda s: mpmath.sqrt(s) ** 3 / mpmath.tanh(mpmath.sqrt(s))),
    Fit("SIN", 1e-12, _EIGHTH**2, 3, _sine, lambda s: s * mpmath.sqrt(s) / mpmath.sin(mpmath.sqrt(s)), wide=True),
    Fit("COS", 1e-12, _EIGHTH**2, 3, _cosine, lambda s: s, wide=True),
)


def _nodes(fit: Fit) -> np.ndarray:
    angles = (np.arange(_POINTS) + 0.5) * math.pi / _POINTS
    return (fit.low + fit.high) / 2 + (fit.high - fit.low) / 2 * np.cos(angles)


def _table(function: Callable[[Any], Any], nodes: np.ndarray) -> np.ndarray:
    with mpmath.workdps(40):
        return np.array([float(function(mpmath.mpf(float(node)))) for node in nodes])


def _lawson(basis: np.ndarray, wanted: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The coefficients with the least maximum of weight * |basis @ coefficients - wanted|."""
    share = np.full(wanted.size, 1 / wanted.size)
    best, least = np.zeros(basis.shape[1]), math.inf
    scale = np.abs(basis).max(axis=0)
    for _ in range(_ROUNDS):
        root = np.sqrt(share) * weight
        found = np.linalg.lstsq(basis / scale * root[:, None], wanted * root, rcond=None)[0] / scale
        error = np.abs(weight * (basis @ found - wanted))
        if error.max() < least:
            best, least = found, float(error.max())
        share = share * error
        share /= share.sum()
    return best


def coefficients(fit: Fit) -> tuple[list[float], float]:
    """Coefficients from the constant up, and the greatest weighted error they leave."""
    nodes = _nodes(fit)
    wanted, weight = _table(fit.function, nodes), np.abs(_table(fit.weight, nodes))
    powers = nodes[:, None] ** np.arange(fit.degree + 1)
    chosen: list[float] = []
    rest = wanted.copy()
    for power in range(fit.degree + 1):
        first = _lawson(powers[:, power:], rest, weight)[0]
        rounded = float(first) if fit.wide else float(np.float32(first))
        chosen.append(rounded)
        rest = rest - rounded * powers[:, power]
    return chosen, float(np.abs(weight * rest).max())


def main() -> None:
    for fit in FITS:
        found, error = coefficients(fit)
        print(f"# {fit.name}: greatest error 2^{math.log2(error):.1f}")
        print(f"{fit.name} = ({', '.join(repr(value) for value in found)})")


if __name__ == "__main__":
    main()
