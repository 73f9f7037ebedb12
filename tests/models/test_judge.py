"""What a buffer of a model may differ by from its golden: as much as torch errs, where torch errs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
import torch.fx

from harness.goldens import Operation
from harness.models.evaluation import Golden, GoldenPlan
from harness.models.graph_run import GraphRun
from harness.models.judge import FLOAT32, Claim, judge
from harness.models.plan import GraphPlan
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


def counting(claim: Claim) -> tuple[Claim, list[int | str]]:
    asked: list[int | str] = []
    again = claim.again
    assert again is not None

    def counted(how: int | str) -> torch.Tensor:
        asked.append(how)
        return again(how)

    return replace(claim, again=counted), asked


def test_no_more_runs_than_it_takes(claim: Claim, golden: torch.Tensor):
    got = (golden + noise(9, 2e-6)).float()
    got[OUTLIER] += 0.5
    counted, asked = counting(claim)
    assert is_right(counted, got)
    assert asked == [FLOAT32]


def test_another_node_altogether_is_seen_after_one_run_that_is_moved(claim: Claim, golden: torch.Tensor):
    undisturbed = replace(claim, again=lambda how: golden + noise(1 if how == FLOAT32 else 2 + int(how), 2e-6))
    counted, asked = counting(undisturbed)
    assert not is_right(counted, noise(5, 1.0).float())
    assert asked == [FLOAT32, 0]


def test_one_element_that_is_far_off_is_given_every_run(claim: Claim, golden: torch.Tensor):
    def again(how: int | str) -> torch.Tensor:
        wrong = golden + noise(1, 2e-6)
        wrong[OUTLIER] = golden[OUTLIER] + (1.0 if how == 5 else 0.0)
        return wrong

    got = golden.float()
    got[OUTLIER] += 0.5
    counted, asked = counting(claim_of(golden, again))
    assert is_right(counted, got)
    assert asked == [FLOAT32, 0, 1, 2, 3, 4, 5]


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


def test_how_far_the_last_bit_of_a_power_reaches_is_seen():
    """The angles of a rotary embedding begin with constants alone: there is no input that could be moved."""
    graph = torch.fx.Graph()
    power = graph.call_function(torch.ops.aten.pow.Scalar, (10000.0, torch.linspace(-1, 0, 32, dtype=torch.float64)))
    angle = graph.call_function(torch.ops.aten.mul.Tensor, (power, 120.0))
    cosine = graph.call_function(torch.ops.aten.cos.default, (angle,))
    plan = GraphPlan(0, "inference", torch.fx.GraphModule(torch.nn.Module(), graph))
    golden = Golden(cosine, 0, {}, (power, angle, cosine))
    run = GraphRun(plan, GoldenPlan({(0, "buf0"): [golden]}), {})
    run.make_goldens(0)
    (made,) = run.made[0, "buf0"]
    assert made.again is not None
    reached = (made.again(0) - made.value).abs().max()
    assert 5e-6 < reached < 1e-4
