"""A reference's result in the buffer's own dtype: rounded once, to nearest, ties to even.

torch rounds float64 to bf16, fp16 and fp8 by way of float32, which rounds twice and is wrong for
results near a tie. Here float32 is rounded to odd first (Boldo and Melquiond, "When double rounding is
odd", 2005), after which the second rounding is the only one.

fp8 saturates, infinities included, as Triton's `fp_to_fp` does on hardware that has the conversion
(PTX `cvt.rn.satfinite`); NaN stays NaN. A reference that wants something else returns fp8 itself.
Integers wrap, as the kernel's do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from harness.cases.dtypes import DType, dtype_of
from harness.goldens.bits import bits_of, poison_is_unmistakable

if TYPE_CHECKING:
    import torch


def rounded(golden: torch.Tensor, dtype: DType) -> np.ndarray:
    """`golden` (any layout) as a contiguous array of `dtype`.

    Elements that still hold a poison-filled buffer's poison, in whatever width, hold it again.
    """
    source = to_numpy(golden)
    if source.dtype == dtype.numpy:
        return source
    if not dtype.is_float:
        return source.astype(dtype.numpy)
    if source.dtype.kind in "biu":
        # To float32 and float64 NumPy rounds once; narrower formats take the way of float64.
        return source.astype(dtype.numpy) if dtype.itemsize >= 4 else _narrowed(_float64_rounded_to_odd(source), dtype)
    result = _narrowed(source, dtype)
    _restore_poison(result, source, dtype)
    return result


def to_numpy(tensor: torch.Tensor) -> np.ndarray:
    """A CPU tensor's elements in row-major order, bit for bit (bf16 and fp8 as ml_dtypes); shared if contiguous."""
    import torch

    dense = tensor.detach().contiguous()
    # Not reshape(-1): an axis of extent 0 or 1 may keep a stride that view() refuses.
    raw = dense.as_strided((dense.numel(),), (1,)).view(torch.uint8).numpy()
    return raw.view(dtype_of(tensor.dtype).numpy).reshape(tuple(tensor.shape))


def _narrowed(values: np.ndarray, dtype: DType) -> np.ndarray:
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        if dtype.itemsize == 1:
            values = _saturated(values, dtype)
        if values.dtype == np.float64 and dtype.itemsize < 4:
            values = _float32_rounded_to_odd(values)
        return values.astype(dtype.numpy)


def _saturated(values: np.ndarray, dtype: DType) -> np.ndarray:
    import torch

    largest = torch.finfo(dtype.torch).max
    wide = values.astype(np.float64)
    return np.clip(wide, -largest, largest)


def _float64_rounded_to_odd(integers: np.ndarray) -> np.ndarray:
    """Exact but for 64-bit integers past float64's 53 bits: of those the low 12 bits become one, which says whether
    any was set."""
    if integers.dtype.itemsize < 8:
        return integers.astype(np.float64)
    low = integers.dtype.type(0xFFF)
    sticky = np.where(integers & low, integers.dtype.type(0x800), integers.dtype.type(0))
    large = integers >= 1 << 53
    if integers.dtype.kind == "i":
        large |= integers <= -(1 << 53)
    return np.where(large, (integers & ~low) | sticky, integers).astype(np.float64)


def _float32_rounded_to_odd(values: np.ndarray) -> np.ndarray:
    nearest = values.astype(np.float32)
    back = nearest.astype(np.float64)
    inexact = (back != values) & ~np.isnan(values)
    away = inexact & (np.abs(back) > np.abs(values))
    bits = nearest.view(np.uint32)
    bits -= away  # towards zero: one step less in magnitude, whatever the sign
    bits |= inexact
    return nearest


def _restore_poison(result: np.ndarray, source: np.ndarray, dtype: DType) -> None:
    """A NaN loses its payload on the way to a narrower format; poison is known by its payload."""
    if not poison_is_unmistakable(dtype):
        return
    poison = np.full((), dtype.poison, dtype=f"u{dtype.itemsize}")
    widened = poison.view(dtype.numpy).astype(source.dtype)
    bits_of(result)[bits_of(source) == bits_of(widened)] = poison
