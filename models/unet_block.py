"""A block of a diffusion model's UNet on its way up: a skip joined, residual convolutions told the time, attention to
the image and to a text, and the step to twice the size.

Group normalisation reduces over channels and pixels at once, in two steps where the group is large; the time's angles
become a bias for each channel; attention sees pixels as a sequence, through transposed views of an image; nearest
upsampling reads each pixel four times under the convolution behind it.
"""

import torch
import torch.nn.functional as F
from torch import nn

from harness.cases import ModelCase, case

# Channels, channels of the skip, groups, heads, width of the text, its length, pixels of a side.
SIZES = {"tiny": (16, 8, 4, 2, 24, 5, 8), "full": (640, 320, 32, 8, 768, 77, 32)}


@case(dtype=["fp32"], size=["tiny", "full"])
def unet_block(dtype, size):
    *shape, length, side = SIZES[size]
    channels, skip, *_, text = shape
    inputs = (
        torch.randn(1, channels, side, side),
        torch.randn(1, skip, side, side),
        torch.tensor([481.0]),
        torch.randn(1, length, text),
    )
    return ModelCase(UpBlock(*shape), inputs=inputs, dtype=dtype)


class Residual(nn.Module):
    def __init__(self, before, channels, groups, time):
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(groups, before), nn.GroupNorm(groups, channels)
        self.conv1 = nn.Conv2d(before, channels, 3, padding=1)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)
        self.time = nn.Linear(time, channels)
        self.shortcut = nn.Conv2d(before, channels, 1)

    def forward(self, x, time):
        y = self.conv1(F.silu(self.norm1(x))) + self.time(F.silu(time))[:, :, None, None]
        return self.shortcut(x) + self.conv2(F.silu(self.norm2(y)))


class Attention(nn.Module):
    """Queries from x; keys and values from `other`, which may be as wide as it likes."""

    def __init__(self, width, heads, other):
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.query = nn.Linear(width, width, bias=False)
        self.key, self.value = nn.Linear(other, width, bias=False), nn.Linear(other, width, bias=False)
        self.out = nn.Linear(width, width)

    def forward(self, x, other=None):
        y = self.norm(x)
        other = y if other is None else other
        query, key, value = self.query(y), self.key(other), self.value(other)
        query, key, value = (one.unflatten(-1, (self.heads, -1)).transpose(1, 2) for one in (query, key, value))
        return x + self.out(F.scaled_dot_product_attention(query, key, value).transpose(1, 2).flatten(2))


class GatedPerceptron(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 8 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        hidden, gate = self.up(self.norm(x)).chunk(2, -1)
        return x + self.down(hidden * F.gelu(gate))


class UpBlock(nn.Module):
    def __init__(self, channels, skip, groups, heads, text):
        super().__init__()
        self.channels = channels
        self.embed = nn.Sequential(nn.Linear(channels, 4 * channels), nn.SiLU(), nn.Linear(4 * channels, 4 * channels))
        self.residual = Residual(channels + skip, channels, groups, 4 * channels)
        self.norm = nn.GroupNorm(groups, channels, eps=1e-6)
        self.inside, self.outside = nn.Conv2d(channels, channels, 1), nn.Conv2d(channels, channels, 1)
        self.own, self.cross = Attention(channels, heads, channels), Attention(channels, heads, text)
        self.perceptron = GatedPerceptron(channels)
        self.up = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x, skip, time, text):
        x = self.residual(torch.cat((x, skip), 1), self.embed(_angles(time, self.channels)))
        pixels = self.inside(self.norm(x)).flatten(2).transpose(1, 2)
        pixels = self.perceptron(self.cross(self.own(pixels), text))
        x = x + self.outside(pixels.transpose(1, 2).unflatten(2, x.shape[2:]))
        return self.up(F.interpolate(x, scale_factor=2.0, mode="nearest"))


def _angles(time, width):
    """Cosines, then sines, of the time at geometric frequencies."""
    frequencies = torch.exp(-9.2103404 * torch.arange(width // 2, dtype=torch.float32) / (width // 2))
    angles = time[:, None].float() * frequencies
    return torch.cat((angles.cos(), angles.sin()), -1).to(time.dtype)
