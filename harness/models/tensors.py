"""Tensors of a running model as the harness's buffers: layout, content, poison and a digest."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.cases.buffer import Buffer
from harness.cases.dtypes import dtype_of
from harness.goldens.rounding import to_numpy

if TYPE_CHECKING:
    import torch

_INTEGERS = {1: "uint8", 2: "int16", 4: "int32", 8: "int64"}


def buffer_of(tensor: torch.Tensor) -> Buffer:
    """The tensor's shape, strides and dtype. Raises CaseError for a dtype that the harness has no name for."""
    return Buffer(tuple(tensor.shape), dtype_of(tensor.dtype), strides=tuple(tensor.stride()))


def content_of(tensor: torch.Tensor) -> np.ndarray:
    """Its elements in row-major order, bit for bit; shares memory where they lie so."""
    return to_numpy(tensor)


def fill_with_poison(tensor: torch.Tensor) -> None:
    """As a buffer that nobody has written: see `DType.poison`."""
    import torch

    if not tensor.numel():
        return
    dtype = dtype_of(tensor.dtype)
    width = getattr(torch, _INTEGERS[dtype.itemsize])
    bits = dtype.poison
    signed = bits - (1 << 8 * dtype.itemsize) if width.is_signed and bits >> (8 * dtype.itemsize - 1) else bits
    tensor.view(width).fill_(signed)


def digest(tensor: torch.Tensor) -> int:
    """Changes when an element does."""
    raw: Any = content_of(tensor).reshape(-1).view(np.uint8)
    return zlib.crc32(raw)
