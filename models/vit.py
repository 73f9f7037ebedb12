"""A vision transformer, classifying an image by a token of its own.

Patches by a convolution whose stride is its size, flattened and transposed behind it; the class token joined in front,
so that every later row is off any power of two (197 tokens); layer normalisation before attention and perceptron.
"""

import torch
import torch.nn.functional as F
from torch import nn

from harness.cases import ModelCase, case

# Layers, width, heads, classes, pixels of a patch's side, pixels of a side.
SIZES = {"tiny": (1, 32, 2, 10, 8, 24), "full": (12, 192, 3, 1000, 16, 224)}


@case(dtype=["fp32", "bf16", "fp16"], size=["tiny", "full"])
def vit(dtype, size):
    side = SIZES[size][-1]
    return ModelCase(VisionTransformer(*SIZES[size]), inputs=(torch.randn(1, 3, side, side),), dtype=dtype)


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.packed, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.perceptron = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        packed = self.packed(self.norm1(x)).unflatten(-1, (3, self.heads, -1))
        query, key, value = packed.permute(2, 0, 3, 1, 4).unbind()
        found = F.scaled_dot_product_attention(query, key, value)
        x = x + self.out(found.transpose(1, 2).flatten(2))
        return x + self.perceptron(self.norm2(x))


class VisionTransformer(nn.Module):
    def __init__(self, layers, width, heads, classes, patch, side):
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.token = nn.Parameter(torch.randn(1, 1, width) * 0.02)
        self.places = nn.Parameter(torch.randn(1, (side // patch) ** 2 + 1, width) * 0.02)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, classes)

    def forward(self, image):
        patches = self.patches(image).flatten(2).transpose(1, 2)
        x = torch.cat((self.token.expand(image.shape[0], -1, -1), patches), 1) + self.places
        return self.head(self.norm(self.blocks(x))[:, 0])
