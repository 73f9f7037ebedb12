"""A training step of a small convolutional network: its loss, every gradient, and the running statistics.

Convolution backward as Triton kernels, for the input and for the weight, with stride 1 and 2; batch normalisation in
training, whose statistics are results of the forward pass, buffers changed in place, and inputs of the backward pass;
max pooling's backward, which sends a gradient to the place that an index names; the cross entropy picks by label.
"""

import torch
import torch.nn.functional as F
from torch import nn

from harness.cases import ModelCase, case

# Channels, classes, batch, pixels of a side.
SIZES = {"tiny": ((4, 8), 5, 2, 12), "full": ((32, 64), 10, 16, 32)}


@case(dtype=["fp32"], size=["tiny", "full"])
def convnet_training(dtype, size):
    channels, classes, batch, side = SIZES[size]
    images, labels = torch.randn(batch, 3, side, side), torch.randint(classes, (batch,))
    return ModelCase(Classifier(channels, classes), inputs=(images, labels), dtype=dtype, train=True, loss=_itself)


class Classifier(nn.Module):
    """Gives the loss."""

    def __init__(self, channels, classes):
        super().__init__()
        first, second = channels
        self.layers = nn.Sequential(
            nn.Conv2d(3, first, 3, padding=1),
            nn.BatchNorm2d(first),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(first, second, 3, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(second),
            nn.ReLU(),
        )
        self.head = nn.Linear(second, classes)

    def forward(self, images, labels):
        return F.cross_entropy(self.head(self.layers(images).mean((2, 3))), labels)


def _itself(loss):
    """The module has computed it."""
    return loss
