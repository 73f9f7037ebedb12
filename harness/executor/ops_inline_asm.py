"""Inline assembly: only what Triton's own library writes, known by its text.

PTX is not interpreted. The two conversions of fp8e4b15 are what the front end emits for NVIDIA targets
(`triton/language/extra/cuda/utils.py`), the rounding to tf32 is what `tritongpu-F32DotTC` makes of a product in
tf32x3; the texts are the same in releases 3.6 to 3.9. Any other is refused.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import numpy as np
from xdsl.ir import Operation

from harness.errors import UnsupportedOp
from harness.executor.context import Context
from harness.executor.plan import Frame, Planner, Step, op
from harness.executor.types import element, extents, get
from harness.executor.values import dense, spread
from harness.semantics import numpy_dtype
from harness.semantics.conversions import round_half_away_to_tf32
from harness.semantics.types import Array

_LARGEST = 0x3F00  # 1.75, as float16 bits


def _e4b15_to_float16(values: Array) -> Array:
    """Sign, then four bits of exponent of the same bias and three of mantissa: a shift."""
    bits = values.view(np.uint8).astype(np.uint16)
    return ((bits & 0x80) << 8 | (bits & 0x7F) << 7).view(np.float16)


def _float16_to_e4b15(values: Array) -> Array:
    """Clamped to 1.75 (NaN too), rounded half up in magnitude; the upper byte of the shifted bits."""
    bits = np.ascontiguousarray(values).view(np.uint16)
    size = bits & 0x7FFF
    size = np.where(size < _LARGEST, size, np.uint16(_LARGEST))  # magnitudes sort as their bits; NaNs are above
    rounded = size * np.uint16(2) + np.uint16(0x80)
    return ((bits & 0x8000 | rounded) >> 8).astype(np.uint8).view(np.int8)


# By the first half of the SHA-256 of the text without white space.
_KNOWN: dict[str, tuple[str, str, Callable[[Array], Array]]] = {
    "0fc2be3eae2409b5": ("i8", "f16", _e4b15_to_float16),
    "f6b1a035e61f4705": ("f16", "i8", _float16_to_e4b15),
    "a3b5617c1fbfcaf8": ("f32", "f32", round_half_away_to_tf32),
}


def known_assembly(text: str, kinds: tuple[str, ...]) -> Callable[[Array], Array]:
    """What an assembly text computes; `kinds` are the element types of its operands, then of its results.

    Raises UnsupportedOp for any other text.
    """
    text = "".join(text.split())
    known = _KNOWN.get(hashlib.sha256(text.encode()).hexdigest()[:16])
    if known is None or kinds != known[:2]:
        raise UnsupportedOp(f"unsupported op tt.elementwise_inline_asm of {text[:40]!r}")
    return known[2]


@op("tt.elementwise_inline_asm")
def _inline_asm(planner: Planner, operation: Operation) -> Step:
    kinds = tuple(element(value.type) for value in (*operation.operands, *operation.results))
    convert = known_assembly(get(operation, "asm_string"), kinds)
    (source,), (target,) = planner.slots_of(operation.operands), planner.slots_of(operation.results)
    type_ = operation.operands[0].type
    dtype, shape = numpy_dtype(kinds[0]), extents(type_)

    def run(_: Context, frame: Frame) -> None:
        frame[target] = convert(np.ascontiguousarray(spread(dense(frame[source], dtype), shape)))

    return run
