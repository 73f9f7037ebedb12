from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from harness.cases.evidence import BufferEvidence, Evidence, LaunchEvidence, Mismatch


@pytest.fixture
def evidence() -> Callable[..., Evidence]:
    """Evidence of a run in which nothing went wrong, with the fields given replaced."""

    def make(**fields: Any) -> Evidence:
        good = Evidence(
            "k.py::k[npu-1]",
            "npu",
            stage="compare",
            launches=[LaunchEvidence("k", (4, 1, 1), 4, simulated=True)],
            buffers=[BufferEvidence("out", "fp32", (8,), "out", compared=True)],
        )
        for name, value in fields.items():
            setattr(good, name, value)
        return good

    return make


@pytest.fixture
def wrong() -> BufferEvidence:
    mismatch = Mismatch(2, 8, (6,), "nan", "1.0", float("nan"), float("inf"), 3.0, "tail of each row")
    return BufferEvidence("out", "fp32", (8,), "out", compared=True, mismatch=mismatch)
