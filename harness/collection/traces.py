"""The traces of the cases of a run, one after the other in one file for Perfetto."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from harness.errors import UsageError


def merge_traces(folder: Path, file: Path) -> None:
    """Writes the traces in a folder, in the order of their names, to a file, and removes the folder.

    Each begins where the one before has ended; cores keep their tracks. Raises UsageError where the file cannot
    be written.
    """
    events: list[dict[str, Any]] = []
    named: set[str] = set()
    start = 0.0
    for part in sorted(folder.glob("*.json")):
        found: list[dict[str, Any]] = json.loads(part.read_text(encoding="utf-8"))["traceEvents"]
        slices = [event for event in found if "ts" in event]
        for event in found:
            key = json.dumps(event, sort_keys=True)
            if "ts" not in event and key not in named:
                named.add(key)
                events.append(event)
        events.append({"ph": "i", "s": "g", "name": part.stem, "ts": start, "pid": 0, "tid": 0})
        events += [event | {"ts": event["ts"] + start} for event in slices]
        start += max((event["ts"] + event.get("dur", 0) for event in slices), default=0.0)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps({"displayTimeUnit": "ns", "traceEvents": events}), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write the trace {file}: {error.strerror}") from error
    shutil.rmtree(folder, ignore_errors=True)
