"""Element types: MLIR's names for them, and the NumPy dtypes that hold their values.

Integers are signless in MLIR; values are held as signed NumPy integers and viewed as unsigned by the ops
that say so. i1 is a NumPy bool. Pointers are held as 64-bit addresses.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np

from harness.errors import UnsupportedOp

Array = np.ndarray[Any, np.dtype[Any]]

NUMPY_DTYPES: dict[str, np.dtype[Any]] = {
    "i1": np.dtype(np.bool_),
    "i8": np.dtype(np.int8),
    "i16": np.dtype(np.int16),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
    "index": np.dtype(np.int64),
    "ptr": np.dtype(np.int64),
    "f64": np.dtype(np.float64),
    "f32": np.dtype(np.float32),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f8E5M2": np.dtype(ml_dtypes.float8_e5m2),
    "f8E4M3FN": np.dtype(ml_dtypes.float8_e4m3fn),
    "f8E5M2FNUZ": np.dtype(ml_dtypes.float8_e5m2fnuz),
    "f8E4M3FNUZ": np.dtype(ml_dtypes.float8_e4m3fnuz),
    "f8E4M3B11FNUZ": np.dtype(ml_dtypes.float8_e4m3b11fnuz),
}

UNSIGNED: dict[np.dtype[Any], np.dtype[Any]] = {
    np.dtype(np.int8): np.dtype(np.uint8),
    np.dtype(np.int16): np.dtype(np.uint16),
    np.dtype(np.int32): np.dtype(np.uint32),
    np.dtype(np.int64): np.dtype(np.uint64),
}

INTEGER_BITS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "index": 64}
NARROW_FLOATS = frozenset(name for name in NUMPY_DTYPES if name.startswith(("f8", "f16", "bf16")))
FLOATS = NARROW_FLOATS | {"f32", "f64"}


def numpy_dtype(element: str) -> np.dtype[Any]:
    """The NumPy dtype that holds `element`. Raises UnsupportedOp, naming the type."""
    if element in NUMPY_DTYPES:
        return NUMPY_DTYPES[element]
    raise UnsupportedOp(f"unsupported element type {element}")


def is_float(element: str) -> bool:
    return element in FLOATS


def unsigned(values: Array) -> Array:
    """The same bits read as unsigned integers; bools become uint8."""
    if values.dtype == np.bool_:
        return values.view(np.uint8)
    return values.view(UNSIGNED[values.dtype])


@dataclass(frozen=True)
class Signature:
    """What an op's meaning may depend on: its name, the element types of operands and results, and
    its attributes as Python values."""

    name: str
    operands: tuple[str, ...]
    results: tuple[str, ...]
    attributes: dict[str, Any] = field(default_factory=dict)

    @property
    def result(self) -> str:
        return self.results[0]
