"""A decoder layer of the shape of Mistral's: a sliding window over a rolling cache, a prompt and then single tokens.

The cache holds as many keys as the window is wide, and a token's slot is its position modulo the window: a scatter into
memory that the next call reads, so that a row written too late or to the wrong slot shows in the step after. Which
slots a query may see follows from the positions kept beside them. The steps take a tensor as position: one compilation
for all of them.
"""

import torch
import torch.nn.functional as F
from torch import nn

from harness.cases import ModelCase, case

# Width, hidden width, heads, heads for keys and values, window, length of the prompt, steps.
SIZES = {"tiny": (64, 80, 8, 2, 8, 7, 3), "full": (4096, 14336, 32, 8, 128, 126, 4)}


@case(dtype=["fp32", "bf16", "fp16"], size=["tiny", "full"])
def mistral(dtype, size):
    *shape, prompt, steps = SIZES[size]
    calls = [(torch.randn(1, prompt, shape[0]), torch.arange(prompt))]
    calls += [(torch.randn(1, 1, shape[0]), torch.tensor([prompt + step])) for step in range(steps)]
    return ModelCase(Layer(*shape), inputs=calls[0], then=calls[1:], dtype=dtype)


class Layer(nn.Module):
    """Prompts are at most as long as the window."""

    def __init__(self, width, hidden, heads, shared, window):
        super().__init__()
        self.heads, self.shared, self.window = heads, shared, window
        size = width // heads
        self.query = nn.Linear(width, heads * size, bias=False)
        self.key = nn.Linear(width, shared * size, bias=False)
        self.value = nn.Linear(width, shared * size, bias=False)
        self.out = nn.Linear(heads * size, width, bias=False)
        self.gate = nn.Linear(width, hidden, bias=False)
        self.up = nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)
        self.norm1, self.norm2 = nn.RMSNorm(width, eps=1e-5), nn.RMSNorm(width, eps=1e-5)
        self.register_buffer("keys", torch.zeros(1, shared, window, size))
        self.register_buffer("values", torch.zeros(1, shared, window, size))
        self.register_buffer("kept", torch.full((window,), -1))  # the position in each slot

    def forward(self, x, positions):
        x = x + self._attention(self.norm1(x), positions)
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))

    def _attention(self, x, positions):
        query = self._heads(self.query(x), self.heads)
        key, value = self._heads(self.key(x), self.shared), self._heads(self.value(x), self.shared)
        turn = rotation(positions, query.shape[-1])
        query, key = rotated(query, *turn), rotated(key, *turn)
        slots = positions % self.window
        self.keys.index_copy_(2, slots, key)
        self.values.index_copy_(2, slots, value)
        self.kept.index_copy_(0, slots, positions)
        age = positions[:, None] - self.kept
        seen = (self.kept >= 0) & (age >= 0) & (age < self.window)
        group = self.heads // self.shared
        found = F.scaled_dot_product_attention(
            query, self.keys.repeat_interleave(group, 1), self.values.repeat_interleave(group, 1), attn_mask=seen
        )
        return self.out(found.transpose(1, 2).flatten(2))

    def _heads(self, x, heads):
        return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def rotation(positions, size):
    """Cosine and sine of the angles at the positions, float32 (positions, size)."""
    frequencies = 1000000.0 ** -(torch.arange(0, size, 2, dtype=torch.float32) / size)
    angles = torch.outer(positions.float(), frequencies)
    angles = torch.cat((angles, angles), -1)
    return angles.cos(), angles.sin()


def rotated(x, cosine, sine):
    left, right = x.chunk(2, -1)
    return (x * cosine + torch.cat((-right, left), -1) * sine).to(x.dtype)
