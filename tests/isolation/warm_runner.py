"""The misbehaving runner with the warm-up that real runs have."""

import misbehaviour

from harness.targets.warm_up import warm_up

run = misbehaviour.run

__all__ = ["run", "warm_up"]
