"""The element types of a case, by the names Triton gives them (with fp32 for float32 and so on)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.errors import CaseError

if TYPE_CHECKING:
    import numpy as np
    import torch


@dataclass(frozen=True)
class DType:
    """`torch_name` is the attribute of `torch` that stores it; `poison` the bits of an element nobody
    wrote: a NaN in every float format, an unlikely number in every integer format."""

    name: str
    torch_name: str
    itemsize: int
    is_float: bool
    poison: int

    @property
    def torch(self) -> torch.dtype:
        import torch

        return getattr(torch, self.torch_name)

    @property
    def numpy(self) -> np.dtype:
        """NumPy's own dtype, or that of ml_dtypes for bf16 and fp8: the same bits as `torch`."""
        import ml_dtypes
        import numpy as np

        return np.dtype(getattr(ml_dtypes, self.torch_name, self.torch_name))

    def __str__(self) -> str:
        return self.name


def _float(name: str, torch_name: str, itemsize: int, poison: int) -> DType:
    return DType(name, torch_name, itemsize, True, poison)


def _integer(name: str, torch_name: str, itemsize: int) -> DType:
    return DType(name, torch_name, itemsize, False, int.from_bytes(b"\xa5" * itemsize, "little"))


DTYPES: dict[str, DType] = {
    dtype.name: dtype
    for dtype in (
        # Quiet NaNs with a payload of their own: processors make payload 0, vector libraries all ones.
        _float("fp64", "float64", 8, 0xFFFDA5A5A5A5A5A5),
        _float("fp32", "float32", 4, 0xFFF5A5A5),
        _float("fp16", "float16", 2, 0xFEA5),
        _float("bf16", "bfloat16", 2, 0xFFE5),
        # Too few NaNs to have one to oneself.
        _float("fp8e4nv", "float8_e4m3fn", 1, 0xFF),
        _float("fp8e5", "float8_e5m2", 1, 0xFF),
        _float("fp8e4b8", "float8_e4m3fnuz", 1, 0x80),
        _float("fp8e5b16", "float8_e5m2fnuz", 1, 0x80),
        _integer("int1", "bool", 1),
        _integer("int8", "int8", 1),
        _integer("int16", "int16", 2),
        _integer("int32", "int32", 4),
        _integer("int64", "int64", 8),
        _integer("uint8", "uint8", 1),
        _integer("uint16", "uint16", 2),
        _integer("uint32", "uint32", 4),
        _integer("uint64", "uint64", 8),
    )
}


def dtype_named(name: str) -> DType:
    """The dtype called `name`. Raises CaseError, listing the known names."""
    if name in DTYPES:
        return DTYPES[name]
    raise CaseError(f"dtype {name!r} is not supported", hint=f"one of: {', '.join(DTYPES)}")


def as_dtype(given: Any) -> DType:
    """The dtype itself, or the one of that name. Raises CaseError for anything else, such as torch's own dtypes."""
    if isinstance(given, DType):
        return given
    if isinstance(given, str):
        return dtype_named(given)
    stored = str(given).removeprefix("torch.")
    named = next((one.name for one in DTYPES.values() if one.torch_name == stored), "fp32")
    raise CaseError(f"dtype {given!r} is no dtype's name", hint=f"write {named!r}")


def dtype_of(torch_dtype: torch.dtype) -> DType:
    """The dtype that stores `torch_dtype`. Raises CaseError for one outside the table."""
    wanted = str(torch_dtype).removeprefix("torch.")
    for dtype in DTYPES.values():
        if dtype.torch_name == wanted:
            return dtype
    raise CaseError(f"torch dtype {torch_dtype} is not supported")
