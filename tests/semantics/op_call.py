"""One elementwise op on arrays, and strategies for its operands; shared by the tests of this folder."""

from __future__ import annotations

from typing import Any

import numpy as np
from examples import examples
from hypothesis import strategies as st

from harness.semantics import elementwise_function, numpy_dtype
from harness.semantics.types import Array, Signature

WIDTHS = (8, 16, 32, 64)
# The same examples on every run, however busy the machine.
EXAMPLES = examples(25)


def call(name: str, operands: str | tuple[str, ...], result: str, *arrays: Array, **attributes: Any) -> Array:
    """The op `name` on arrays; `operands` is one element type for all, or one for each."""
    kinds = (operands,) * len(arrays) if isinstance(operands, str) else operands
    function = elementwise_function(Signature(name, kinds, (result,), attributes))
    with np.errstate(all="ignore"):
        computed = function(*arrays)
    assert computed.dtype == numpy_dtype(result), f"{name} gave {computed.dtype}, not {result}"
    return computed


def integers(bits: int) -> st.SearchStrategy[int]:
    """Signed integers of a width, its edges often."""
    least, most = -(1 << bits - 1), (1 << bits - 1) - 1
    edges = st.sampled_from([least, least + 1, -2, -1, 0, 1, 2, bits - 1, bits, most - 1, most])
    return st.integers(least, most) | edges


def wrapped(value: int, bits: int) -> int:
    """A Python integer as a two's complement number of `bits` bits."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def raw(value: int, bits: int) -> int:
    """The same bits read as unsigned."""
    return value & ((1 << bits) - 1)


def same_bits(left: Array, right: Array) -> bool:
    """Equal to the last bit, any NaN equal to any other."""
    if left.dtype != right.dtype or left.shape != right.shape:
        return False
    with np.errstate(all="ignore"):
        nan = np.isnan(left) & np.isnan(right)
    kind = np.dtype(f"u{left.dtype.itemsize}")
    return bool((nan | (left.view(kind) == right.view(kind))).all())
