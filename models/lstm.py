"""An LSTM of two layers over a sequence, unrolled; it takes the states it begins with and gives those it ends with.

A chain of small products, each of which needs the one before it: two for every step and layer, with the four gates cut
from their sum. The same kernels run again and again on buffers that take over one another's memory: a state that is
overwritten before its last reader shows at the step it happens in.
"""

import torch
from torch import nn

from harness.cases import ModelCase, case

# Width of the input, of the state, layers, batch, steps.
SIZES = {"tiny": (12, 16, 2, 3, 3), "full": (256, 512, 2, 16, 16)}


@case(dtype=["fp32"], size=["tiny", "full"])
def lstm(dtype, size):
    inputs, width, layers, batch, steps = SIZES[size]
    states = [(torch.randn(batch, width), torch.randn(batch, width)) for _ in range(layers)]
    return ModelCase(Lstm(inputs, width, layers), inputs=(torch.randn(steps, batch, inputs), states), dtype=dtype)


class Lstm(nn.Module):
    """nn.LSTM does not go into one graph, nn.LSTMCell does."""

    def __init__(self, inputs, width, layers):
        super().__init__()
        widths = [inputs, *[width] * (layers - 1)]
        self.cells = nn.ModuleList(nn.LSTMCell(before, width) for before in widths)

    def forward(self, sequence, states):
        states, outputs = list(states), []
        for x in sequence:
            for number, cell in enumerate(self.cells):
                states[number] = cell(x, states[number])
                x = states[number][0]
            outputs.append(x)
        return torch.stack(outputs), states
