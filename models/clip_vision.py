"""A vision tower of the shape of CLIP's, its images and texts compared as CLIP compares them.

Differs from a plain vision transformer in what is easy to lose: patches without a bias, a normalisation before the
first block, sigmoid-approximated GELU, and the end: rows divided by their norms, a product of images with texts, and
the exponential of a learnt scale. Two images in a batch, so that a row taken from the wrong image shows.
"""

import torch
from torch import nn

from harness.cases import ModelCase, case

# Layers, width, heads, pixels of a patch's side, pixels of a side, width of the common space.
SIZES = {"tiny": (1, 32, 2, 8, 16, 16), "full": (12, 768, 12, 32, 224, 512)}


@case(dtype=["fp32"], size=["tiny", "full"])
def clip_vision(dtype, size):
    *_, side, common = SIZES[size]
    images, texts = torch.randn(2, 3, side, side), torch.randn(3, common)
    return ModelCase(Tower(*SIZES[size]), inputs=(images, texts), dtype=dtype)


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        y = self.norm1(x)
        query, key, value = (self._heads(one(y)) for one in (self.query, self.key, self.value))
        weights = (query * query.shape[-1] ** -0.5 @ key.mT).softmax(-1)
        x = x + self.out((weights @ value).transpose(1, 2).flatten(2))
        hidden = self.up(self.norm2(x))
        return x + self.down(hidden * torch.sigmoid(1.702 * hidden))

    def _heads(self, x):
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)


class Tower(nn.Module):
    def __init__(self, layers, width, heads, patch, side, common):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch, bias=False)
        self.token = nn.Parameter(torch.randn(width) * width**-0.5)
        self.places = nn.Embedding((side // patch) ** 2 + 1, width)
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.project = nn.Linear(width, common, bias=False)
        self.scale = nn.Parameter(torch.tensor(2.6593))

    def forward(self, images, texts):
        patches = self.patches(images).flatten(2).transpose(1, 2)
        token = self.token.expand(images.shape[0], 1, -1)
        x = torch.cat((token, patches), 1) + self.places.weight
        pooled = self.project(self.after(self.blocks(self.before(x))[:, 0]))
        pooled = pooled / pooled.norm(dim=-1, keepdim=True)
        texts = texts / texts.norm(dim=-1, keepdim=True)
        return pooled @ texts.T * self.scale.exp()
