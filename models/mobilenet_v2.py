"""MobileNetV2: inverted residuals.

A 1x1 convolution that widens, a depthwise 3x3, and a 1x1 that narrows with no activation behind it. The depthwise one
has a group for every channel, which is a grid axis of the convolution's template. ReLU6 clamps on both sides; the
shortcut is there only where the shape stays.
"""

import torch
from torch import nn

from harness.cases import ModelCase, case

# Rows of (expansion, channels, blocks, stride), channels of the stem and of the last layer, classes, pixels of a side.
TINY = ((1, 8, 1, 1), (6, 12, 2, 2))
FULL = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)
SIZES = {"tiny": (TINY, 8, 24, 10, 16), "full": (FULL, 32, 1280, 1000, 224)}


@case(dtype=["fp32"], size=["tiny", "full"])
def mobilenet_v2(dtype, size):
    *shape, side = SIZES[size]
    model = MobileNetV2(*shape)
    _give_statistics(model)
    return ModelCase(model.eval(), inputs=(torch.randn(1, 3, side, side),), dtype=dtype)


def _convolution(before, after, size, stride=1, groups=1):
    """With its normalisation and ReLU6."""
    return nn.Sequential(
        nn.Conv2d(before, after, size, stride, padding=size // 2, groups=groups, bias=False),
        nn.BatchNorm2d(after),
        nn.ReLU6(),
    )


class InvertedResidual(nn.Module):
    def __init__(self, before, after, expansion, stride):
        super().__init__()
        hidden = before * expansion
        self.keeps_shape = stride == 1 and before == after
        widen = [_convolution(before, hidden, 1)] if expansion != 1 else []
        narrow = [nn.Conv2d(hidden, after, 1, bias=False), nn.BatchNorm2d(after)]
        self.layers = nn.Sequential(*widen, _convolution(hidden, hidden, 3, stride, groups=hidden), *narrow)

    def forward(self, x):
        return x + self.layers(x) if self.keeps_shape else self.layers(x)


class MobileNetV2(nn.Module):
    def __init__(self, rows, stem, last, classes):
        super().__init__()
        layers, before = [_convolution(3, stem, 3, 2)], stem
        for expansion, channels, blocks, stride in rows:
            for number in range(blocks):
                layers.append(InvertedResidual(before, channels, expansion, 1 if number else stride))
                before = channels
        self.layers = nn.Sequential(*layers, _convolution(before, last, 1))
        self.head = nn.Linear(last, classes)

    def forward(self, image):
        return self.head(self.layers(image).mean((2, 3)))


def _give_statistics(model):
    """Statistics as after training; as built, normalisation would change almost nothing."""
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.2)
            module.running_var.uniform_(0.5, 1.5)
