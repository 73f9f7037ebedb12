"""Options that cannot be used are refused in one sentence."""

from __future__ import annotations

import pytest

from harness.collection.settings import _targets


def test_an_empty_target_is_refused() -> None:
    with pytest.raises(pytest.UsageError, match="--target names no target"):
        _targets([""])


def test_targets_come_once_each_in_order() -> None:
    assert _targets(["ttir,npu", "npu"]) == ("ttir", "npu")
