"""A multi-layer perceptron with normalisation, forward and training."""

import torch
from torch import nn

from harness.cases import ModelCase, case

WIDTHS = {"tiny": (32, 64), "full": (784, 4096)}


@case(dtype=["fp32", "bf16", "fp16"], size=["tiny", "full"])
def mlp(dtype, size):
    return ModelCase(_layers(size), inputs=(torch.randn(8, WIDTHS[size][0]),), dtype=dtype)


@case(dtype=["fp32", "bf16"], size=["tiny", "full"])
def mlp_training(dtype, size):
    return ModelCase(_layers(size), inputs=(torch.randn(8, WIDTHS[size][0]),), dtype=dtype, train=True)


def _layers(size):
    inputs, width = WIDTHS[size]
    return nn.Sequential(
        nn.Linear(inputs, width),
        nn.GELU(),
        nn.LayerNorm(width),
        nn.Linear(width, width),
        nn.ReLU(),
        nn.Linear(width, 10),
    )
