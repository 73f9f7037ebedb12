"""These tests compile modules with Inductor, seconds each: no part of a run that is not asked for models either."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.collection.scope import chosen_paths

HERE = Path(__file__).parent


def pytest_ignore_collect(config: pytest.Config) -> bool | None:
    if config.getoption("models") or any(path.is_relative_to(HERE) for path in chosen_paths(config)):
        return None
    return True
