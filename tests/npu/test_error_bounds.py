"""The bounds that the manual derives for sums hold in the simulator's order, on terms that cancel."""

from __future__ import annotations

import numpy as np
import pytest
from examples import examples
from hypothesis import given
from hypothesis import strategies as st

from harness.npu.simulator.ops_fold import doubled, halved
from harness.npu.simulator.ops_matrix import multiplied
from harness.semantics.types import Array

U = 2.0**-24


def g(additions: int) -> float:
    return additions * U / (1 - additions * U)


def terms(seed: int, shape: tuple[int, ...]) -> Array:
    """f32 over sixteen binary orders of magnitude, of both signs."""
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(shape) * 2.0 ** rng.integers(-8, 8, shape)).astype(np.float32)


@examples(60)
@given(seed=st.integers(0, 2**32 - 1), steps=st.integers(0, 12))
def test_a_fold_rounds_a_term_as_often_as_it_halves(seed: int, steps: int):
    x = terms(seed, (1 << steps,))
    error = abs(float(halved(x, 0, np.add)) - x.astype(np.float64).sum())
    assert error <= g(steps) * np.abs(x).astype(np.float64).sum() * (1 + 1e-9)


@examples(60)
@given(seed=st.integers(0, 2**32 - 1), steps=st.integers(0, 10))
def test_a_prefix_of_a_scan_rounds_a_term_as_often_as_its_length_doubles(seed: int, steps: int):
    x = terms(seed, (1 << steps,))
    error = np.abs(doubled(x, 0, np.add) - np.cumsum(x.astype(np.float64)))
    rounds = np.array([g(int(i).bit_length()) for i in range(len(x))])  # ceil(log2(i + 1))
    assert (error <= rounds * np.cumsum(np.abs(x).astype(np.float64)) * (1 + 1e-9)).all()


@examples(40)
@given(seed=st.integers(0, 2**32 - 1), k=st.sampled_from([1, 8, 64, 512]), rows=st.sampled_from([8, 128]))
@pytest.mark.parametrize("exact", [True, False])
def test_a_product_rounds_a_term_in_its_chunk_and_once_for_every_chunk(exact: bool, seed: int, k: int, rows: int):
    """Operands of eight bits of mantissa have exact products."""
    a, b, c = terms(seed, (4, k)), terms(seed + 1, (k, 4)), terms(seed + 2, (4, 4))
    if exact:
        a, b = (one.view(np.uint32) & np.uint32(0xFFFF0000) for one in (a, b))
        a, b = a.view(np.float32), b.view(np.float32)
    wide_a, wide_b, wide_c = (one.astype(np.float64) for one in (a, b, c))
    error = np.abs(multiplied(a, b, c, "ieee", rows) - (wide_c + wide_a @ wide_b))
    additions = min(rows, k) - 1 + -(-k // rows) + (0 if exact else 1)
    assert (error <= g(additions) * (np.abs(wide_c) + np.abs(wide_a) @ np.abs(wide_b)) * (1 + 1e-9)).all()
