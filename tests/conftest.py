"""How hypothesis behaves in every test here: the same examples each time, and no verdict from the clock."""

from __future__ import annotations

import gc
from functools import cache

import pytest
from examples import ALL, SUPPRESSED
from hypothesis import settings

from harness.verdicts import fingerprint


def pytest_configure() -> None:
    thorough = settings(
        max_examples=ALL, derandomize=True, deadline=None, suppress_health_check=SUPPRESSED, print_blob=True
    )
    settings.register_profile("thorough", thorough)
    settings.register_profile("steady", thorough, max_examples=ALL // 5)
    # `--hypothesis-profile=thorough`, or `default`, which explores with new examples: hypothesis's own plugin
    # applies it after this.
    settings.load_profile("steady")


@pytest.fixture(scope="session")
def _packages():
    return cache(fingerprint._package)


@pytest.fixture
def one_toolchain(_packages, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs inside this process, none of which changes the toolchain, read it once between them."""
    monkeypatch.setattr(fingerprint, "_package", _packages)


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Thousands of collected tests and all of torch stay to the end: a full collection need not look at them."""
    gc.freeze()
