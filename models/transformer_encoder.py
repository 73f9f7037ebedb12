"""torch's own nn.TransformerEncoder: inference, training, training with dropout, and with sizes that change.

Attention as two batched products around a softmax, on views of one packed projection of a sequence-first input (only
batch-first layers have torch's fused op, which no kernel replaces); layer normalisation after each residual. Training
has the backward of all of it: transposed products, the softmax's backward, and sums over rows for the biases. With
dropout the mask is Philox noise, drawn again in the backward pass from the same seed and offset. The dynamic case is
compiled once for any batch and length: sizes and strides are arguments of the kernels.
"""

import torch
from torch import nn

from harness.cases import ModelCase, case

# Width, heads, hidden width, layers, batch, length.
SIZES = {"tiny": (32, 2, 64, 1, 2, 10), "full": (512, 8, 2048, 6, 4, 64)}


@case(dtype=["fp32", "bf16", "fp16"], size=["tiny", "full"])
def transformer_encoder(dtype, size):
    return ModelCase(_encoder(size).eval(), inputs=(_sequence(size),), dtype=dtype)


@case(dtype=["fp32"], size=["tiny", "full"])
def transformer_encoder_training(dtype, size):
    return ModelCase(_encoder(size), inputs=(_sequence(size),), dtype=dtype, train=True)


@case(dtype=["fp32"], size=["tiny", "full"])
def transformer_encoder_dropout(dtype, size):
    return ModelCase(_encoder(size, dropout=0.1), inputs=(_sequence(size),), dtype=dtype, train=True)


@case(dtype=["fp32"], size=["tiny", "full"])
def transformer_encoder_dynamic(dtype, size):
    width, *_, batch, length = SIZES[size]
    longer = torch.randn(2 * length + 3, batch + 1, width)
    shorter = torch.randn(length - 5, batch, width)
    model = _encoder(size).eval()
    return ModelCase(model, inputs=(_sequence(size),), then=[(longer,), (shorter,)], dtype=dtype, dynamic=True)


def _encoder(size, dropout=0.0):
    width, heads, hidden, layers, _, _ = SIZES[size]
    layer = nn.TransformerEncoderLayer(width, heads, hidden, dropout, activation="gelu")
    return nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)


def _sequence(size):
    width, *_, batch, length = SIZES[size]
    return torch.randn(length, batch, width)
