"""What the numbers depend on beside the code."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from pathlib import Path

_PACKAGES = ("torch", "triton", "numpy", "ml_dtypes")


def usable_cores() -> int:
    """Cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def describe_machine(threads: int) -> dict[str, str]:
    """One value by name for each thing a reader wants to know. The load is the one-minute mean now."""
    return {
        "processor": _processor(),
        "cores": str(usable_cores()),
        "threads": str(threads),
        "system": f"{platform.system()} {platform.machine()}",
        "load before the run": f"{os.getloadavg()[0]:.1f}",
        "Python": platform.python_version(),
        **{name: metadata.version(name) for name in _PACKAGES},
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor())
