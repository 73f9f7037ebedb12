"""How many examples a property test tries, which is the profile's to say."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# What a profile must ask for to have every test try as many examples as it names.
ALL = 100
FEWEST = 5
# No verdict comes from the clock, and data are as large as their tests make them.
SUPPRESSED = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture)


def share_of(count: int) -> int:
    """How many of a test's `count` examples the profile in force has it try."""
    return max(FEWEST, round(count * settings().max_examples / ALL))


def examples(count: int) -> settings:
    """`count` examples under a profile of a hundred; under another one, as many times more or fewer."""
    return settings(max_examples=share_of(count), deadline=None, suppress_health_check=SUPPRESSED)
