"""Two Swin transformer blocks: attention inside windows, then inside windows shifted by half.

The cyclic shift is a roll of both axes, which wraps around inside a load's index; windows are a permutation of six
dimensions; the bias is gathered from a table by relative position; the shifted block masks pairs of pixels that only
the roll made neighbours. Behind them the merging of patches: four strided slices joined. All of it is index arithmetic
with division and remainder.
"""

import torch
import torch.nn.functional as F
from torch import nn

from harness.cases import ModelCase, case

# Width, heads, pixels of a window's side, tokens of a side.
SIZES = {"tiny": (16, 2, 4, 8), "full": (96, 3, 7, 56)}


@case(dtype=["fp32", "bf16", "fp16"], size=["tiny", "full"])
def swin(dtype, size):
    width, heads, window, side = SIZES[size]
    model = nn.Sequential(
        Block(width, heads, window, side, 0), Block(width, heads, window, side, window // 2), Merging(width)
    )
    return ModelCase(model, inputs=(torch.randn(1, side, side, width),), dtype=dtype)


class Block(nn.Module):
    def __init__(self, width, heads, window, side, shift):
        super().__init__()
        self.heads, self.window, self.shift = heads, window, shift
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.packed, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.table = nn.Parameter(torch.randn((2 * window - 1) ** 2, heads) * 0.5)
        self.register_buffer("places", _relative_places(window))
        self.register_buffer("apart", _apart(window, side, shift))

    def forward(self, x):
        x = x + self._attention(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x))))

    def _attention(self, x):
        batch, side, _, width = x.shape
        x = torch.roll(x, (-self.shift, -self.shift), (1, 2)) if self.shift else x
        windows = to_windows(x, self.window)
        packed = self.packed(windows).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        query, key, value = packed.unbind()
        bias = self.table[self.places].permute(2, 0, 1)
        scores = query @ key.mT * query.shape[-1] ** -0.5 + bias
        scores = scores.unflatten(0, (batch, -1)).masked_fill(self.apart[:, None], -100.0).flatten(0, 1)
        found = self.out((scores.softmax(-1) @ value).transpose(1, 2).flatten(2))
        count = side // self.window
        found = found.view(batch, count, count, self.window, self.window, width)
        found = found.permute(0, 1, 3, 2, 4, 5).reshape(batch, side, side, width)
        return torch.roll(found, (self.shift, self.shift), (1, 2)) if self.shift else found


class Merging(nn.Module):
    """Four neighbours become one token of twice the width."""

    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(4 * width)
        self.reduce = nn.Linear(4 * width, 2 * width, bias=False)

    def forward(self, x):
        parts = [x[:, row::2, column::2] for column in (0, 1) for row in (0, 1)]
        return self.reduce(self.norm(torch.cat(parts, -1)))


def to_windows(x, window):
    """(batch, side, side, width) -> (batch * windows, window * window, width)."""
    batch, side, _, width = x.shape
    count = side // window
    x = x.view(batch, count, window, count, window, width)
    return x.permute(0, 1, 3, 2, 4, 5).reshape(-1, window * window, width)


def _relative_places(window):
    """Row of the bias table for each pair of pixels of a window."""
    y, x = torch.meshgrid(torch.arange(window), torch.arange(window), indexing="ij")
    place = torch.stack((y.flatten(), x.flatten()))
    apart = place[:, :, None] - place[:, None, :] + window - 1
    return apart[0] * (2 * window - 1) + apart[1]


def _apart(window, side, shift):
    """By window, the pairs of pixels that are neighbours only because the image was rolled."""
    axis = torch.zeros(side, dtype=torch.long)
    if shift:
        axis[-window:-shift], axis[-shift:] = 1, 2
    regions = to_windows((axis[:, None] * 3 + axis)[None, :, :, None], window)[..., 0]
    return regions[:, :, None] != regions[:, None, :]
