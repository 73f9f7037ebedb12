"""Where the report and the allowlist of a repository are, from wherever in it a command is typed."""

from __future__ import annotations

import os
from pathlib import Path

REPORT = Path(".harness/report")
ALLOWLIST = Path("allowlist.txt")


def project_root() -> Path:
    """The nearest folder upward that has a report or an allowlist, as seen from here; "." where none has."""
    here = Path.cwd()
    found = (one for one in (here, *here.parents) if (one / REPORT).is_dir() or (one / ALLOWLIST).is_file())
    return Path(os.path.relpath(next(found, here)))


def last_report() -> Path:
    """The folder of the last run's report, whether there is one or not."""
    return project_root() / REPORT


def allowlist_file() -> Path:
    """The allowlist, whether there is one or not."""
    return project_root() / ALLOWLIST
