"""The misbehaving runner with the warm-up that real runs have."""

from harness.targets.warm_up import warm_up
from misbehaviour import run

__all__ = ["run", "warm_up"]
