"""The elementwise ops of the `tt` dialect and the combiners of reductions and scans."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.semantics.arith import maximum, maximum_number, minimum, minimum_number
from harness.semantics.conversions import convert_float
from harness.semantics.registry import ElementwiseFunction, elementwise, floats
from harness.semantics.types import NARROW_FLOATS, Array, Signature

_ROUNDINGS = {None: "rtne", "rtne": "rtne", "rtz": "rtz", 0: "rtz", 1: "rtne"}


@elementwise("tt.fp_to_fp")
def _float_to_float(signature: Signature) -> ElementwiseFunction:
    rounding = _ROUNDINGS[signature.attributes.get("rounding")]
    return lambda values: convert_float(values, signature.result, rounding)


@elementwise("tt.clampf")
def _clamp(signature: Signature) -> ElementwiseFunction:
    propagate = signature.attributes.get("propagateNan") in ("all", 0xFFFF)

    def clamp(values: Array, low: Array, high: Array) -> Array:
        if propagate:
            return minimum(maximum(values, low), high)
        return minimum_number(maximum_number(values, low), high)

    return floats(signature, clamp)


@dataclass(frozen=True)
class Combiner:
    """A combiner NumPy can fold by itself: `pair.reduce` or `pair.accumulate` along an axis, or pairwise.

    `greatest` says of extremes of floats that they are the greatest (True) or the least (False).
    """

    name: str
    pair: Any
    unsigned: bool = False
    greatest: bool | None = None


COMBINERS: dict[str, Combiner] = {
    combiner.name: combiner
    for combiner in (
        Combiner("arith.addf", np.add),
        Combiner("arith.mulf", np.multiply),
        Combiner("arith.maximumf", np.maximum, greatest=True),
        Combiner("arith.minimumf", np.minimum, greatest=False),
        Combiner("arith.maxnumf", np.fmax, greatest=True),
        Combiner("arith.minnumf", np.fmin, greatest=False),
        Combiner("arith.addi", np.add),
        Combiner("arith.muli", np.multiply),
        Combiner("arith.maxsi", np.maximum),
        Combiner("arith.minsi", np.minimum),
        Combiner("arith.maxui", np.maximum, unsigned=True),
        Combiner("arith.minui", np.minimum, unsigned=True),
        Combiner("arith.andi", np.bitwise_and),
        Combiner("arith.ori", np.bitwise_or),
        Combiner("arith.xori", np.bitwise_xor),
    )
}

_ON_BOOL = {"arith.addi": np.logical_xor, "arith.muli": np.logical_and}


def combiner_for(name: str, element: str) -> Combiner | None:
    """The combiner of a reduction or scan whose region is the single op `name` on two block arguments."""
    combiner = COMBINERS.get(name)
    if combiner is None:
        return None
    if element == "i1" and name in _ON_BOOL:
        return Combiner(name, _ON_BOOL[name])
    if element == "i1" and name in ("arith.maxsi", "arith.minsi"):
        # A set bit is -1: the greater of two signed i1 values is the one that is not set.
        return Combiner(name, np.logical_and if name == "arith.maxsi" else np.logical_or)
    if element in NARROW_FLOATS and element not in ("f16",):
        return None
    return combiner
