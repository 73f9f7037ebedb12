"""The random numbers of Inductor's kernels, as Triton documents them: Philox 4x32-10 of a seed and an offset."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import torch

_ROUNDS = 10
_KEY_A, _KEY_B = np.uint32(0x9E3779B9), np.uint32(0xBB67AE85)
_ROUND_A, _ROUND_B = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)

# The largest float32 by which a 31-bit integer stays below 1.
_SCALE = np.float32(4.6566127342e-10)


def inductor_random(size: list[int], seed: torch.Tensor, mode: str, *, offset: int = 0) -> torch.Tensor:
    """What `prims.inductor_random` means in a Triton kernel: float32 of shape `size`, uniform in [0, 1) for "rand",
    normal for "randn". Raises NotImplementedError for another mode."""
    import torch

    count = int(np.prod(size, dtype=np.int64))
    first, second = _philox(int(seed), np.arange(offset, offset + count, dtype=np.int64))
    if mode == "rand":
        values = _uniform(first)
    elif mode == "randn":
        radius = np.sqrt(-2.0 * np.log(np.maximum(_uniform(first).astype(np.float64), 1e-7)))
        values = radius * np.cos(2.0 * np.pi * _uniform(second).astype(np.float64))
    else:
        raise NotImplementedError(f"random numbers of the mode {mode!r}")
    return torch.from_numpy(values).reshape(tuple(size))


def _philox(seed: int, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """uint32: the first two of the four numbers for each offset."""
    c0 = offsets.astype(np.uint32)
    c1, c2, c3 = (np.zeros_like(c0) for _ in range(3))
    k0, k1 = np.uint32(seed & 0xFFFFFFFF), np.uint32(seed >> 32 & 0xFFFFFFFF)
    with np.errstate(over="ignore"):
        for _ in range(_ROUNDS):
            product_b, product_a = c2.astype(np.uint64) * _ROUND_B, c0.astype(np.uint64) * _ROUND_A
            c0, c2 = _high(product_b) ^ c1 ^ k0, _high(product_a) ^ c3 ^ k1
            c1, c3 = (product_b & _LOW).astype(np.uint32), (product_a & _LOW).astype(np.uint32)
            k0, k1 = k0 + _KEY_A, k1 + _KEY_B
    return c0, c1


def _high(product: np.ndarray) -> np.ndarray:
    return (product >> _HALF).astype(np.uint32)


def _uniform(numbers: np.ndarray) -> np.ndarray:
    signed = numbers.view(np.int32)
    return np.where(signed < 0, -signed - 1, signed).astype(np.float32) * _SCALE
