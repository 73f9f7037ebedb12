from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.npu.activation import npu_driver_active
from harness.npu.session import Session, use_session


@pytest.fixture
def session(triton_cache: Path) -> Iterator[Session]:
    """The npu driver active, a session that records its launches, and an empty Triton cache."""
    with npu_driver_active(), use_session(Session(benchmark_runs=1)) as opened:
        yield opened
