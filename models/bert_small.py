"""BERT-small: an encoder of hidden width 768 on padded sequences, and the pooled answer of the first token.

Three embeddings looked up and added in one kernel with a layer normalisation behind it, a padding mask that is data and
reaches the softmax as a large negative bias, exact GELU (erf), normalisation after each residual, tanh on one row of
each sequence.
"""

import torch
import torch.nn.functional as F
from torch import nn

from harness.cases import ModelCase, case

# Layers, width, heads, hidden width, vocabulary, length.
SIZES = {"tiny": (1, 32, 2, 64, 61, 12), "full": (4, 768, 12, 3072, 30522, 128)}


@case(dtype=["fp32", "bf16", "fp16"], size=["tiny", "full"])
def bert_small(dtype, size):
    *shape, length = SIZES[size]
    tokens = torch.randint(shape[4], (2, length))
    segments = (torch.arange(length) >= length // 2).long().expand(2, length).contiguous()
    kept = (torch.arange(length) < torch.tensor([[length], [length * 2 // 3]])).long()
    return ModelCase(Bert(*shape, length), inputs=(tokens, segments, kept), dtype=dtype)


class Layer(nn.Module):
    def __init__(self, width, heads, hidden):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.out = nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, hidden), nn.Linear(hidden, width)
        self.norm1, self.norm2 = nn.LayerNorm(width, eps=1e-12), nn.LayerNorm(width, eps=1e-12)

    def forward(self, x, bias):
        query, key, value = (self._heads(one(x)) for one in (self.query, self.key, self.value))
        scores = query @ key.mT / query.shape[-1] ** 0.5 + bias
        found = (scores.softmax(-1) @ value).transpose(1, 2).flatten(2)
        x = self.norm1(x + self.out(found))
        return self.norm2(x + self.down(F.gelu(self.up(x))))

    def _heads(self, x):
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)


class Bert(nn.Module):
    def __init__(self, layers, width, heads, hidden, vocabulary, length):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.segments = nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width, eps=1e-12)
        self.layers = nn.ModuleList(Layer(width, heads, hidden) for _ in range(layers))
        self.pooler = nn.Linear(width, width)

    def forward(self, tokens, segments, kept):
        places = torch.arange(tokens.shape[1])
        x = self.norm(self.tokens(tokens) + self.positions(places) + self.segments(segments))
        bias = (1.0 - kept[:, None, None, :].to(x.dtype)) * -10000.0
        for layer in self.layers:
            x = layer(x, bias)
        return x, torch.tanh(self.pooler(x[:, 0]))
