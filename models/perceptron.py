"""A single perceptron that learns: it answers by sign, and changes its weights in place where it was wrong.

The step function has no derivative, so that the update is the model's own arithmetic: an outer product summed over the
batch, added to memory that the caller holds. Two calls: the second must see what the first has written.
"""

import torch

from harness.cases import ModelCase, case

# Features, batch.
SIZES = {"tiny": (10, 8), "full": (784, 256)}


@case(dtype=["fp32", "bf16", "fp16"], size=["tiny", "full"])
def perceptron(dtype, size):
    features, batch = SIZES[size]
    weights, bias = torch.randn(features) / 8, torch.zeros(1)
    calls = [(weights, bias, torch.randn(batch, features), torch.randint(2, (batch,)) * 2.0 - 1.0) for _ in range(2)]
    return ModelCase(learn, inputs=calls[0], then=calls[1:], dtype=dtype)


def learn(weights, bias, examples, answers):
    """Gives what it answered before the update, -1 or 1."""
    said = torch.where(examples @ weights + bias >= 0, 1.0, -1.0).to(answers.dtype)
    wrong = (answers - said) * 0.125
    weights.add_(wrong @ examples)
    bias.add_(wrong.sum())
    return said
