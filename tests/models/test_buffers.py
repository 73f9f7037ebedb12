"""Every buffer of a model is compared: kinds of graphs whose buffers are written, reused or changed in unusual ways."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from model_kit import assert_clean, run
from torch import nn
from torch.nn import functional as F

from harness.cases import ModelCase
from harness.errors import CaseError
from harness.models.differential import terms_between
from harness.models.references import references_of


class Concatenated(nn.Module):
    """Kernels write parts of one buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = nn.Linear(8, 6), nn.Linear(8, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        both = torch.cat([self.left(x), self.right(x).softmax(-1), x], dim=1)
        return both.sum(0) + both


class Running(nn.Module):
    """A buffer of the module is changed in place, and read after it."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: torch.Tensor
        self.register_buffer("seen", torch.ones(8))
        self.layer = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = self.layer(x)
        self.seen.mul_(0.9).add_(out.mean(0), alpha=0.1)
        return out * self.seen


class Cache(nn.Module):
    """Rows of an input are overwritten, by index."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor, cache: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        cache.index_copy_(0, at, self.layer(x))
        return F.scaled_dot_product_attention(x[None], cache[None], cache[None])[0]


class Embedded(nn.Module):
    """Its gradient adds into rows, some of them twice."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.layer = nn.Embedding(12, 8), nn.Linear(8, 4)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.layer(self.table(tokens)).relu()


class Dropped(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer, self.drop = nn.Linear(16, 16), nn.Dropout(0.3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(self.drop(self.layer(x).relu())) + torch.randn_like(x)


def several_results(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    deviation, mean = torch.std_mean(x, 1, keepdim=True)
    top, where = x.topk(3, 1)
    largest, at = x.max(0)
    return (x - mean) / deviation, top, where, largest, at


def long_sums(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Sums in two steps, whose halves are no node of the graph."""
    return x.sum(), x.var()


def sorted_rows(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    values, at = torch.sort(x, dim=1, stable=True)
    return values.cumsum(1), at


def updated(weight: torch.Tensor, gradient: torch.Tensor, momentum: torch.Tensor) -> None:
    momentum.mul_(0.9).add_(gradient)
    weight.sub_(momentum, alpha=0.1)


def _pooled() -> nn.Module:
    return nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(3, 2, 1), nn.Flatten())


KINDS: dict[str, tuple[Callable[[], Any], Callable[[], tuple[Any, ...]], dict[str, Any]]] = {
    "concatenation": (Concatenated, lambda: (torch.randn(4, 8),), {}),
    "running mean": (Running, lambda: (torch.randn(4, 8),), {}),
    "cache": (Cache, lambda: (torch.randn(2, 8), torch.randn(6, 8), torch.tensor([4, 1])), {}),
    "embedding": (Embedded, lambda: (torch.tensor([[3, 3, 7], [1, 3, 0]]),), {"train": True}),
    "pooling": (_pooled, lambda: (torch.randn(2, 3, 16, 16),), {"train": True}),
    "dropout": (Dropped, lambda: (torch.randn(4, 16),), {"train": True}),
    "several results": (lambda: several_results, lambda: (torch.randn(5, 12),), {}),
    "long sums": (lambda: long_sums, lambda: (torch.randn(100_000),), {}),
    "sort": (lambda: sorted_rows, lambda: (torch.randn(5, 12),), {}),
    "deep product": (lambda: torch.matmul, lambda: (torch.randn(2, 2048), torch.randn(2048, 16)), {}),
    "optimizer": (lambda: updated, lambda: (torch.randn(33), torch.randn(33), torch.randn(33)), {}),
    "half precision": (Concatenated, lambda: (torch.randn(4, 8),), {"dtype": "bf16", "train": True}),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_buffer_is_compared(kind: str):
    module, inputs, options = KINDS[kind]
    torch.manual_seed(0)
    outcome = run(module(), *inputs(), arch="default", **options)
    if kind == "dropout":
        assert "draws other random numbers" in outcome.checker.without.pop()
    assert_clean(outcome)


def test_a_graph_for_any_size():
    torch.manual_seed(0)
    inputs = torch.randn(4, 8)
    outcome = run(
        Concatenated(), inputs, arch="default", dynamic=True, then=[(torch.randn(7, 8),), (torch.randn(5, 8),)]
    )
    assert_clean(outcome)
    assert len(outcome.checker.capture.graphs) == 1


def test_memory_that_is_taken_over_twice_within_a_kernel():
    """Its first owner is only read, as far as the kernel's own buffers tell."""

    def masked(query: torch.Tensor, key: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        scores = torch.bmm(query, key.transpose(1, 2))
        return torch.bmm(scores.masked_fill(mask, -torch.inf).softmax(-1), key)

    torch.manual_seed(0)
    mask = torch.ones(8, 8, dtype=torch.bool).triu(1)
    assert_clean(run(masked, torch.randn(2, 8, 16), torch.randn(2, 8, 16), mask, arch="default"))


def test_memory_that_is_taken_over_twice_in_a_graph_for_any_size():
    def attended(x: torch.Tensor) -> torch.Tensor:
        return F.scaled_dot_product_attention(x, x, x) + 1

    torch.manual_seed(0)
    outcome = run(attended, torch.randn(2, 9, 16), dynamic=True, then=[(torch.randn(3, 21, 16),)])
    assert_clean(outcome)


def test_what_a_part_of_a_concatenation_might_be_but_is_not():
    """The patches' bias has as many elements as the token before them, and another shape."""

    class Patches(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.patch = nn.Conv2d(3, 32, 4, 4)
            self.token = nn.Parameter(torch.randn(1, 1, 32))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            patches = self.patch(x).flatten(2).transpose(1, 2)
            return torch.cat([self.token.expand(len(x), -1, -1), patches], 1) * 2

    torch.manual_seed(0)
    outcome = run(Patches(), torch.randn(1, 3, 8, 8))
    assert_clean(outcome)
    assert not [buffer.name for buffer in outcome.buffers if "widened" in buffer.tolerance]


def test_a_module_that_returns_its_loss():
    class Loss(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(8, 4)

        def forward(self, x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
            return F.cross_entropy(self.layer(x), target)

    torch.manual_seed(0)
    outcome = run(Loss(), torch.randn(5, 8), torch.tensor([1, 0, 3, 2, 1]), train=True)
    assert_clean(outcome)
    assert "gradient of layer.weight" in {buffer.name for buffer in outcome.results}


def test_a_module_that_returns_no_tensor_has_nothing_to_compare():
    with pytest.raises(CaseError, match="returns no tensor"):
        references_of(ModelCase(lambda x: None, inputs=(torch.ones(2),)))


@pytest.mark.parametrize(
    ("inputs", "output", "is_product", "terms"),
    [
        ([64 * 1000], 64, False, 1000),
        ([32 * 500, 500 * 8], 32 * 8, True, 500),
        ([1 << 20, 1 << 20], 1 << 20, False, 1),
        ([], 0, True, 1),
    ],
)
def test_how_many_terms_a_launch_without_a_node_adds_up(inputs: list[int], output: int, is_product: bool, terms: int):
    assert terms_between(inputs, output, is_product) == terms
