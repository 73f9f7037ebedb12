"""Kernels of these tests are compiled into a cache of their own."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _own_cache(triton_cache: Path) -> None:
    """Of each test."""
