"""What a buffer of a model may differ by from its golden: as much as torch errs, where torch errs."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from harness.goldens import Operation
from harness.models.judge import FLOAT32, Claim, judge
from harness.models.tensors import buffer_of, content_of

COUNT = 4000
OUTLIER = 7


def claim_of(golden: torch.Tensor, again: Callable[[int | str], torch.Tensor]) -> Claim:
    return Claim("buf", "out", golden, Operation("arithmetic"), again=again, precisions=(FLOAT32,))


def is_right(claim: Claim, got: torch.Tensor) -> bool:
    return judge(claim, buffer_of(got), content_of(got)).evidence.mismatch is None


def noise(seed: int, size: float) -> torch.Tensor:
    return size * torch.randn(COUNT, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.fixture
def golden() -> torch.Tensor:
    return 1.0 + noise(0, 0.1)


@pytest.fixture
def claim(golden: torch.Tensor) -> Claim:
    """torch errs by a few millionths, and in one element by one."""

    def again(how: int | str) -> torch.Tensor:
        wrong = golden + noise(1 if how == FLOAT32 else 2 + int(how), 2e-6)
        wrong[OUTLIER] += 1.0
        return wrong

    return claim_of(golden, again)


def test_as_much_as_torch_errs_is_allowed(claim: Claim, golden: torch.Tensor):
    got = (golden + noise(9, 2e-6)).float()
    got[OUTLIER] += 0.5
    assert is_right(claim, got)


def test_an_element_that_cancels_does_not_excuse_the_others(claim: Claim, golden: torch.Tensor):
    got = golden.float()
    got[OUTLIER + 1] += 1e-3
    assert not is_right(claim, got)


def test_what_overflows_for_torch_may_overflow(golden: torch.Tensor):
    overflown = golden.clone()
    overflown[3] = torch.inf
    claim = claim_of(golden, lambda how: overflown)
    got = golden.float()
    got[3] = torch.inf
    assert is_right(claim, got)
    got[4] = torch.inf
    assert not is_right(claim, got)


@pytest.mark.parametrize(("value", "right"), [(3, True), (4, True), (9, False)])
def test_an_undecided_integer_is_one_of_those_that_were_seen(value: int, right: bool):
    golden = torch.full((COUNT,), 3)
    other = golden.clone()
    other[OUTLIER] = 4
    got = golden.clone()
    got[OUTLIER] = value
    assert is_right(claim_of(golden, lambda how: other if how == FLOAT32 else golden), got) == right
