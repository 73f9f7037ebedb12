"""The bytes that fill guard zones and holes: poison that differs from byte to byte and buffer to buffer.

A constant would not do: a kernel that copies one element too many reads a hole and writes a hole, and
the same poison on both sides would hide it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.cases.dtypes import DType

if TYPE_CHECKING:
    import torch

# Bits that are set in every element, lowest byte first: they make it a NaN; the rest is random.
_NAN_BITS = {
    "float64": (0, 0, 0, 0, 0, 0, 0xF8, 0x7F),
    "float32": (0, 0, 0xC0, 0x7F),
    "float16": (0, 0x7E),
    "bfloat16": (0xC0, 0x7F),
    "float8_e4m3fn": (0x7F,),
    "float8_e5m2": (0x7E,),
}


def guard_bytes(count: int, dtype: DType, generator: torch.Generator) -> torch.Tensor:
    """`count` bytes (uint8, on the CPU), a whole number of elements of `dtype` from the start on.

    Read as `dtype` every float is a NaN with a random sign and payload; an integer is any number.
    """
    import torch

    if dtype.torch_name.endswith("fnuz"):  # one NaN only
        return torch.full((count,), dtype.poison, dtype=torch.uint8)
    whole = -(-count // dtype.itemsize) * dtype.itemsize
    # int64 words: eight times fewer draws than bytes. Bounds leave out only the two extremes.
    words = torch.randint(-(2**63), 2**63 - 1, (-(-whole // 8),), generator=generator, dtype=torch.int64)
    raw = words.view(torch.uint8)[:whole]
    if dtype.is_float:
        raw.view(-1, dtype.itemsize).bitwise_or_(torch.tensor(_NAN_BITS[dtype.torch_name], dtype=torch.uint8))
    return raw[:count]
