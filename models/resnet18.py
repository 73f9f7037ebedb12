"""ResNet-18, classifying an image.

Convolution templates of every shape the network has: the 7x7 stem with stride 2, 3x3 with stride 1 and 2, and the 1x1
shortcut with stride 2, which reads every second pixel. Batch normalisation folds into pointwise kernels with the
addition of the shortcut; max pooling pads with minus infinity; the global mean reduces over a strided view. A padded
border that is read, or a shortcut added before its block is done, shows at the block it happens in.
"""

import torch
import torch.nn.functional as F
from torch import nn

from harness.cases import ModelCase, case

# Channels of each stage, blocks in a stage, classes, pixels of a side.
SIZES = {"tiny": ((8, 16), 1, 10, 24), "full": ((64, 128, 256, 512), 2, 1000, 224)}


@case(dtype=["fp32", "bf16", "fp16"], size=["tiny", "full"])
def resnet18(dtype, size):
    channels, blocks, classes, side = SIZES[size]
    model = ResNet(channels, blocks, classes)
    _give_statistics(model)
    return ModelCase(model.eval(), inputs=(torch.randn(1, 3, side, side),), dtype=dtype)


class Block(nn.Module):
    """Two 3x3 convolutions beside a shortcut, which is a 1x1 convolution where the shape changes."""

    def __init__(self, before, channels, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(before, channels, 3, stride, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(channels)
        self.shortcut = nn.Identity()
        if stride != 1 or before != channels:
            projection = nn.Conv2d(before, channels, 1, stride, bias=False)
            self.shortcut = nn.Sequential(projection, nn.BatchNorm2d(channels))

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.norm2(self.conv2(y)) + self.shortcut(x))


class ResNet(nn.Module):
    def __init__(self, channels, blocks, classes):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, channels[0], 7, 2, padding=3, bias=False),
            nn.BatchNorm2d(channels[0]),
            nn.ReLU(),
            nn.MaxPool2d(3, 2, padding=1),
        )
        layers, before = [], channels[0]
        for stage, width in enumerate(channels):
            for number in range(blocks):
                layers.append(Block(before, width, 2 if stage and not number else 1))
                before = width
        self.blocks = nn.Sequential(*layers)
        self.head = nn.Linear(before, classes)

    def forward(self, image):
        return self.head(self.blocks(self.stem(image)).mean((2, 3)))


def _give_statistics(model):
    """Statistics as after training; as built, normalisation would change almost nothing."""
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.2)
            module.running_var.uniform_(0.5, 1.5)
