"""Decoder layers of the shape of Llama 2 and Llama 3, inference and training.

RMS normalisation in float32 whatever the dtype; rotary embedding, whose angles are computed by kernels (a power, sine
and cosine) and which joins two halves of each head; a SwiGLU of three products. Llama 3 has one key and value head for
four query heads, which the products read through an expanded view of stride 0, and theta 500000. In training the
gradients of the shared heads are sums over the expanded dimension.
"""

import torch
import torch.nn.functional as F
from torch import nn

from harness.cases import ModelCase, case

# Width, hidden width, heads, heads for keys and values, length.
LLAMA2 = {"tiny": (32, 48, 4, 4, 12), "full": (4096, 11008, 32, 32, 32)}
LLAMA3 = {"tiny": (64, 80, 8, 2, 12), "full": (4096, 14336, 32, 8, 32)}


@case(dtype=["fp32"], size=["tiny", "full"])
def llama2(dtype, size):
    *shape, length = LLAMA2[size]
    return ModelCase(Layer(*shape, theta=10000.0), inputs=(torch.randn(1, length, shape[0]),), dtype=dtype)


@case(dtype=["fp32", "bf16", "fp16"], size=["tiny", "full"])
def llama3(dtype, size):
    *shape, length = LLAMA3[size]
    return ModelCase(Layer(*shape, theta=500000.0), inputs=(torch.randn(1, length, shape[0]),), dtype=dtype)


@case(dtype=["fp32"], size=["tiny"])  # at full size the gradients and weights in float64 take 10 GB
def llama3_training(dtype, size):
    *shape, length = LLAMA3[size]
    hidden = torch.randn(2, length, shape[0], requires_grad=True)
    return ModelCase(Layer(*shape, theta=500000.0), inputs=(hidden,), dtype=dtype, train=True)


class RMSNorm(nn.Module):
    """As Llama has it: in float32, and back before the weight."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(1 + 0.1 * torch.randn(width))

    def forward(self, x):
        wide = x.float()
        return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + 1e-5)).to(x.dtype) * self.weight


class Layer(nn.Module):
    def __init__(self, width, hidden, heads, shared, theta):
        super().__init__()
        self.heads, self.shared, self.theta = heads, shared, theta
        size = width // heads
        self.query = nn.Linear(width, heads * size, bias=False)
        self.key = nn.Linear(width, shared * size, bias=False)
        self.value = nn.Linear(width, shared * size, bias=False)
        self.out = nn.Linear(heads * size, width, bias=False)
        self.gate = nn.Linear(width, hidden, bias=False)
        self.up = nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)
        self.norm1, self.norm2 = RMSNorm(width), RMSNorm(width)

    def forward(self, x):
        x = x + self._attention(self.norm1(x))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))

    def _attention(self, x):
        batch, length, _ = x.shape
        query = self.query(x).view(batch, length, self.heads, -1).transpose(1, 2)
        key = self.key(x).view(batch, length, self.shared, -1).transpose(1, 2)
        value = self.value(x).view(batch, length, self.shared, -1).transpose(1, 2)
        turn = rotation(length, query.shape[-1], self.theta)
        query, key = rotated(query, *turn), rotated(key, *turn)
        key, value = (one.repeat_interleave(self.heads // self.shared, 1) for one in (key, value))
        found = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.out(found.transpose(1, 2).reshape(batch, length, -1))


def rotation(length, size, theta):
    """Cosine and sine of every position's angles, float32 (length, size)."""
    frequencies = theta ** -(torch.arange(0, size, 2, dtype=torch.float32) / size)
    angles = torch.outer(torch.arange(length, dtype=torch.float32), frequencies)
    angles = torch.cat((angles, angles), -1)
    return angles.cos(), angles.sin()


def rotated(x, cosine, sine):
    left, right = x.chunk(2, -1)
    return (x * cosine + torch.cat((-right, left), -1) * sine).to(x.dtype)
