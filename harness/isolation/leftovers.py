"""What a case can leave behind in its process that the next case of its file would notice.

Not all of it: a patched function of a library is no more to be seen here than between two tests of one pytest
process. That is why a case that does not pass runs once more, in a process that no other case has used.
"""

from __future__ import annotations

import hashlib
import os
import random
import resource
import signal
import sys
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from pathlib import Path

# Asked for before and after a case: what differs was left behind.
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGALRM, signal.SIGCHLD)
_LIMITS = (resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_NOFILE, resource.RLIMIT_STACK)


@dataclass(frozen=True)
class Snapshot:
    """What there is in and around this process."""

    state: tuple[Hashable, ...]
    processes: frozenset[int]

    @classmethod
    def taken_now(cls) -> Snapshot | None:
        """None where the system does not tell."""
        try:
            return cls(tuple(probe() for probe in _PROBES), _processes())
        except OSError:
            return None

    def still_holds(self) -> bool:
        now = Snapshot.taken_now()
        # A process that has ended meanwhile is nobody's leftover.
        return now is not None and now.state == self.state and now.processes <= self.processes


def _processes() -> frozenset[int]:
    """The children of this process, and those of its parent, which takes in what its children leave behind."""
    return frozenset(_children_of(os.getpid()) + _children_of(os.getppid()))


def _children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()]


def _environment() -> Hashable:
    return frozenset(os.environ.items()), os.getcwd(), tuple(sys.path)


def _threads() -> Hashable:
    return frozenset(os.listdir("/proc/self/task"))


def _files() -> Hashable:
    return len(os.listdir("/proc/self/fd"))


def _signal_handling() -> Hashable:
    return tuple(signal.getsignal(number) for number in _SIGNALS), signal.getitimer(signal.ITIMER_REAL)


def _limits() -> Hashable:
    return tuple(resource.getrlimit(limit) for limit in _LIMITS)


def _random_numbers() -> Hashable:
    return random.getstate()


def _numpy() -> Hashable:
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return None
    name, keys, *rest = numpy.random.get_state()
    return name, hashlib.sha256(keys.tobytes()).digest(), tuple(rest), tuple(numpy.geterr().items())


def _torch() -> Hashable:
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    numbers = hashlib.sha256(torch.get_rng_state().numpy().tobytes()).digest()
    settings = (
        torch.get_default_dtype(),
        torch.get_default_device(),
        torch.get_num_threads(),
        torch.get_float32_matmul_precision(),
        torch.are_deterministic_algorithms_enabled(),
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
    )
    return numbers, settings


def _triton() -> Hashable:
    knobs = sys.modules.get("triton.knobs")
    if knobs is None:
        return None
    groups = (value for value in vars(knobs).values() if isinstance(value, knobs.base_knobs))
    return tuple(repr(vars(group)) for group in groups)


_PROBES: tuple[Callable[[], Hashable], ...] = (
    _environment,
    _threads,
    _files,
    _signal_handling,
    _limits,
    _random_numbers,
    _numpy,
    _torch,
    _triton,
)
