"""A model case for tests of what is made of one."""

from __future__ import annotations

import torch
from torch import nn

from harness.cases import ModelCase, case


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.both, self.out = nn.LayerNorm(16), nn.Linear(16, 32), nn.Linear(16, 16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        left, right = self.both(self.norm(x)).chunk(2, -1)
        return x + self.out(torch.softmax(left @ right.T, -1) @ left)


@case(size=["tiny"])
def encoder(size):
    return ModelCase(Encoder(), inputs=(torch.randn(6, 16),))
