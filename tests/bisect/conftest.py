"""The bisector's tests compile: each into a cache of its own."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_cache(triton_cache: Path) -> None:
    """Of each test."""
