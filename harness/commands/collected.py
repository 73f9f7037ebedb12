"""Which cases there are: asked of pytest, in a process of its own, so that a node id can be checked.

`python -m harness.commands.collected PYTEST ARGUMENTS` prints them as JSON on its last line.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from harness.commands.project import project_root
from harness.errors import UsageError
from harness.gate import Entry, check_node_id, nearest
from harness.process_end import leave

if TYPE_CHECKING:
    import pytest

_WILD = re.compile(r"[*?]")
_ARGUMENTS = ("--collect-only", "-q", "-n0", "-p", "no:cacheprovider")


def check_cases(node_ids: Sequence[str]) -> None:
    """Raises UsageError for a node id or pattern that matches no case, naming the nearest there are."""
    for node_id in node_ids:
        check_node_id(node_id)
    if not node_ids:
        return
    entries = [Entry(node_id, 0) for node_id in node_ids]
    cases = collected_cases(entries)
    for entry in entries:
        if not any(entry.matches(case) for case in cases):
            hint = nearest(entry.pattern, cases) or f"{len(cases)} cases are collected here; see pytest --collect-only"
            raise UsageError(f"{entry.pattern} matches no case", hint=hint)


def collected_cases(entries: Sequence[Entry]) -> list[str]:
    """The cases of the files that the entries name, or of the folders where one names no file that is there."""
    root = project_root()
    paths = sorted({str(_place(entry.pattern, root)) for entry in entries})
    if "." in paths:
        paths = []  # pytest knows which folders there are
    targets = sorted({entry.target for entry in entries if entry.target})
    chosen = [f"--target={','.join(targets)}"] if targets else []
    command = [sys.executable, "-m", __name__, *_ARGUMENTS, *chosen, *paths]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=root)
    try:
        return json.loads(ran.stdout.splitlines()[-1])
    except (ValueError, IndexError):
        said = [line for line in ran.stderr.splitlines() if line.strip()] or ["it said nothing"]
        raise UsageError(f"pytest cannot collect the cases here: {said[-1].removeprefix('ERROR: ')}") from None


def _place(pattern: str, root: Path) -> Path:
    """The file that holds all that the pattern matches, else the nearest folder that does, from the root on."""
    literal = _WILD.split(pattern)[0]
    file, ends, _ = literal.partition("::")
    if (root / file).is_file() and (ends or literal == pattern):
        return Path(file)
    folder = Path(file.rpartition("/")[0])
    return next(one for one in (folder, *folder.parents) if (root / one).is_dir())


@dataclass
class _Listener:
    cases: list[str] = field(default_factory=list)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        from harness.collection.cases import KernelItem

        self.cases = [item.nodeid for item in session.items if isinstance(item, KernelItem)]


def _main(arguments: list[str]) -> int:
    import pytest

    listener = _Listener()
    status = pytest.main(arguments, plugins=[listener])
    if status != pytest.ExitCode.USAGE_ERROR:
        print(f"\n{json.dumps(listener.cases)}")
    return int(status)


if __name__ == "__main__":
    leave(_main(sys.argv[1:]))
