"""One trace out of the traces of the cases."""

from __future__ import annotations

import json
from pathlib import Path

from harness.collection.traces import merge_traces

NAME = {"ph": "M", "name": "process_name", "pid": 0, "tid": 0, "args": {"name": "core 0"}}


def test_each_case_begins_where_the_one_before_has_ended(tmp_path: Path) -> None:
    parts = tmp_path / "traces"
    parts.mkdir()
    for name in ("a", "b"):
        slices = [{"ph": "X", "name": name, "ts": 1.0, "dur": 4.0, "pid": 0, "tid": 1}]
        (parts / f"{name}.json").write_text(json.dumps({"traceEvents": [NAME, *slices]}))
    merge_traces(parts, tmp_path / "out" / "run.json")
    events = json.loads((tmp_path / "out" / "run.json").read_text())["traceEvents"]
    assert [event["ts"] for event in events if event["ph"] == "X"] == [1.0, 6.0]
    assert events.count(NAME) == 1
    assert not parts.exists()
