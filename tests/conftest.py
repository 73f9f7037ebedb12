"""How hypothesis behaves in every test here: the same examples each time, and no verdict from the clock."""

from __future__ import annotations

from examples import ALL, SUPPRESSED
from hypothesis import settings


def pytest_configure() -> None:
    thorough = settings(
        max_examples=ALL, derandomize=True, deadline=None, suppress_health_check=SUPPRESSED, print_blob=True
    )
    settings.register_profile("thorough", thorough)
    settings.register_profile("steady", thorough, max_examples=ALL // 5)
    # `--hypothesis-profile=thorough`, or `default`, which explores with new examples: hypothesis's own plugin
    # applies it after this.
    settings.load_profile("steady")
