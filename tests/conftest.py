"""How hypothesis behaves in every test here: the same examples each time, and no verdict from the clock."""

from __future__ import annotations

from hypothesis import HealthCheck, settings


def pytest_configure() -> None:
    settings.register_profile(
        "steady", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
    )
    # `--hypothesis-profile=default` explores with new examples: hypothesis's own plugin applies it after this.
    settings.load_profile("steady")
