from __future__ import annotations

from collections.abc import Callable

import pytest

from harness.cases.evidence import Evidence, LaunchEvidence, Verdict


@pytest.fixture
def verdict() -> Callable[..., Verdict]:
    """A pass, or a failure in `bucket`."""

    def make(case: str, bucket: str = "", stage: str = "compare", outcome: str = "", simulated: bool = True) -> Verdict:
        launches = [LaunchEvidence("k", (1, 1, 1), 1, simulated=simulated)]
        evidence = Evidence(case, "npu", stage=stage, launches=launches)
        return Verdict(case, "npu", outcome or ("fail" if bucket else "pass"), stage, bucket, "summary", evidence)

    return make
