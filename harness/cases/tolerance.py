"""A tolerance that a case asks for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tolerance:
    """A tolerance wider than the documented one, and why; `ulp` counts units of the golden's last
    place, `absolute` is in the buffer's units."""

    reason: str
    ulp: float = 0.0
    absolute: float = 0.0
    relative: float = 0.0
