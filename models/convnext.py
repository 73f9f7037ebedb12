"""A stack of ConvNeXt blocks: a depthwise 7x7 convolution, and a multi-layer perceptron on its channels.

Layer normalisation over the channels of an image means a permutation to channels-last and back in every block: views
that the products read and write through. The stem's patches and the step between stages are convolutions whose stride
is their size. A stride taken for that of the other layout gives right values in wrong places.
"""

import torch
import torch.nn.functional as F
from torch import nn

from harness.cases import ModelCase, case

# Channels of each stage, blocks in each, pixels of a side.
SIZES = {"tiny": ((8, 12), (1, 1), 32), "full": ((96, 192, 384, 768), (1, 1, 3, 1), 224)}


@case(dtype=["fp32"], size=["tiny", "full"])
def convnext(dtype, size):
    channels, blocks, side = SIZES[size]
    return ModelCase(ConvNeXt(channels, blocks), inputs=(torch.randn(1, 3, side, side),), dtype=dtype)


class ChannelNorm(nn.LayerNorm):
    """Normalises the channels of (batch, channels, height, width)."""

    def forward(self, x):
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.spread = nn.Conv2d(channels, channels, 7, padding=3, groups=channels)
        self.norm = nn.LayerNorm(channels, eps=1e-6)
        self.up, self.down = nn.Linear(channels, 4 * channels), nn.Linear(4 * channels, channels)
        self.scale = nn.Parameter(torch.rand(channels))

    def forward(self, x):
        y = self.norm(self.spread(x).permute(0, 2, 3, 1))
        y = self.down(F.gelu(self.up(y))) * self.scale
        return x + y.permute(0, 3, 1, 2)


class ConvNeXt(nn.Module):
    def __init__(self, channels, blocks):
        super().__init__()
        layers = [nn.Conv2d(3, channels[0], 4, 4), ChannelNorm(channels[0], eps=1e-6)]
        for stage, (width, count) in enumerate(zip(channels, blocks, strict=True)):
            if stage:
                before = channels[stage - 1]
                layers += [ChannelNorm(before, eps=1e-6), nn.Conv2d(before, width, 2, 2)]
            layers += [Block(width) for _ in range(count)]
        self.layers = nn.Sequential(*layers)
        self.norm = nn.LayerNorm(channels[-1], eps=1e-6)

    def forward(self, image):
        return self.norm(self.layers(image).mean((2, 3)))
