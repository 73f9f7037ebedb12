"""What the launches did with each buffer, as measured: "in", "out", "inout" or "unused"."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from harness.cases.allocate import Allocated
from harness.targets.target import LaunchOutcome

# By whether the programs loaded from the storage and stored to it.
_ROLES = {(False, False): "unused", (True, False): "in", (False, True): "out", (True, True): "inout"}


def measured_roles(allocated: Allocated, outcomes: Sequence[LaunchOutcome], goldens: Collection[str]) -> dict[str, str]:
    """Roles by buffer name; empty where the target cannot see accesses, which leaves it to changed bytes.

    Accesses are seen by storage. Of several names for one storage, those with a golden carry its role: the
    others are judged by the bytes that no golden speaks for.
    """
    if any(outcome.loads is None or outcome.stores is None for outcome in outcomes):
        return {}
    loads = set().union(*(outcome.loads or () for outcome in outcomes))
    stores = set().union(*(outcome.stores or () for outcome in outcomes))
    spoken_for = {allocated.buffers[name].storage.name for name in goldens}
    roles = {}
    for name, one in allocated.buffers.items():
        storage = one.storage.name
        aliased = name not in goldens and storage in spoken_for
        stored = storage in stores and not aliased
        roles[name] = _ROLES[storage in loads, stored]
    return roles
