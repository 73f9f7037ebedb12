"""A mixture of experts of the shape of DeepSeek-V3: sigmoid routing within the best groups, and shared experts.

The router takes the largest of each row by a sorting network, three times over; a token's place in its expert is a
running sum down a one-hot matrix; tokens are scattered to their experts by index, the experts are one batched product,
and their answers are added up in float32 where they came from, by atomic additions. A row that goes to the wrong place
keeps every value in range: only the comparison of each buffer sees it.
"""

import torch
import torch.nn.functional as F
from torch import nn

from harness.cases import ModelCase, case

# Width, hidden width, experts, groups, groups taken, experts taken, shared experts, tokens.
SIZES = {"tiny": (32, 16, 8, 4, 2, 2, 1, 12), "full": (2048, 1408, 16, 4, 2, 4, 2, 32)}


@case(dtype=["fp32", "bf16", "fp16"], size=["tiny", "full"])
def deepseek_moe(dtype, size):
    *shape, tokens = SIZES[size]
    return ModelCase(MixtureOfExperts(*shape), inputs=(torch.randn(tokens, shape[0]),), dtype=dtype)


class Router(nn.Module):
    """Gives each token its experts and their weights, (tokens, taken), in float32."""

    def __init__(self, width, experts, groups, groups_taken, taken):
        super().__init__()
        self.groups, self.groups_taken, self.taken = groups, groups_taken, taken
        self.weight = nn.Parameter(torch.randn(experts, width) * width**-0.5)
        self.bias = nn.Parameter(torch.randn(experts) * 0.1)

    def forward(self, x):
        scores = F.linear(x.float(), self.weight.float()).sigmoid()
        # The bias balances the load: it decides who is taken, and does not weigh.
        biased = scores + self.bias.float()
        grouped = biased.view(x.shape[0], self.groups, -1)
        best = grouped.topk(2, -1).values.sum(-1).topk(self.groups_taken, -1).indices
        open_groups = torch.zeros_like(grouped[..., 0]).scatter(1, best, 1.0) > 0
        allowed = grouped.masked_fill(~open_groups[..., None], float("-inf")).flatten(1)
        experts = allowed.topk(self.taken, -1).indices
        weights = scores.gather(1, experts)
        return experts, weights / weights.sum(-1, keepdim=True)


class MixtureOfExperts(nn.Module):
    def __init__(self, width, hidden, experts, groups, groups_taken, taken, shared):
        super().__init__()
        self.router = Router(width, experts, groups, groups_taken, taken)
        self.gate = nn.Parameter(torch.randn(experts, width, hidden) * width**-0.5)
        self.up = nn.Parameter(torch.randn(experts, width, hidden) * width**-0.5)
        self.down = nn.Parameter(torch.randn(experts, hidden, width) * hidden**-0.5)
        self.shared_gate = nn.Linear(width, shared * hidden, bias=False)
        self.shared_up = nn.Linear(width, shared * hidden, bias=False)
        self.shared_down = nn.Linear(shared * hidden, width, bias=False)

    def forward(self, x):
        shared = self.shared_down(F.silu(self.shared_gate(x)) * self.shared_up(x))
        return shared + self._routed(x)

    def _routed(self, x):
        tokens, taken = x.shape[0], self.router.taken
        experts, weights = self.router(x)
        expert = experts.flatten()
        token = torch.arange(tokens).repeat_interleave(taken)
        chosen = F.one_hot(expert, self.gate.shape[0])
        place = (chosen.cumsum(0) - 1).gather(1, expert[:, None])[:, 0]
        # Room for every token in every expert: none is dropped.
        room = x.new_zeros(self.gate.shape[0], tokens, x.shape[1])
        sent = room.index_put((expert, place), x[token])
        answers = (F.silu(sent @ self.gate) * (sent @ self.up)) @ self.down
        weighted = answers[expert, place].float() * weights.flatten()[:, None]
        return torch.zeros_like(x, dtype=torch.float32).index_add(0, token, weighted).to(x.dtype)
