"""A launch timed while it runs: branches that depend on memory take the ways they took."""

# pyright: reportArgumentType=false, reportIndexIssue=false

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
import triton
import triton.language as tl

from harness.npu.activation import npu_driver_active
from harness.npu.session import LaunchRecord, Session, Untimed, use_session
from harness.npu.timing import Timing


@triton.jit
def doubles(out, trips):
    value = 1
    for _ in range(tl.load(trips + tl.program_id(0))):
        value += value
    tl.store(out + tl.program_id(0), value)


@pytest.fixture
def session(triton_cache: Path) -> Iterator[Session]:
    with npu_driver_active("tiny"), use_session(Session(timing=True)) as opened:
        yield opened


def _launched(session: Session, *trips: int) -> LaunchRecord:
    out = torch.zeros(len(trips), dtype=torch.int32)
    doubles[(len(trips),)](out, torch.tensor(trips, dtype=torch.int32))
    if session.values:
        assert out.tolist() == [1 << count for count in trips]
    return session.launches[-1]


def test_more_trips_take_longer(session: Session):
    few, many = (_launched(session, count).timing for count in (3, 20))
    assert isinstance(few, Timing) and isinstance(many, Timing)
    assert many.cycles > few.cycles


def test_without_values_nobody_knows(session: Session):
    session.values = False
    timing = _launched(session, 3).timing
    assert isinstance(timing, Untimed)
    assert "test_timed_launches.py" in timing.reason
