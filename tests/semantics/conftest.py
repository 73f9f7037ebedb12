"""Property tests here are many and small: a moderate number of examples each, the same ones on every run."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile(
    "semantics", max_examples=25, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("semantics")
