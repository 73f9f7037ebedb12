"""Timings as a trace for Perfetto (ui.perfetto.dev) and chrome://tracing: one track an engine and core."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from harness.errors import UsageError
from harness.npu.isa.disassembly import instruction_text
from harness.npu.isa.opcodes import Engine
from harness.npu.timing.result import CoreTrack, Timing
from harness.npu.timing.work import Event

_UNITS = 64  # of an engine at most: tracks are numbered engine by engine


def trace_of(timings: Sequence[Timing]) -> dict[str, Any]:
    """The launches one after the other, in the JSON object format of trace events; times are microseconds.

    Cores are processes and engines threads. The timings need events.
    """
    events: list[dict[str, Any]] = []
    named: set[tuple[int, int]] = set()
    start = 0.0
    for timing in timings:
        for track in timing.tracks:
            events += _names(track, named)
            events += _slices(timing, track, start)
        start += timing.seconds * 1e6
    return {"displayTimeUnit": "ns", "traceEvents": events}


def write_trace(path: Path, timings: Sequence[Timing]) -> None:
    """Raises UsageError where the file cannot be written."""
    try:
        path.write_text(json.dumps(trace_of(timings)), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot write the trace {path}: {error}") from error


def _names(track: CoreTrack, named: set[tuple[int, int]]) -> Iterator[dict[str, Any]]:
    """Of the core and of its tracks, once each."""
    for event in track.events:
        thread = _thread(event)
        if (track.core, thread) in named:
            continue
        if not any(core == track.core for core, _ in named):
            yield _metadata("process_name", track.core, 0, f"core {track.core}")
        named.add((track.core, thread))
        unit = f" {event.unit}" if event.unit else ""
        yield _metadata("thread_name", track.core, thread, event.engine.value + unit)


def _metadata(kind: str, core: int, thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": core, "tid": thread, "args": {"name": name}}


def _slices(timing: Timing, track: CoreTrack, start: float) -> Iterator[dict[str, Any]]:
    per_cycle = 1 / timing.machine.clock_mhz  # microseconds
    for event in track.events:
        yield {
            "ph": "X",
            "name": _title(timing, event),
            "cat": timing.program.name,
            "pid": track.core,
            "tid": _thread(event),
            "ts": start + event.start * per_cycle,
            "dur": event.cycles * per_cycle,
            "args": _details(timing, event),
        }


def _title(timing: Timing, event: Event) -> str:
    if event.trips:
        return f"{event.trips} more trips"
    return timing.program.instructions[event.pc].opcode


def _details(timing: Timing, event: Event) -> dict[str, Any]:
    details: dict[str, Any] = {"kernel": timing.program.name, "cycle": event.start, "cycles": event.cycles}
    if event.trips:
        return details
    details |= {"pc": event.pc, "instruction": instruction_text(timing.program, event.pc)}
    if event.pc < len(timing.program.origins):
        origin = timing.program.origins[event.pc]
        details |= {"op": origin.op, "line": str(origin.where or "")}
    return details


def _thread(event: Event) -> int:
    return list(Engine).index(event.engine) * _UNITS + event.unit
