"""What Triton's JIT hands to the driver, and what arrives in the compiled function: on real launches."""

# A constexpr parameter takes a plain value.
# pyright: reportArgumentType=false, reportAttributeAccessIssue=false

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from harness.errors import CaseError, OutOfBounds, Refusal, UsageError
from harness.npu.session import Session

pytestmark = pytest.mark.usefixtures("session")


@triton.jit
def copy_2d(out, x, rows, columns, BLOCK: tl.constexpr):
    """Program (column block, row): X is the column."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    row = tl.program_id(1)
    tl.store(out + row * columns + at, tl.load(x + row * columns + at, at < columns), at < columns)


@triton.jit
def scalars(out, flag, small, large, unsigned, number, nothing, one):
    """Every scalar kind the JIT knows, widened to float64."""
    if flag:
        tl.store(out, small)
    tl.store(out + 1, (large >> 40).to(tl.float64))
    tl.store(out + 2, (unsigned >> 60).to(tl.float64))
    tl.store(out + 3, number)
    tl.store(out + 4, 1.0 if nothing is None else 0.0)
    tl.store(out + 5, one)


@triton.jit
def tuple_argument(out, pair, settings):
    tl.store(out, tl.load(pair[0]) + tl.load(pair[1][0]) * pair[1][1] + settings.scale)


class Settings(NamedTuple):
    scale: Any


@triton.jit
def add_through_descriptor(out, x):
    tl.store(
        out + tl.arange(0, 4)[:, None] * 4 + tl.arange(0, 4)[None, :],
        x.load([tl.program_id(0) * 0 + 2, 4]) + x.shape[1] + x.strides[0],
    )


@triton.jit
def plus_one(out, x, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, at < n) + 1, at < n)


tuned = triton.autotune([triton.Config({"BLOCK": 16}), triton.Config({"BLOCK": 64}, num_warps=2)], key=["n"])(plus_one)
guessed = triton.heuristics({"BLOCK": lambda arguments: triton.next_power_of_2(arguments["n"])})(plus_one)


@triton.jit
def libdevice_erf(out, x):
    at = tl.arange(0, 8)
    tl.store(out + at, tl.extra.libdevice.erf(tl.load(x + at)))


@triton.jit
def through_fp8e4b15(out, x):
    at = tl.arange(0, 16)
    tl.store(out + at, tl.load(x + at).to(tl.float8e4b15).to(tl.float32))


@triton.jit
def store_past_the_end(out):
    tl.store(out + 8, 1.0)


def test_the_grid_is_x_first():
    x = torch.randn(3, 100)
    out = torch.full_like(x, float("nan"))
    copy_2d[(7, 3)](out, x, 3, 100, BLOCK=16)
    assert torch.equal(out, x)


def test_scalars_keep_their_kind_and_width():
    out = torch.zeros(6, dtype=torch.float64)
    scalars[(1,)](out, True, 7, 5 << 40, (1 << 63) + (3 << 60), 0.5, None, 1)
    assert out.tolist() == [7.0, 5.0, 11.0, 0.5, 1.0, 1.0]


def test_tuples_are_flattened_to_the_functions_parameters():
    out = torch.zeros(1)
    tuple_argument[(1,)](out, (torch.tensor([2.0]), (torch.tensor([3.0]), 10)), Settings(0.25))
    assert out.item() == 32.25


def test_a_host_side_descriptor_brings_its_shape_and_strides():
    x = torch.arange(64.0).reshape(8, 8)
    out = torch.zeros(4, 4)
    add_through_descriptor[(1,)](out, TensorDescriptor.from_tensor(x, [4, 4]))
    assert torch.equal(out, x[2:6, 4:8] + 8 + 8)


def test_a_descriptor_that_rounds_to_tf32_is_refused():
    described = TensorDescriptor.from_tensor(torch.zeros(8, 8), [4, 4])
    described.round_f32_to_tf32 = True  # a field of Triton 3.7 and later
    with pytest.raises(Refusal, match="'x' is a tensor descriptor that rounds to tf32"):
        add_through_descriptor[(1,)](torch.zeros(4, 4), described)


def test_autotune_tries_every_configuration_and_leaves_the_right_result(session: Session):
    x = torch.randn(100)
    out = torch.zeros_like(x)
    tuned[lambda meta: (triton.cdiv(100, meta["BLOCK"]),)](out, x, 100)
    assert torch.equal(out, x + 1)
    assert {record.grid[0] for record in session.launches} == {7, 2}


def test_heuristics_compute_constexprs_from_the_arguments(session: Session):
    x = torch.randn(100)
    out = torch.zeros_like(x)
    guessed[(1,)](out, x, 100)
    assert torch.equal(out, x + 1)


def test_libdevice_names_reach_the_executor():
    x = torch.linspace(-2, 2, 8)
    out = torch.zeros_like(x)
    libdevice_erf[(1,)](out, x)
    torch.testing.assert_close(out, torch.erf(x))


def test_fp8e4b15_rounds_and_saturates_as_the_cuda_conversion_does():
    x = torch.tensor(
        [0.0, -0.0, 1.0, -1.0, 1.0625, 1.1875, 1.75, 1.8, 100.0, -100.0, float("nan"), 2**-14, 0.5, 0.3, 2, 3]
    )
    out = torch.zeros_like(x)
    through_fp8e4b15[(1,)](out, x)
    want = [0.0, -0.0, 1.0, -1.0, 1.125, 1.25, 1.75, 1.75, 1.75, -1.75, 1.75, 2**-14, 0.5, 0.3125, 1.75, 1.75]
    assert out.tolist() == want


def test_a_store_past_a_tensor_is_a_trap_that_names_it():
    with pytest.raises(OutOfBounds, match="out") as trap:
        store_past_the_end[(1,)](torch.zeros(8))
    assert trap.value.where is not None
    assert trap.value.where.file == __file__


def test_views_of_one_storage_share_memory():
    storage = torch.arange(32.0)
    plus_one[(1,)](storage[16:], storage[:16], 16, BLOCK=16)
    assert torch.equal(storage[16:], torch.arange(16.0) + 1)


def test_an_argument_that_is_no_cpu_tensor_is_refused_in_one_sentence():
    meta = torch.empty(16, device="meta")
    with pytest.raises(UsageError, match="'x' lives on meta"):
        plus_one[(1,)](torch.zeros(16), meta, 16, BLOCK=16)


def test_a_grid_of_zero_runs_nothing(session: Session):
    out = torch.zeros(4)
    plus_one[(0,)](out, out, 4, BLOCK=16)
    assert torch.equal(out, torch.zeros(4))
    assert session.launches[0].result.programs == 0


def test_a_grid_may_be_of_any_integers():
    out = torch.zeros(4)
    plus_one[(np.int64(1), True)](out, out, 4, BLOCK=16)
    assert torch.equal(out, torch.ones(4))


@pytest.mark.parametrize(("grid", "what"), [((-1,), "integers of zero or more"), ((2**16, 2**16, 2), "more than")])
def test_a_grid_that_no_launch_has_is_refused_in_one_sentence(grid: tuple[int, ...], what: str):
    out = torch.zeros(4)
    with pytest.raises(CaseError, match=what):
        plus_one[grid](out, out, 4, BLOCK=16)


def test_an_empty_tensor_is_an_argument_like_any_other():
    empty = torch.empty(0)
    plus_one[(1,)](empty, empty, 0, BLOCK=16)
