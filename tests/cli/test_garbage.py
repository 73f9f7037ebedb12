"""Python's cyclic collector around a model: rare, and as it was afterwards."""

from __future__ import annotations

import gc

import pytest

from harness.garbage import rare_collections


def test_the_thresholds_are_as_before():
    before = gc.get_threshold()
    with pytest.raises(ZeroDivisionError), rare_collections():
        assert gc.get_threshold() > before
        raise ZeroDivisionError
    assert gc.get_threshold() == before


def test_what_was_made_is_not_collected_at_once():
    with rare_collections():
        made = [[] for _ in range(50_000)]
    assert gc.get_count()[0] < len(made)
