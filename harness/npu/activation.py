"""Makes our driver Triton's active one for a while, through Triton's own `set_active`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harness.npu.backend.driver import NpuDriver


@contextmanager
def npu_driver_active(arch: str = "simulated") -> Iterator[NpuDriver]:
    """Launches inside the block go to the simulated NPU; the driver that was active comes back after it.

    `arch` picks a row of `compiler.PIPELINES`, or names a machine.
    """
    from triton.runtime import driver as config

    from harness.npu.backend.driver import NpuDriver

    before = active_driver()
    ours = NpuDriver(arch)
    config.set_active(ours)
    try:
        yield ours
    finally:
        # None makes Triton choose again on the next use, as it would have without us.
        config.set_active(before)


def active_driver() -> Any:
    """The driver in use, or None."""
    from triton.runtime import driver as config

    try:
        return config.active
    except RuntimeError:  # no driver, the usual case on a machine without a GPU
        return None
